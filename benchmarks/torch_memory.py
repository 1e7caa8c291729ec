"""The peak of a training step: computed from the joint graph or from generated code, and as the CUDA allocator measured it.

    python benchmarks/torch_memory.py [--keep]

The bytes were measured on an H200 with torch 2.11 (`python torch_memory_models.py DIRECTORY` there), which also kept what torch.compile
logged. They do not include what was there before the step, but may include workspaces of libraries, which no graph shows.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path

import torch
from results import Figure, keep
from torch_memory_models import MODELS

import opscope
from opscope.loading import load_all
from opscope.memory.schedule import computed_memory
from opscope.program import Program

STEPS = Path(__file__).parent.parent / "tests" / "memory" / "compiled_steps"
MEASURED = json.loads((STEPS / "measured.json").read_text("utf-8"))
MOST = 10.0
"""Percent."""


def main(words: list[str]) -> None:
    figures = []
    print(f"{'model':14} {'step':9} {'measured':>14} {'computed':>14} {'error':>9}")
    for name, (make, shape) in MODELS.items():
        model, x = make(), torch.zeros(shape)
        there = sum(tensor.numel() * tensor.element_size() for tensor in (*model.parameters(), *model.buffers(), x))
        programs = {"eager": opscope.capture(model, x, stage="joint"), "compiled": compiled_step(name)}
        for mode, program in programs.items():
            measured, computed = there + MEASURED[name][mode], computed_memory(program).peak_bytes
            error = 100 * (computed / measured - 1)
            print(f"{name:14} {mode:9} {measured:14,} {computed:14,} {error:+8.2f} %")
            figures.append(Figure(_SOURCES[mode], abs(error), "%", name, program.node_count, at_most=MOST))
    if "--keep" in words:
        keep("torch_memory", figures)


_SOURCES = {
    "eager": "peak of an eager step computed from the joint graph, error",
    "compiled": "peak of a compiled step computed from the generated code, error",
}


def compiled_step(name: str) -> Program:
    """What torch.compile made of a model on the H200."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / f"{name}.log"
        log.write_bytes(gzip.decompress((STEPS / f"{name}.log.gz").read_bytes()))
        (program,) = load_all(log)
        return program


if __name__ == "__main__":
    main(sys.argv[1:])
