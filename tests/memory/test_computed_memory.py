"""Memory computed from a schedule alone: what is counted once, what is reused, and how close it comes to XLA's own plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, load_file

import opscope
from opscope.errors import OpscopeError
from opscope.memory.model import Buffer, Memory
from opscope.memory.report import to_json
from opscope.memory.schedule import computed_memory
from opscope.memory.sources import read_memory
from opscope.memory.xla_files import find_reports, program_of, reported_memory
from opscope.program import BACKWARD_OF, WHOLE, Link, ProgramBuilder, TensorType
from opscope.readers.hlo import parse_hlo

HLO = ROOT / "tests" / "samples" / "hlo"
KB = 1024
"""Bytes of f32[256]."""


def memory_of(entry: str, header: str = "", computations: str = "") -> Memory:
    """The memory of a scheduled module with this entry; V in a text is f32[256]."""
    text = f"HloModule m, is_scheduled=true{header}\n{computations}\nENTRY main {{\n{entry}\n}}\n".replace("V", "f32[256]{0}")
    return computed_memory(parse_hlo(text)[0])


def buffer_of(memory: Memory, name: str) -> Buffer:
    return next(buffer for buffer in memory.buffers if buffer.name == name)


def test_names_for_the_same_value_are_one_buffer() -> None:
    memory = memory_of("""
      p = V parameter(0)
      q = V parameter(1)
      d = V add(p, q)
      t = (V, V) tuple(d, p)
      e = V get-tuple-element(t), index=0
      b = V bitcast(e)
      ROOT r = V reverse(b), dimensions={0}
    """)
    assert [buffer.name for buffer in memory.buffers] == ["p", "q", "d", "r"]
    assert memory.split == {"argument": 2 * KB, "output": KB, "alias": 0, "temp": KB}
    assert memory.peak_bytes == memory.live_peak == 4 * KB
    assert memory.step_at(memory.peak) == "r"
    assert buffer_of(memory, "d").why == "used last by r"


def test_an_elementwise_result_is_written_over_an_operand_that_is_not_needed_any_more() -> None:
    lines = """
      p = V parameter(0)
      a = V reverse(p), dimensions={0}
      c = V cosine(a)
      ROOT r = V reverse({last}), dimensions={{0}}
    """
    over = memory_of(lines.replace("{last}", "c").replace("{{0}}", "{0}"))
    assert over.split["temp"] == KB
    kept = memory_of(lines.replace("reverse({last})", "add(c, a)").replace(", dimensions={{0}}", ""))
    assert kept.split["temp"] == KB, "r takes the place of one of them"
    assert buffer_of(kept, "a").slot != buffer_of(kept, "c").slot


def test_a_donated_argument_holds_the_output() -> None:
    entry = """
      p = V parameter(0)
      q = V parameter(1)
      ROOT r = V add(p, q)
    """
    donated = memory_of(entry, ", input_output_alias={ {}: (0, {}, may-alias) }")
    assert donated.peak_bytes == 2 * KB and donated.split["alias"] == KB
    assert buffer_of(donated, "p").why == "parameter 0, donated"
    assert buffer_of(donated, "r").why == "output, aliases parameter 0"
    assert memory_of(entry).peak_bytes == 3 * KB


def test_a_loop_carries_its_buffers_and_its_body_adds_temporaries() -> None:
    memory = memory_of(
        """
      p = V parameter(0)
      zero = s32[] constant(0)
      copy.1 = V copy(p)
      init = (s32[], V) tuple(zero, copy.1)
      loop = (s32[], V) while(init), condition=cond, body=body
      ROOT out = V get-tuple-element(loop), index=1
    """,
        computations="""
cond {
  state.1 = (s32[], V) parameter(0)
  i = s32[] get-tuple-element(state.1), index=0
  ten = s32[] constant(10)
  ROOT less = pred[] compare(i, ten), direction=LT
}
body {
  state.2 = (s32[], V) parameter(0)
  j = s32[] get-tuple-element(state.2), index=0
  x = V get-tuple-element(state.2), index=1
  one = s32[] constant(1)
  next = s32[] add(j, one)
  back = V reverse(x), dimensions={0}
  sum = V add(x, back)
  ROOT both = (s32[], V) tuple(next, sum)
}
""",
    )
    carried = {name: buffer_of(memory, name).slot for name in ("copy.1", "loop{1}", "state.2{1}", "sum")}
    assert len(set(carried.values())) == 1
    assert buffer_of(memory, "back").slot != carried["copy.1"]
    assert memory.step_at(memory.peak) in ("back", "sum")
    assert memory.peak_bytes // KB == 3, "the argument, what the loop carries, and what its body makes"
    assert buffer_of(memory, "state.2{1}").why == "carried by loop"
    assert buffer_of(memory, "copy.1").why == "carried by loop"


def test_the_stacks_of_a_scan_have_memory_of_their_own() -> None:
    """A scan of a jaxpr reads stacks and fills others. As many of each had been taken for what a loop carries from one iteration to the
    next: the weights and the values saved for backward were one buffer."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def loss(ws: dict[str, Any], x: Any) -> Any:
        def layer(carry: Any, w: dict[str, Any]) -> tuple[Any, Any]:
            return jnp.tanh(carry @ w["a"]) @ w["b"], carry.mean()

        y, means = jax.lax.scan(jax.checkpoint(layer), x, ws)
        return (y**2).mean() + means.sum()

    shapes = {"a": jnp.ones((5, 32, 64)), "b": jnp.ones((5, 64, 32))}, jnp.ones((8, 32))
    step = jax.value_and_grad(loss)
    memory = computed_memory(opscope.capture(step, *shapes))
    saved = [buffer for buffer in memory.buffers if buffer.kind == "saved"]
    assert [str(buffer.type) for buffer in saved] == ["f32[5, 8, 32]", "f32[8, 32]"], "the input of each layer, and 2·y"
    arguments = [buffer for buffer in memory.buffers if buffer.name in ("ws['a']", "ws['b']", "x")]
    assert len({buffer.slot for buffer in [*arguments, *saved]}) == 5
    body = min(buffer.born for buffer in memory.buffers if buffer.graph == "scan.2")
    stacks = [buffer for buffer in memory.buffers if buffer.name in ("scan.2{1}", "scan.2{2}")]
    assert [buffer.born for buffer in stacks] == [body, body], "filled from the first iteration on"
    plan = jax.jit(step).lower(*shapes).compile().memory_analysis()
    assert memory.peak_bytes >= plan.argument_size_in_bytes + plan.output_size_in_bytes - 16


def test_an_update_of_a_part_happens_in_place_also_in_a_fusion() -> None:
    memory = memory_of(
        """
      p = V parameter(0)
      q = f32[1]{0} parameter(1)
      i = s32[] constant(3)
      c = V reverse(p), dimensions={0}
      u = V dynamic-update-slice(c, q, i)
      f = V fusion(u, q, i), kind=kLoop, calls=update
      ROOT r = V reverse(f), dimensions={0}
    """,
        computations="""
update {
  a = V parameter(0)
  b = f32[1]{0} parameter(1)
  k = s32[] parameter(2)
  ROOT d = V dynamic-update-slice(a, b, k)
}
""",
    )
    assert buffer_of(memory, "c").slot == buffer_of(memory, "u").slot == buffer_of(memory, "f").slot
    assert memory.split["temp"] == KB


def test_unknown_sizes_are_counted_as_unknown() -> None:
    builder = ProgramBuilder("m")
    graph = builder.graph("main")
    graph.node("x", "placeholder", [], [TensorType("float32", ("s0", 4))], role="input")
    graph.node("y", "aten.cos.default", [("x", 0)], [TensorType("float32", ("s0", 4))])
    graph.node("z", "aten.sum.default", [("y", 0)], [TensorType("float32", ())])
    graph.outputs = [("z", 0)]
    memory = computed_memory(builder.build())
    assert memory.unknown == 2 and memory.peak_bytes == 4
    assert [row.buffer.bytes for row in memory.live(1)] == [None, None]


def test_a_profile_without_types_has_no_memory(tmp_path: Path) -> None:
    """Its page has everything else."""
    profile = str(ROOT / "tests" / "samples" / "kineto" / "eager.json.gz")
    with pytest.raises(
        OpscopeError, match="the memory of eager is unknown: its nodes have no types; pass the program, or a memory snapshot"
    ):
        read_memory(profile)
    opscope.save(opscope.load(profile), tmp_path / "eager.html")
    assert "opscope-data-0" in (tmp_path / "eager.html").read_text("utf-8")


def test_views_of_pytorch_are_parts_of_what_they_view() -> None:
    builder = ProgramBuilder("m")
    graph = builder.graph("main")
    matrix = [TensorType("float32", (4, 4))]
    graph.node("x", "placeholder", [], matrix, role="input")
    graph.node("w", "placeholder", [], matrix, role="parameter")
    graph.node("t", "aten.t.default", [("w", 0)], matrix)
    graph.node("mm", "aten.mm.default", [("x", 0), ("t", 0)], matrix)
    graph.node("v", "aten.view.default", [("mm", 0)], matrix)
    graph.node("cos", "aten.cos.default", [("v", 0)], matrix)
    graph.outputs = [("cos", 0)]
    memory = computed_memory(builder.build())
    kinds = {"x": "input", "w": "parameter", "mm": "temporary", "cos": "output"}
    assert {buffer.name: buffer.kind for buffer in memory.buffers} == kinds
    assert memory.peak_bytes == 4 * 64 and buffer_of(memory, "mm").why == "used last by cos"


def test_a_joint_graph_keeps_gradients_and_what_a_derivative_makes_until_it_returns() -> None:
    builder = ProgramBuilder("m")
    graph = builder.graph("main")
    vector = [TensorType("float32", (256,))]
    backward = [Link(BACKWARD_OF, "pow")]
    graph.node("w", "parameter", [], vector, role="parameter")
    graph.node("sin", "aten.sin.default", [("w", 0)], vector)
    graph.node("pow", "aten.pow.Tensor_Scalar", [("sin", 0)], vector)
    graph.node("ones", "aten.ones_like.default", [("pow", 0)], vector)
    graph.node("pow_1", "aten.pow.Tensor_Scalar", [("sin", 0)], vector, links=backward)
    graph.node("mul", "aten.mul.Scalar", [("pow_1", 0)], vector, links=backward)
    graph.node("mul_1", "aten.mul.Tensor", [("mul", 0), ("ones", 0)], vector, links=backward)
    graph.node("cos", "aten.cos.default", [("w", 0)], vector, links=[Link(BACKWARD_OF, "sin")])
    graph.node("mul_2", "aten.mul.Tensor", [("mul_1", 0), ("cos", 0)], vector, links=[Link(BACKWARD_OF, "sin")])
    graph.node("grad.w", "gradient", [("mul_2", 0)], vector, role="gradient")
    graph.node("later", "aten.sum.default", [("w", 0)], [TensorType("float32", ())])
    graph.outputs = [("later", 0)]
    memory = computed_memory(builder.build())
    assert memory.step_at(memory.peak) == "mul_1"
    assert memory.peak_bytes == 6 * KB, "w, sin, ones, and the three values of the derivative of pow"
    gradient = buffer_of(memory, "mul_2")
    assert (gradient.kind, gradient.why, gradient.last) == ("gradient", "gradient of w", len(memory.steps))
    assert not any(buffer.name == "grad.w" for buffer in memory.buffers), "a mark has no memory of its own"
    last_use = {row["node"]: (row["last_use"], memory.step_at(row["last"])) for row in to_json(memory, memory.peak, "buffer")["live"]}
    assert last_use["sin"] == ("pow_1", "mul_1"), "who reads it, and when it is freed"
    assert last_use["pow_1"] == ("mul", "mul_1") and last_use["w"] == ("", "")


def test_the_derivative_of_softmax_has_a_workspace() -> None:
    builder = ProgramBuilder("m")
    graph = builder.graph("main")
    vector = [TensorType("float32", (256,))]
    graph.node("g", "placeholder", [], vector, role="input")
    graph.node("y", "placeholder", [], vector, role="input")
    graph.node("d", "aten._softmax_backward_data.default", [("g", 0), ("y", 0)], vector)
    graph.outputs = [("d", 0)]
    memory = computed_memory(builder.build())
    assert memory.peak_bytes == 4 * KB
    assert [(buffer.bytes, buffer.why) for buffer in memory.buffers if buffer.kind == "workspace"] == [(KB, "workspace of d, estimated")]


def test_halves_that_only_the_structure_shows_give_the_same_kinds() -> None:
    named, plain = (
        {(buffer.graph, buffer.name): buffer.kind for buffer in computed_memory(parse_hlo((HLO / name).read_text("utf-8"))[0]).buffers}
        for name in ("step_lowered.hlo", "step_short.hlo")
    )
    assert plain == named and {"saved", "gradient"} < set(named.values())


def within(computed: Memory, reported: Memory, percent: float) -> bool:
    return abs(computed.peak_bytes / reported.peak_bytes - 1) <= percent / 100


def test_a_module_of_xla_gpu_is_within_a_percent_of_its_report(gpu_dump: Path) -> None:
    (reports,) = find_reports(gpu_dump)
    program = program_of(reports)
    assert program is not None
    reported, computed = reported_memory(reports, program), computed_memory(program)
    assert computed.origin == "computed" and within(computed, reported, 1)
    assert computed.step_at(computed.peak) == reported.step_at(reported.peak)


@pytest.mark.frameworks
def test_compiled_programs_are_within_five_percent_of_xla(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    programs = load_file(ROOT / "benchmarks" / "memory_programs.py")
    far = []
    for name, case in programs.CASES.items():
        programs.compile_to(case, tmp_path / name)
        (reports,) = find_reports(tmp_path / name)
        program = program_of(reports)
        assert program is not None
        reported, computed = reported_memory(reports, program), computed_memory(program)
        if not within(computed, reported, 5):
            far.append((name, reported.peak_bytes, computed.peak_bytes))
        assert {use: computed.split[use] for use in ("argument", "output", "alias")} == {
            use: reported.split[use] for use in ("argument", "output", "alias")
        }
    assert not far and len(programs.CASES) >= 20


def test_a_branch_that_returns_what_it_is_given_does_not_unite_the_operands_of_both() -> None:
    text = """HloModule m
    left { l = f32[1000]{0} parameter(0)
      ROOT t = (f32[1000]{0}, f32[1000]{0}) tuple(l, l) }
    right { r = f32[1000]{0} parameter(0)
      n = f32[1000]{0} negate(r)
      e = f32[1000]{0} exponential(r)
      ROOT t2 = (f32[1000]{0}, f32[1000]{0}) tuple(n, e) }
    ENTRY main { p = s32[] parameter(0)
      a = f32[1000]{0} parameter(1)
      b = f32[1000]{0} parameter(2)
      ROOT c = (f32[1000]{0}, f32[1000]{0}) conditional(p, a, b), branch_computations={left, right} }"""
    (program,) = parse_hlo(text)
    memory = computed_memory(program)
    assert memory.peak_bytes == 4 + 4 * 4000, "both arguments and both results are in memory of their own"


def test_tuples_of_tuples_end_although_they_contain_a_value_many_times_over() -> None:
    """Without counting it once, sixty of them contain it 2⁶⁰ times."""
    builder = ProgramBuilder("m")
    graph, type_ = builder.graph("main"), TensorType("f32", (256,))
    graph.node("p", "parameter", outputs=[type_], role="parameter")
    graph.node("x", "tanh", [("p", 0)], [type_])
    for i in range(60):
        inner = (f"t{i - 1}", WHOLE) if i else ("x", 0)
        graph.node(f"t{i}", "tuple", [inner, inner], [type_, type_])
    graph.outputs.append(("t59", 0))
    memory = computed_memory(builder.build())
    assert {buffer.name for buffer in memory.buffers} == {"p", "x"}
