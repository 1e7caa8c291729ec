"""What checkpoints save on an H200 (`benchmarks/memory_advice_models.py`), and what is estimated from the dump of the step without them."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from opscope.memory.shown import planner_of, remember_source
from opscope.memory.suggest import answer
from opscope.memory.what_if import CHECKPOINT, Change, Planner
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
    assert answer(planner, [], suggests=True).advice, "something is suggested, also for a loop"
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
