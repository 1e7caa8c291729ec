"""What checkpoints save on an H200 (`benchmarks/memory_advice_models.py`), and what is estimated from the dump of the step without them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from opscope.errors import OpscopeError
from opscope.memory.read_from import remember_source
from opscope.memory.reasons import multiplies
from opscope.memory.report import equal_lines
from opscope.memory.shown import planner_of
from opscope.memory.suggest import answer
from opscope.memory.what_if import CHECKPOINT, Change, Planner, change_of
from opscope.readers.hlo import parse_hlo

STEPS = Path(__file__).parent / "gpu_advice"
MEASURED = {tuple(row["what"]): row["result"] for row in json.loads((STEPS / "measured.json").read_text("utf-8"))}


def planner_for(name: str, directory: Path) -> Planner:
    with tarfile.open(STEPS / f"{name}.tar.gz") as tar:
        tar.extractall(directory, filter="data")
    (file,) = directory.glob("*_after_optimizations.txt")
    (program,) = parse_hlo(file.read_text("utf-8"))
    remember_source(str(file), program)
    return planner_of(program)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["blocks", "scan"])
def test_checkpoints_save_on_a_gpu_what_is_estimated(name: str, tmp_path: Path) -> None:
    planner = planner_for(name, tmp_path)
    assert planner.memory.origin == "reported"
    before = MEASURED["jax", name, "", "gpu"]
    assert 0.99 * before["reserved"] < planner.memory.live_peak <= before["reserved"] < before["measured"]
    found = answer(planner, [], suggests=True)
    assert found.advice, "something is suggested, also for a loop"
    assert not found.note, "what XLA for the CPU merges is not about this program"
    for change in ("block", "block:dots_saveable", "attend", "mlp"):
        after = MEASURED["jax", name, change, "gpu"]
        estimate = planner.memory.live_peak - planner.what_if([Change(CHECKPOINT, f"_network.<locals>.{change}")]).memory.live_peak
        assert 0.75 < estimate / (before["reserved"] - after["reserved"]) < 1.1, change


@pytest.mark.slow
def test_a_reason_is_about_one_of_several_results(tmp_path: Path) -> None:
    """`loop_multiply_tanh_fusion.3#0` goes into a product, and `#1` only into the derivative of tanh."""
    reasons = {buffer.name: buffer.why for buffer in planner_for("blocks", tmp_path).memory.buffers}
    assert reasons["loop_multiply_tanh_fusion.3{1}"] == "saved for backward: loop_add_fusion.14 needs it"
    assert reasons["loop_multiply_tanh_fusion.3{0}"].startswith("saved for backward: gemm_fusion_dot.114 needs it")


def test_a_change_of_a_loops_results_is_of_those_that_are_named(tmp_path: Path) -> None:
    """What the iterations fill is in one place from before the loop to its last use, and half as large there all the time; what cannot be
    estimated is refused."""
    planner = planner_for("scan", tmp_path)
    memory = planner.memory
    saved = [each for each in memory.buffers if each.kind == "saved" and each.node.startswith("while") and each.last >= memory.peak]
    stacks = [each for each in saved if each.type and each.type.dtype == "f32"]
    assert len(stacks) > 1
    inside = stacks[0].born - 1

    def less(change: str, at: int) -> int:
        after = planner.what_if([change_of(change)]).memory
        return sum(each.bytes or 0 for each, _ in memory.live(at)) - sum(each.bytes or 0 for each, _ in after.live(at))

    for at in (inside, memory.peak):
        assert less(f"bf16={stacks[0].name}", at) == (stacks[0].bytes or 0) // 2
        assert less(f"bf16={stacks[0].node}", at) >= sum(each.bytes or 0 for each in stacks) // 2
    for name in (stacks[0].name, stacks[0].node):
        with pytest.raises(OpscopeError, match="all of a loop would run again"):
            planner.what_if([change_of(f"recompute={name}")])


def test_iterations_compute_again_only_what_is_not_kept(tmp_path: Path) -> None:
    """With the policy, no product; without it, each one once, but not the last one, whose result nothing else of the iteration needs."""
    planner = planner_for("scan", tmp_path)
    name = "_network.<locals>.block"
    whole = planner.checkpoints[name]
    (times,) = {each.parts for each in whole.stacked.values()}
    bodies = {each.part[0] for each in whole.stacked.values()}
    inside = [(key, planner.flow.forward[key]) for key in whole.inside if key[0] in bodies]
    products = [planner.flops[key] for key, node in inside if multiplies(planner.program, node)]
    assert len(products) > 2
    again = planner.what_if([Change(CHECKPOINT, f"{name}:dots_saveable")]).flops
    assert 0 < again < times * min(products)
    everything = planner.what_if([Change(CHECKPOINT, name)]).flops
    assert times * (sum(products) - max(products)) <= everything < times * sum(products)


def test_what_a_loop_saves_has_the_line_of_what_its_body_writes(tmp_path: Path) -> None:
    memory = planner_for("scan", tmp_path).memory
    saved = [each for each in memory.buffers if each.kind == "saved" and each.node.startswith("while") and each.last >= memory.peak]
    functions = {each.source.rpartition(".")[2] for each in saved}
    assert {"attend", "mlp"} <= functions, functions
    parts = {each.name: each.part for each in saved if each.part}
    assert len(parts) > 10 and len(set(parts.values())) == len(parts), "each is another value"
    assert all(f"needs {each.part} of each iteration of {each.node}" in each.why for each in saved if each.part)
    assert all(len(values) == 1 for values in equal_lines(saved))
