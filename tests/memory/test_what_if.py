"""What memory would be if values were recomputed, offloaded or smaller: small programs whose memory can be added up by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

import opscope
from opscope.errors import OpscopeError
from opscope.memory.schedule import computed_memory
from opscope.memory.suggest import answer, suggest
from opscope.memory.what_if import Change, Planner
from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, UPDATE, Frame, Program, ProgramBuilder, TensorType
from opscope.serve.sources import what_if as asked_by_page

BIG, SMALL = TensorType("f32", (1000,)), TensorType("f32", (250,))
"""4,000 and 1,000 bytes."""


def step(dialect: str = "", layers: int = 2) -> Program:
    """Layers of a sine of the input that the backward half reads again, last layer first."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    last = main.node("x", "parameter", outputs=[SMALL], role="parameter").id
    for i in range(layers):
        frames = [Frame("model.py", 7, "forward")]
        forward = {DIRECTION_ATTR: FORWARD}
        main.node(f"wide.{i}", f"{dialect}sine", [(last, 0)], [BIG], scope=(f"layer_{i}",), source=frames, attrs=forward)
        last = main.node(f"sum.{i}", f"{dialect}tanh", [(f"wide.{i}", 0)], [SMALL], scope=(f"layer_{i}",), attrs=forward).id
    for i in reversed(range(layers)):
        backward = {DIRECTION_ATTR: BACKWARD}
        last = main.node(f"grad.{i}", f"{dialect}multiply", [(last, 0), (f"wide.{i}", 0)], [SMALL], attrs=backward).id
    main.outputs.append((last, 0))
    return builder.build()


def test_a_state_of_the_optimizer_is_told_from_weights_inputs_and_settings() -> None:
    """Only the update reads it, or its name says it; a VAE's own `mu` is a weight, and a number that only the update reads a setting."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    names = {"w": BIG, "mu": BIG, "m": BIG, "lr": TensorType("f32", ()), "opt_state_0": TensorType("f32", ()), "x": BIG}
    for name, type_ in names.items():
        main.node(name, "parameter", outputs=[type_], role="parameter")
    main.node("y", "multiply", [("w", 0), ("mu", 0), ("x", 0)], [BIG], attrs={DIRECTION_ATTR: FORWARD})
    main.node("g", "multiply", [("y", 0), ("x", 0)], [BIG], attrs={DIRECTION_ATTR: BACKWARD})
    update = [("g", 0), ("m", 0), ("lr", 0), ("opt_state_0", 0), ("w", 0)]
    main.node("new", "add", update, [BIG], attrs={DIRECTION_ATTR: UPDATE})
    main.outputs.append(("new", 0))
    memory = computed_memory(builder.build())
    kinds = {buffer.node: (buffer.kind, buffer.why) for buffer in memory.buffers if buffer.node in names}
    assert {name for name, (kind, _) in kinds.items() if kind == "optimizer state"} == {"m", "opt_state_0"}
    assert kinds["m"][1] == "parameter; optimizer state: only the update reads it"
    assert kinds["opt_state_0"][1] == "parameter; optimizer state, by its name"


def test_copies_of_weights_and_constants_are_not_saved_for_backward() -> None:
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    main.node("w", "parameter", outputs=[BIG], role="parameter")
    main.node("zero", "constant", outputs=[TensorType("f32", ())], role="constant")
    forward, backward = {DIRECTION_ATTR: FORWARD}, {DIRECTION_ATTR: BACKWARD}
    main.node("layout", "copy", [("w", 0)], [BIG], attrs=forward)
    main.node("zeros", "broadcast", [("zero", 0)], [BIG], attrs=forward)
    main.node("y", "multiply", [("layout", 0), ("zeros", 0)], [BIG], attrs=forward)
    main.node("g", "multiply", [("y", 0), ("layout", 0), ("zeros", 0)], [BIG], attrs=backward)
    main.outputs.append(("g", 0))
    whys = {buffer.node: (buffer.kind, buffer.why) for buffer in computed_memory(builder.build()).buffers}
    assert whys["layout"] == ("temporary", "a copy of w: g needs it")
    assert whys["zeros"] == ("temporary", "filled with constants: g needs it")
    assert whys["y"][0] == "saved"


def planner(program: Program) -> Planner:
    return Planner(program, computed_memory(program))


def test_a_value_that_is_recomputed_or_offloaded_is_gone_in_between() -> None:
    """x, wide.0, wide.1 and two small values are in use at the peak: 1,000 + 2 × 4,000 + 2 × 1,000 bytes."""
    plan = planner(step())
    assert plan.memory.live_peak == 11_000
    recomputed = plan.what_if([Change("recompute", "wide.0")])
    assert recomputed.memory.live_peak == 7_000 and recomputed.flops == 1_000 and recomputed.moved == 0
    offloaded = plan.what_if([Change("offload", "wide.0")])
    assert offloaded.memory.live_peak == 7_000 and offloaded.flops == 0 and offloaded.moved == 8_000
    halved = plan.what_if([Change("bf16", "wide.0"), Change("bf16", "wide.1")])
    assert halved.memory.live_peak == 11_000 - 4_000 and halved.flops == halved.moved == 0
    assert plan.memory.live_peak == 11_000, "a question changes nothing"


def test_what_a_value_is_recomputed_from_stays() -> None:
    """wide.1 is made of sum.0, which is then needed until the backward half recomputes it."""
    plan = planner(step(layers=3))
    kept = [buffer for buffer in plan.what_if([Change("recompute", "wide.1")]).memory.buffers if buffer.node == "sum.0"]
    before = next(buffer for buffer in plan.memory.buffers if buffer.node == "sum.0")
    assert plan.memory.step_at(before.last) == "wide.1" and plan.memory.step_at(max(each.last for each in kept)) == "grad.1"


def test_all_calls_of_a_function_are_one_suggestion() -> None:
    """Each layer is recomputed from the small value that the layer before hands out, so that stays."""
    plan = planner(step(layers=3))
    chosen, others = suggest(plan)
    assert [each.name for each in chosen] == ["forward"] and others == []
    assert {buffer.node for buffer in chosen[0].buffers} <= {"wide.0", "wide.1", "wide.2"} and len(chosen[0].buffers) >= 2
    assert chosen[0].peak == plan.what_if([Change("checkpoint", "forward")]).memory.live_peak < plan.memory.live_peak
    assert suggest(plan, chosen[0].changes)[0] == [], "nothing else is saved across the peak"
    line, compiled = answer(plan, [], True).advice
    assert line.startswith("forward = jax.checkpoint(forward)  # in model.py")
    assert compiled.startswith('step = jax.jit(step, compiler_options={"xla_disable_hlo_passes": "cse_barrier_expander"})')
    kept = {key[1] for key in plan.checkpoints["forward"].inside - plan.checkpoints["forward"].recomputed}
    assert kept == {"sum.0", "sum.1"}, "what one call hands to the next"


def test_a_chain_is_recomputed_from_its_start() -> None:
    """product.1 is computed from act.0, and that from product.0: nothing of it has to stay, because all of it is computed again."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    last = main.node("x", "parameter", outputs=[BIG], role="parameter").id
    line: dict[str, Any] = {"source": [Frame("model.py", 7, "block")], "attrs": {DIRECTION_ATTR: FORWARD}}
    for i in range(3):
        main.node(f"product.{i}", "power", [(last, 0), (last, 0)], [BIG], **line)
        last = main.node(f"act.{i}", "sine", [(f"product.{i}", 0)], [BIG], **line).id
    loss = main.node("loss", "tanh", [(last, 0)], [SMALL], attrs={DIRECTION_ATTR: FORWARD}, source=[Frame("model.py", 9, "loss")])
    last = loss.id
    for i in reversed(range(3)):
        read = [(last, 0), (f"product.{i}", 0), (f"act.{i}", 0)]
        last = main.node(f"grad.{i}", "multiply", read, [SMALL], attrs={DIRECTION_ATTR: BACKWARD}).id
    main.outputs.append((last, 0))
    plan = planner(builder.build())
    result = plan.what_if([Change("recompute", name) for name in ("product.1", "act.1")])
    kept = [buffer for buffer in result.memory.buffers if buffer.node == "product.1"]
    assert [(plan.memory.step_at(buffer.born), plan.memory.step_at(buffer.last)) for buffer in sorted(kept)] == [
        ("product.1", "act.1"),
        ("grad.1", "grad.1"),
    ], "act.1 is computed from it at the same point"


def test_what_the_advice_does_not_do_is_said() -> None:
    """The number is with what somebody chose, which no code does; the advice has a number of its own, and code for every checkpoint."""
    plan = planner(step(layers=3))
    alone = answer(plan, [], True)
    assert alone.by_hand == [] and alone.advice_peak == alone.result.memory.live_peak
    chosen = [Change("offload", "x")]
    both = answer(plan, chosen, True)
    assert both.by_hand == chosen and both.advice == alone.advice and both.advice_peak == alone.advice_peak
    assert both.result.memory.live_peak < both.advice_peak
    asked = answer(plan, [Change("checkpoint", "forward"), *chosen], False)
    assert asked.advice == alone.advice and asked.by_hand == chosen and asked.advice_peak == alone.advice_peak


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(OpscopeError, match=r"no buffer is made by 'wide\.9'; did you mean"):
        planner(step()).what_if([Change("recompute", "wide.9")])


def test_an_argument_is_offloaded_but_not_recomputed_whoever_asks() -> None:
    program = step()
    question = {"changes": ["recompute=x"], "suggest": False}
    with pytest.raises(OpscopeError, match=r"x is an argument of the program, and nothing computes it; try offload="):
        asked_by_page(program, json.dumps(question))
    before = planner(program).memory
    away = planner(program).what_if([Change("offload", "x")])
    assert away.moved == 2 * 1000 and away.memory.live_peak == before.live_peak - 1000


@pytest.mark.slow
def test_the_command(tmp_path: Path, run: Run) -> None:
    file = str(tmp_path / "step.json")
    opscope.save(step(), file)
    done = run("memory", file, "--what-if", "offload=wide.0")
    assert "11.0 kB, with these changes 7.00 kB, estimated" in done.stdout and "8.00 kB off the device and back" in done.stdout
    data = json.loads(run("memory", file, "--suggest", "--json").stdout)
    assert data["bytes"] == 11_000 and data["bytes_after"] < 11_000 and data["suggestions"][0]["peak_bytes"] == data["bytes_after"]
    assert max(size for _, size in data["curve"]) == data["bytes_after"]
    wrong = run("memory", file, "--what-if", "forget=wide.0")
    assert (
        wrong.returncode == 2
        and "a change is one of recompute=NODE, offload=NODE, bf16=NODE, checkpoint=FUNCTION, not 'forget=wide.0'" in wrong.stderr
    )


@pytest.mark.slow
def test_the_largest_are_source_lines_in_all_layers(tmp_path: Path, run: Run) -> None:
    """Line 7 makes two values of 4,000 bytes in each layer, lines 8 to 11 one each, line 12 a smaller one: lines 7, 8 and 9 are named, and
    that two more are as large as the last."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    last = main.node("x", "parameter", outputs=[SMALL], role="parameter").id
    lines = {"wide": (7, BIG), "high": (7, BIG), "a": (8, BIG), "b": (9, BIG), "c": (10, BIG), "d": (11, BIG), "e": (12, SMALL)}
    for i in range(2):
        for name, (line, type_) in lines.items():
            frames, forward = [Frame("model.py", line, "forward")], {DIRECTION_ATTR: FORWARD}
            last = main.node(f"{name}.{i}", "sine", [(last, 0)], [type_], scope=(f"layer_{i}",), source=frames, attrs=forward).id
    for i in reversed(range(2)):
        for name in reversed(lines):
            read = [(last, 0), (f"{name}.{i}", 0)]
            last = main.node(f"grad_{name}.{i}", "multiply", read, [SMALL], attrs={DIRECTION_ATTR: BACKWARD}).id
    main.outputs.append((last, 0))
    opscope.save(builder.build(), str(tmp_path / "step.json"))
    text = run("memory", tmp_path / "step.json").stdout
    assert "saved    50.0 kB for backward, 14 buffers" in text
    assert "largest  16.0 kB: model.py:7 forward: 2 × wide.0 f32[1000], 2 × high.0 f32[1000]\n" in text
    assert "         8.00 kB: model.py:8 forward: 2 × a.0 f32[1000]\n         8.00 kB: model.py:9 forward: 2 × b.0 f32[1000]\n" in text
    assert "2 more lines as large as the last: --per source" in text and "model.py:10 forward: " not in text
    (row,) = (line for line in text.splitlines() if "2 × wide.0" in line and "saved for backward" in line)
    assert row.startswith("8.00 kB  saved")
    every = run("memory", tmp_path / "step.json", "--all").stdout
    assert sum("saved for backward" in line for line in every.splitlines()) == 14 and "4.00 kB  saved" in every


def test_equal_calls_are_recomputed_equally() -> None:
    """The first call's mask is fused in another way, and its product comes before what the calls are told apart by."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    last = main.node("x", "parameter", outputs=[SMALL], role="parameter").id

    def node(name: str, inputs: list[str], type_: TensorType, line: int) -> str:
        frames = [Frame("model.py", line, "attend")] if line else []
        frames.append(Frame("model.py", 20, "loss"))
        return main.node(name, "sine", [(each, 0) for each in inputs], [type_], source=frames, attrs={DIRECTION_ATTR: FORWARD}).id

    for i in range(4):
        query = node(f"query.{i}", [last], TensorType("f32", (500,)), 1)
        key = node(f"key.{i}", [last], TensorType("f32", (500,)), 1)
        score = node(f"score.{i}", [query, key], BIG, 2)
        masked = node(f"mask_select.{i}" if i else "first_select.0", [score], BIG, 3)
        last = node(f"sum.{i}", [last, node(f"out.{i}", [masked, query], SMALL, 4)], SMALL, 0)
    for i in reversed(range(4)):
        inputs = [(last, 0), (f"query.{i}", 0), (f"key.{i}", 0), (f"score.{i}", 0)]
        last = main.node(f"grad.{i}", "multiply", inputs, [SMALL], attrs={DIRECTION_ATTR: BACKWARD}).id
    main.outputs.append((last, 0))
    program = builder.build()
    attend = Planner(program, computed_memory(program)).checkpoints["attend"]
    for kind in ("query", "key", "score"):
        assert [attend.calls["main", f"{kind}.{i}"] for i in range(4)] == [f"attend {i + 1}" for i in range(4)]
        assert {("main", f"{kind}.{i}") for i in range(4)} <= attend.recomputed
