"""What memory would be if values were recomputed, offloaded or smaller: small programs whose memory can be added up by hand."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

import opscope
from opscope.errors import OpscopeError
from opscope.memory.schedule import computed_memory
from opscope.memory.what_if import Change, Planner, advice
from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, UPDATE, Frame, Program, ProgramBuilder, TensorType

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
    kept = next(buffer for buffer in plan.what_if([Change("recompute", "wide.1")]).memory.buffers if buffer.node == "sum.0")
    before = next(buffer for buffer in plan.memory.buffers if buffer.node == "sum.0")
    assert plan.memory.step_at(before.last) == "wide.1" and plan.memory.step_at(kept.last) == "grad.1"


def test_the_same_line_in_all_layers_is_one_suggestion() -> None:
    plan = planner(step(layers=3))
    (suggestion,) = plan.suggest()
    assert {buffer.node for buffer in suggestion.buffers} <= {"wide.0", "wide.1", "wide.2"} and len(suggestion.buffers) >= 2
    assert suggestion.peak < plan.memory.live_peak
    assert suggestion.peak == plan.what_if(suggestion.changes).memory.live_peak
    assert plan.suggest(suggestion.changes) == [], "nothing else is saved across the peak"
    lines = advice(plan.program, [suggestion])
    assert lines[0] == 'x = jax.ad_checkpoint.checkpoint_name(x, "recomputed_0")  # f32[1000] in model.py:7 forward'
    assert lines[-1] == 'f = jax.checkpoint(f, policy=jax.checkpoint_policies.save_anything_except_these_names("recomputed_0"))'


def test_kinds_of_values_of_one_line_are_separate_suggestions_that_lower_the_peak() -> None:
    """An activation is recomputed from a product for one operation per element. With both as one suggestion, nothing is gained: each
    product would be recomputed from the activation of the layer before, which stays for it."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    last = main.node("x", "parameter", outputs=[BIG], role="parameter").id
    for i in range(4):
        line: dict[str, Any] = {"scope": (f"layer_{i}",), "source": [Frame("model.py", 7, "forward")], "attrs": {DIRECTION_ATTR: FORWARD}}
        main.node(f"product.{i}", "power", [(last, 0), (last, 0)], [BIG], **line)
        last = main.node(f"act.{i}", "sine", [(f"product.{i}", 0)], [BIG], **line).id
    for i in reversed(range(4)):
        read = [(last, 0), (f"product.{i}", 0), (f"act.{i}", 0)]
        last = main.node(f"grad.{i}", "multiply", read, [SMALL], attrs={DIRECTION_ATTR: BACKWARD}).id
    main.outputs.append((last, 0))
    plan = planner(builder.build())
    suggestions = plan.suggest()
    assert suggestions and all(len({buffer.node.partition(".")[0] for buffer in each.buffers}) == 1 for each in suggestions)
    peaks = [plan.memory.live_peak, *(each.peak for each in suggestions)]
    assert all(after <= 0.99 * before for before, after in pairwise(peaks)), "each is worth a line of code"


def test_pytorch_gets_its_own_lines() -> None:
    plan = planner(step("aten."))
    (suggestion, *_) = plan.suggest()
    assert advice(plan.program, [suggestion]) == ["x = torch.utils.checkpoint.checkpoint(self.layer_0, x, use_reentrant=False)"]
    scopes = [("blocks: Sequential", "0: Block", "up: Linear"), ("blocks: Sequential", "0: Block"), ("blocks: Sequential", "1: Block")]
    buffers = tuple(suggestion.buffers[0]._replace(scope=scope) for scope in scopes)
    assert advice(plan.program, [suggestion._replace(buffers=buffers)]) == [
        "x = torch.utils.checkpoint.checkpoint(self.blocks[0], x, use_reentrant=False)",
        "x = torch.utils.checkpoint.checkpoint(self.blocks[1], x, use_reentrant=False)",
    ], "a module that is inside another one is recomputed with it"


def test_an_unknown_node_is_refused() -> None:
    with pytest.raises(OpscopeError, match=r"no buffer is made by 'wide\.9'; did you mean"):
        planner(step()).what_if([Change("recompute", "wide.9")])


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
    assert wrong.returncode == 2 and "a change is one of recompute=NODE, offload=NODE, bf16=NODE, not 'forget=wide.0'" in wrong.stderr
