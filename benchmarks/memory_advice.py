"""How far the advice about checkpoints is off: the fall of the peak that opscope estimates, and the real one.

    python benchmarks/memory_advice.py DIRECTORY [--keep]     what `memory_advice_models.py` wrote there on a machine with CUDA
    python benchmarks/memory_advice.py cpu [--keep]           JAX on the CPU, by `memory_analysis()` of each step with a checkpoint

Estimates for JAX are from XLA's dump of the step without checkpoints, for eager PyTorch from the joint graph, and for compiled PyTorch
from the log of torch.compile. `results/memory_advice.jsonl` has what an H200 measured, `results/memory_advice_cpu.jsonl` the rest.
"""

from __future__ import annotations

import gzip
import json
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import memory_advice_models as models
from results import Figure, keep

import opscope
from opscope.loading import load_all
from opscope.memory.read_from import remember_source
from opscope.memory.shown import planner_of
from opscope.memory.suggest import answer
from opscope.memory.what_if import CHECKPOINT, Change, Planner


def planners(directory: Path) -> Iterator[tuple[str, str, str, Planner]]:
    """Framework, model, mode, and what answers questions about it."""
    for name in models.JAX:
        with tempfile.TemporaryDirectory() as place:
            with tarfile.open(directory / f"{name}.tar.gz") as tar:
                tar.extractall(place, filter="data")
            (file,) = Path(place).glob("*_after_optimizations.txt")
            yield "jax", name, "gpu", _planner(file)
    for name in models.TORCH:
        model, x = models.torch_model(name)
        yield "torch", name, "eager", planner_of(opscope.capture(model, x, stage="joint"))
        with tempfile.TemporaryDirectory() as place:
            log = Path(place) / f"{name}.log"
            log.write_bytes(gzip.decompress((directory / f"{name}.log.gz").read_bytes()))
            yield "torch", name, "compiled", _planner(log)


def _planner(file: Path) -> Planner:
    (program,) = load_all(file)
    remember_source(str(file), program)
    return planner_of(program)


def figures(directory: Path) -> Iterator[Figure]:
    measured = {tuple(row["what"]): row["result"] for row in json.loads((directory / "measured.json").read_text("utf-8"))}
    for framework, name, mode, planner in planners(directory):
        names = {name.rpartition(".<locals>.")[2]: name for name in planner.checkpoints}
        suggested = [each.name for each in answer(planner, [], suggests=True).suggestions]
        before = _bytes(measured[framework, name, "", mode])
        for change in sorted({what[2] for what in measured if what[:2] == (framework, name) and what[3] == mode} & names.keys()):
            fell = before - _bytes(measured[framework, name, change, mode])
            estimate = planner.memory.live_peak - planner.what_if([Change(CHECKPOINT, names[change])]).memory.live_peak
            note = f"{before:,} bytes fell by {fell:,}, estimated {estimate:,}" + ("; suggested" if names[change] in suggested else "")
            error = round(100 * (estimate / fell - 1), 1)
            print(f"{framework:6} {name:12} {mode:9} {change:20} {error:+6.1f} %  {note}")
            title = "fall of the peak by a checkpoint on an H200, error of the estimate"
            yield Figure(title, abs(error), "%", f"{framework} {mode} {name}: {change}", planner.program.node_count, at_most=25, note=note)


def cpu_figures() -> Iterator[Figure]:
    for name in models.CPU:
        with tempfile.TemporaryDirectory() as place:
            before = models.compiled_for_cpu(name, "", place)
            (file,) = Path(place).glob("*jit_step*cpu_after_optimizations.txt")
            planner = _planner(file)
        names = {name.rpartition(".<locals>.")[2]: name for name in planner.checkpoints}
        for change in models.CPU_CHANGES:
            after = models.compiled_for_cpu(name, change)
            estimate = planner.memory.live_peak - planner.what_if([Change(CHECKPOINT, names[change])]).memory.live_peak
            ratio = (before - after) / estimate
            note = f"{before:,} bytes fell by {before - after:,}, estimated {estimate:,}: {ratio:.2f} times that"
            error = round(100 * (estimate / (before - after) - 1), 1)
            print(f"jax    {name:12} cpu       {change:20} {error:+6.1f} %  {note}", flush=True)
            title = "fall of the peak by a checkpoint on the CPU, error of the estimate"
            yield Figure(title, abs(error), "%", f"jax cpu {name}: {change}", planner.program.node_count, at_most=30, note=note)


def _bytes(measured: Any) -> int:
    """What XLA reserves, or PyTorch's allocator had in use at most."""
    return int(measured["reserved"] if isinstance(measured, dict) else measured)


def main() -> None:
    is_cpu = sys.argv[1] == "cpu"
    kept = list(cpu_figures() if is_cpu else figures(Path(sys.argv[1])))
    if "--keep" in sys.argv:
        keep("memory_advice_cpu" if is_cpu else "memory_advice", kept)


if __name__ == "__main__":
    main()
