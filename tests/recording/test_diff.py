"""Diffs: matches, changes and fusions."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from support.compared import compared, links
from support.hlo_texts import AFTER, BEFORE, parse, renamed
from test_xla_dump import gpu_dump as gpu_dump  # a fixture

import opscope
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.diff import Diff, diff, diff_passes
from opscope.recording.dumps.xla import find_steps
from opscope.recording.match.attribute_values import parsed
from opscope.recording.model import Origin

F32 = TensorType("f32", (4,))


def changes(difference: Diff) -> dict[str, list[str]]:
    return {match.b[0][1]: [change.field for change in match.changes] for match in difference.changed}


def test_a_fusion_lists_the_nodes_that_it_replaces() -> None:
    difference = opscope.diff(parse(BEFORE), parse(AFTER))
    assert [str(fusion) for fusion in difference.fusions] == ["these 2 became fusion.12: tanh.4, negate.5"]
    assert set(difference.added) == {("main.9", "fusion.12"), ("fused_computation", "param_0")}
    assert str(difference.fusions[0]._replace(old=(("main.9", "tanh.4"),))) == "this one became fusion.12: tanh.4"
    assert difference.removed == ()
    by_name = {match.a[0][1]: match for match in difference.matched}
    assert by_name["tanh.4"].b == (("fused_computation", "tanh.1"),) and by_name["tanh.4"].moved
    assert by_name["reduce.7"].evidence == "name"


def test_each_change_has_its_old_and_new_value() -> None:
    difference = diff(parse(BEFORE), parse(AFTER))
    (layout,) = [match for match in difference.changed if match.b == (("main.9", "dot.3"),)]
    assert layout.changes == (("type", "f32[8, 8]{1,0}", "f32[8, 8]{0,1}"),)
    assert changes(difference)["reduce.7"] == ["operands"]


def test_the_same_program_has_no_difference_under_any_names() -> None:
    hidden, _ = renamed(AFTER)
    for other in (AFTER, hidden):
        difference = diff(parse(AFTER), parse(other))
        assert difference.same and len(difference.matched) == parse(AFTER).node_count
        assert difference.names == ("used" if other is AFTER else "ignored")


def test_without_names_the_same_nodes_match() -> None:
    hidden, new = renamed(AFTER)
    difference = diff(parse(BEFORE), parse(hidden), match_by_name=False)
    pairs = {a[1]: b[1] for a, b in difference.pairs()}
    for name in ("x", "w", "dot.3", "zero.6", "reduce.7", "broadcast.8", "add.9", "a", "b", "sum"):
        assert pairs[name] == new[name]
    assert {match.evidence for match in difference.matched} <= {"neighbourhood", "similarity"}


def with_config(config: str) -> Program:
    call = "c = f32[4] custom-call(p), custom_call_target="
    return parse(f'HloModule m\nENTRY main {{\n  p = f32[4] parameter(0)\n  ROOT {call}"gemm", backend_config={config}\n}}\n')


def test_json_attributes_are_compared_by_value_and_shown_key_by_key() -> None:
    """XLA prints the keys of backend_config in any order."""
    first = '{"device":"GPU","gemm":{"alpha":1,"epilogue":"DEFAULT"},"streams":[1,2]}'
    reordered = '{"gemm":{"epilogue":"DEFAULT","alpha":1},"streams":[1,2],"device":"GPU"}'
    changed = '{"device":"GPU","gemm":{"alpha":1,"epilogue":"BIAS","beta":0.5},"streams":[1,3]}'
    for match_by_name in (True, False, None):
        assert diff(with_config(first), with_config(reordered), match_by_name=match_by_name).same
    (match,) = diff(with_config(first), with_config(changed)).changed
    assert match.changes == (
        ("attrs.backend_config.gemm.epilogue", "DEFAULT", "BIAS"),
        ("attrs.backend_config.gemm.beta", "", "0.5"),
        ("attrs.backend_config.streams", "[1, 2]", "[1, 3]"),
    )


def test_the_text_of_a_protocol_buffer_is_compared_by_value_and_shown_key_by_key() -> None:
    """With a configuration that XLA wrote (`autotuned`)."""
    text = (Path(__file__).parent / "autotuned" / "autotune_results.textproto").read_text()
    first = re.search(r"triton \{[^}]*\}", text)
    assert first is not None
    fields = first[0].removeprefix("triton {").removesuffix("}").split("\n")

    def program(config: str) -> Program:
        builder = ProgramBuilder("m", "main")
        builder.graph("main").node("gemm", "custom-call", attrs={"config": f"backend: TRITON\n{config}"})
        return builder.build()

    reordered = f"triton {{ {' '.join(reversed(fields))} }}"
    assert diff(program(first[0]), program(reordered)).same
    (match,) = diff(program(first[0]), program(reordered.replace("block_m: 64", "block_m: 128"))).changed
    assert match.changes == (("attrs.config.triton.block_m", "64", "128"),)
    for broken in ("triton { block_m: 64", "triton } {", "see: this, and that", "a:", "a {" * 5000 + "}" * 5000):
        assert parsed(broken) is None, broken


def test_a_change_is_never_two_equal_texts() -> None:
    """Long values are cut to where they differ; operands with names that now mean other nodes get their present names."""
    common = "x" * 500
    (match,) = diff(with_config(f'"{common}1{common}"'), with_config(f'"{common}2{common}"')).changed
    old, new = str(match.changes[0]).removeprefix("attrs.backend_config ").split(" → ")
    assert old != new and max(len(old), len(new)) < 70
    before = "HloModule m\nENTRY main {\n  a = f32[4] parameter(0)\n  b = f32[4] parameter(1)\n  ROOT s = f32[4] subtract(a, b)\n}\n"
    after = before.replace("a = f32[4] parameter(0)", "a = f32[4] parameter(1)").replace(
        "b = f32[4] parameter(1)", "b = f32[4] parameter(0)"
    )
    (swapped,) = diff(parse(before), parse(after), match_by_name=False).changed
    assert swapped.changes == (("operands", "b, a", "a, b"),)


def test_a_number_and_its_text_are_one_value() -> None:
    """A compiler that writes two files of a graph may write a number in one and its text in the other."""

    def program(axis: object) -> Program:
        builder = ProgramBuilder("p", "main")
        builder.graph("main").node("take", "take", outputs=[F32], attrs={"axis": axis})
        return builder.build()

    assert diff(program(0), program("0")).changed == ()
    assert changes(diff(program(0), program("1"))) == {"take": ["attrs.axis"]}


def test_operands_of_the_same_names_in_another_graph_are_told_by_their_graphs() -> None:
    """A graph that was split in two takes a value of the first half as a parameter of that name in the second."""
    joint, split = ProgramBuilder("p", "main"), ProgramBuilder("p", "forward")
    main, forward, backward = joint.graph("main"), split.graph("forward"), split.graph("backward")
    for graph in (main, forward):
        graph.node("saved", "sin", outputs=[F32])
    backward.node("saved", "parameter", outputs=[F32], role="parameter")
    for graph in (main, backward):
        graph.node("product", "mul", [("saved", 0)], [F32])
    forward.node("call", "call", [("saved", 0)], [F32], calls=["backward"])
    origins = [Origin((("main", id),), ((graph, id),), "identity") for id, graph in (("saved", "forward"), ("product", "backward"))]
    (product,) = [match for match in diff_passes(joint.build(), split.build(), origins=origins).changed if match.b[0][1] == "product"]
    assert product.changes[0] == ("operands", "saved in forward", "saved in backward")


def test_what_follows_a_value_of_another_shape_has_changed() -> None:
    """Twice as many heads change every type after them, but no operation is added or removed; equal ones are told apart by attributes."""
    text = (
        'HloModule m\nENTRY %main {{\n  %x = f32[{0}] parameter(0), metadata={{op_name="mlp.weight"}}\n  %n = f32[{0}] negate(%x)\n'
        "  %low = f32[2] slice(%n), slice={{[0:2]}}\n  %high = f32[{1}] slice(%n), slice={{[2:{0}]}}\n"
        "  %e = f32[2] exponential(%low)\n  %a = f32[{1}] abs(%high)\n  ROOT %r = (f32[2], f32[{1}]) tuple(%e, %a)\n}}\n"
    )
    hidden, new = renamed(text.format(8, 6))
    difference = diff(parse(text.format(4, 2)), parse(hidden), match_by_name=False)
    assert difference.added == difference.removed == ()
    pairs = {a[1]: b[1] for a, b in difference.pairs()}
    assert all(pairs[old] == new[old] for old in ("x", "n", "low", "high", "e", "a"))


def test_a_constant_is_a_copy_of_one_from_its_own_graph() -> None:
    """Equal constants are everywhere: the one in a clone is from the graph that was cloned, one in a fusion from the graph around it, and
    one beside a constant that stays is new."""
    called = "{0} {{\n  x.{1} = f32[] parameter(0)\n  k.{1} = f32[] constant(2)\n  ROOT y.{1} = f32[] {2}(x.{1}, k.{1})\n}}\n"
    main = (
        "ENTRY main {{\n  p = f32[] parameter(0)\n  c = f32[] constant(2)\n  a = f32[] power(p, c)\n  g = f32[] call(a), to_apply=g\n"
        "  h = f32[] call(g), to_apply=h\n{0}}}\n"
    )
    graphs = called.format("g", 1, "multiply") + called.format("h", 2, "add")
    before = "HloModule m\n" + graphs + main.format("  ROOT i = f32[] call(h), to_apply=h\n")
    clone = called.format("h.clone", 3, "add")
    cloned = "HloModule m\n" + graphs + clone + main.format("  ROOT i = f32[] call(h), to_apply=h.clone\n")
    assert copied(before, cloned)["k.3"] == "k.2"
    new = "  n = f32[] constant(2)\n  e = f32[] divide(h, n)\n  ROOT i = f32[] call(e), to_apply=h\n"
    assert "n" not in copied(before, "HloModule m\n" + graphs + main.format(new))


def copied(before: str, after: str) -> dict[str, str]:
    """What diffs say nodes are copies of."""
    difference = diff_passes(parse(before), parse(after), ids="names")
    return {b[1]: match.a[0][1] for match in difference.matched for b in match.b if len(match.a) == 1 and b[1] != match.a[0][1]}


def test_a_graph_whose_name_another_has_now_is_called_what_it_is_called_now() -> None:
    """The old f is left behind as g, and a new f is called: not a change from f to f."""
    body = "{{\n  x.{0} = f32[4] parameter(0)\n  ROOT y.{0} = f32[4] {1}(x.{0})\n}}\n"
    entry = "ENTRY main {\n  a = f32[4] parameter(0)\n  ROOT c = f32[4] call(a), to_apply=f\n}\n"
    before = "HloModule m\nf " + body.format(1, "abs") + entry
    after = "HloModule m\ng " + body.format(1, "abs") + "f " + body.format(2, "negate") + entry
    changes = [change for match in diff(parse(before), parse(after), match_by_name=False).changed for change in match.changes]
    assert changes == [("calls", "g", "f")]


def numbered(ops: list[tuple[str, list[int]]]) -> Program:
    """A program whose ids are positions, as hidet writes them."""
    builder = ProgramBuilder("p")
    graph = builder.graph("main")
    for i, (op, inputs) in enumerate(ops):
        graph.node(f"{i}", op, [(str(j), 0) for j in inputs], [F32], role="op" if inputs else "parameter")
    graph.outputs.append((str(len(ops) - 1), 0))
    return builder.build()


def test_names_that_are_only_positions_are_ignored() -> None:
    before = numbered([("in", []), ("add", [0, 0]), ("relu", [1]), ("add", [2, 0]), ("relu", [3]), ("add", [4, 1]), ("relu", [5])])
    after = numbered([("in", []), ("relu", [0]), ("add", [1, 0]), ("relu", [2]), ("add", [3, 2]), ("relu", [4])])
    difference = diff(before, after)
    assert "name" not in {match.evidence for match in difference.matched}


def test_recorded_origins_take_precedence() -> None:
    before = numbered([("in", []), ("relu", [0]), ("tanh", [0]), ("add", [1, 2])])
    after = numbered([("in", []), ("tanh", [0]), ("relu", [0]), ("add", [1, 2])])
    origins = [
        Origin((("main", "1"),), (("main", "1"),), "rewrite", "swap activations"),
        Origin((("main", "2"), ("main", "3")), (("main", "2"), ("main", "3")), "rewrite", "both"),
    ]
    difference = diff_passes(before, after, origins=origins)
    by_rule = {match.rule: match for match in difference.matched if match.rule}
    assert by_rule["swap activations"].b == (("main", "1"),) and by_rule["swap activations"].changes[0].field == "op"
    assert by_rule["both"].a == (("main", "2"), ("main", "3"))
    assert difference.added == difference.removed == ()


def test_a_node_that_was_merged_into_another_matches_with_it() -> None:
    before = parse(BEFORE)
    text = BEFORE.replace("negate(%tanh.4)", 'negate(%dot.3), backend_config="{tanh}"').replace(
        '  %tanh.4 = f32[8,8]{1,0} tanh(%dot.3), metadata={op_name="jit(step)/layer/tanh"}\n', ""
    )
    difference = diff(before, parse(text))
    (match,) = [match for match in difference.matched if len(match.a) == 2]
    assert [id for _, id in match.a] == ["tanh.4", "negate.5"] and match.b == (("main.9", "negate.5"),)
    assert difference.removed == ()
    without = diff(before, parse(text.replace(', backend_config="{tanh}"', "")))
    assert [id for _, id in without.removed] == ["tanh.4"], "its user does what it did before: it was left out"


def test_json_follows_the_contract() -> None:
    difference = diff(parse(BEFORE), parse(AFTER)).to_json()
    assert {"matched", "added", "removed"} <= set(difference)
    first = difference["matched"][0]
    assert set(first) >= {"a", "b", "evidence", "changed"} and len(first["a"][0]) == 2
    assert ["main.9", "fusion.12"] in difference["added"]


def test_summary_counts_both_sides() -> None:
    summary = diff(parse(BEFORE), parse(AFTER)).summary
    assert summary["nodes"] == [12, 14]
    assert summary["ops"]["fusion"] == [0, 1]
    assert summary["flops"][0] == summary["flops"][1] > 0


def test_cycles_and_recursive_graphs_are_matched() -> None:
    builder = ProgramBuilder("p", "main")
    graph = builder.graph("main")
    graph.node("a", "op", [("b", 0)], [F32], calls=["main"])
    graph.node("b", "op", [("a", 0)], [F32])
    program = builder.build()
    assert diff(program, program).same
    assert len(diff(program, program, match_by_name=False).matched) == 2


def truth(a_text: str, b_text: str, seed: int) -> tuple[int, int, int]:
    """(surviving, right, wrong) of one pass, with every name of its second snapshot replaced."""
    a, (hidden, new) = parse(a_text), renamed(b_text, seed)
    b = parse(hidden)
    key_b = {node.id: (graph.name, node.id) for graph in b for node in graph}
    survive = {(graph.name, node.id): key_b[new[node.id]] for graph in a for node in graph if node.id in new and new[node.id] in key_b}
    survivors = set(survive.values())
    pairs = list(diff_passes(a, b, ids="positions").pairs())
    right = sum(survive.get(x) == y for x, y in pairs)
    wrong = sum((x in survive or y in survivors) and survive.get(x) != y for x, y in pairs)
    return len(survive), right, wrong


def check_truth(texts: list[str]) -> int:
    steps = 0
    for i, (a, b) in enumerate(pairwise(texts)):
        if a != b:
            survive, right, wrong = truth(a, b, i)
            assert right >= 0.97 * survive and wrong < 0.01 * survive, f"step {i}: {right} right and {wrong} wrong of {survive}"
            steps += 1
    return steps


@pytest.mark.slow
def test_replaced_names_are_recovered_in_every_pass_of_a_real_gpu_dump(gpu_dump: Path) -> None:
    steps, _ = find_steps(gpu_dump)
    assert check_truth([step.path.read_text() for step in steps]) > 50


@pytest.mark.frameworks
def test_replaced_names_are_recovered_in_every_pass_of_a_train_step(tmp_path: Path) -> None:
    """JAX's own XLA on two layers with gradients: at least 97 % right, under 1 % wrong."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def layer(x, p):
        y = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        scores = jax.nn.softmax((y @ p["q"]) @ (y @ p["k"]).T)
        return x + jax.nn.gelu(scores @ (y @ p["v"]) @ p["up"]) @ p["down"]

    def loss(params, x):
        for p in params:
            x = layer(x, p)
        return (x**2).mean()

    def weights(rows: int, columns: int):
        return jnp.ones((rows, columns))

    params = [{"q": weights(16, 16), "k": weights(16, 16), "v": weights(16, 16), "up": weights(16, 64), "down": weights(64, 16)}] * 2
    step = jax.jit(lambda p, x: jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(loss)(p, x)))
    step.lower(params, weights(8, 16)).compile({"xla_dump_to": str(tmp_path), "xla_dump_hlo_pass_re": ".*"})
    steps, _ = find_steps(tmp_path)
    assert check_truth([step.path.read_text() for step in steps]) > 8


def test_copies_are_counted_so_that_the_numbers_add_up() -> None:
    """A producer that was fused into two consumers exists twice: once as itself, once as a copy."""
    from browser.recordings import fused_twice, sharing

    a, b = sharing(), fused_twice()
    difference = diff(a, b)
    assert difference.copied == 1
    assert sum(map(len, a)) + len(difference.added) - len(difference.removed) + difference.copied == sum(map(len, b))


def test_a_loop_that_has_a_zero_of_its_own_is_no_fusion_of_the_zeros_before() -> None:
    """A scatter became a loop; its body compares with zeros, as others did before."""
    before = """HloModule m
ENTRY main {
  x = f32[4] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[4] broadcast(zero), dimensions={}
  used = f32[4] add(x, zeros)
  ROOT scatter = f32[4] custom-call(used), custom_call_target="scatter"
}
"""
    body = """
body {
  p = f32[4] parameter(0)
  z = f32[] constant(0)
  zs = f32[4] broadcast(z), dimensions={}
  ROOT most = f32[4] maximum(p, zs)
}
condition {
  c = f32[4] parameter(0)
  ROOT yes = pred[] constant(true)
}
"""
    after = before.replace("ENTRY", body + "ENTRY").replace(
        'custom-call(used), custom_call_target="scatter"', "while(used), condition=condition, body=body"
    )
    assert diff(parse(before), parse(after)).fusions == ()
    filled = after.replace("ROOT most = f32[4] maximum(p, zs)", "ROOT most = f32[4] broadcast(z), dimensions={}")
    assert [id for _, id in diff(parse(before), parse(filled)).fusions[0].old] != []


def test_a_folded_constant_is_not_an_equal_one_of_another_operation() -> None:
    """As constant folding does it: each converted constant becomes a new one, and those of two operations have one number."""
    lines = """%c.1 = {0} constant(3), metadata={{op_name="jit(f)/lt"}}
               %convert.2 = f32[] convert(%c.1), metadata={{op_name="jit(f)/lt"}}"""
    before = f"""{lines.format("bf16[]")}
                 %b.3 = f32[8]{{0}} broadcast(%convert.2), dimensions={{}}
                 %mul.4 = f32[8]{{0}} multiply(%x, %b.3)
                 %c.5 = s32[] constant(3)
                 %convert.6 = bf16[] convert(%c.5), metadata={{op_name="jit(f)/jit(clip)/convert"}}
                 ROOT %t = (f32[8]{{0}}, bf16[]) tuple(%mul.4, %convert.6)"""
    after = """%c.7 = f32[] constant(3), metadata={op_name="jit(f)/lt"}
               %b.3 = f32[8]{0} broadcast(%c.7), dimensions={}
               %mul.4 = f32[8]{0} multiply(%x, %b.3)
               %c.8 = bf16[] constant(3), metadata={op_name="jit(f)/jit(clip)/convert"}
               ROOT %t = (f32[8]{0}, bf16[]) tuple(%mul.4, %c.8)"""
    found = links(compared(before, after))
    assert ("c.1", "c.8") not in found and ("convert.6", "c.8") in found
