"""The peak of a step of training: computed from the joint graph, against what the CUDA allocator measured in eager mode.

    python benchmarks/torch_memory.py [--keep]

The measured bytes were taken on an H200 with torch 2.11 (`python torch_memory_models.py` there). They do not include what was
there before the step, but may include workspaces of libraries, which no graph shows.
"""

from __future__ import annotations

import sys

import torch
from results import Figure, keep
from torch_memory_models import MODELS

import opscope
from opscope.memory.schedule import computed_memory

MEASURED = {
    "linear": 167_773_184,
    "mlp_relu": 130_035_200,
    "mlp_gelu": 180_366_848,
    "mlp_tanh": 130_035_200,
    "attention": 168_856_576,
    "transformer": 692_194_816,
    "conv": 234_884_096,
    "conv_deep": 117_446_656,
    "norms": 235_078_656,
    "deep_narrow": 234_882_048,
}
MOST = 10.0
"""Percent."""


def main(words: list[str]) -> None:
    figures = []
    print(f"{'model':14} {'measured':>14} {'computed':>14} {'error':>9}")
    for name, (make, shape) in MODELS.items():
        model, x = make(), torch.zeros(shape)
        program = opscope.capture(model, x, stage="joint")
        there = sum(tensor.numel() * tensor.element_size() for tensor in (*model.parameters(), *model.buffers(), x))
        measured, computed = there + MEASURED[name], computed_memory(program).peak_bytes
        error = 100 * (computed / measured - 1)
        print(f"{name:14} {measured:14,} {computed:14,} {error:+8.2f} %")
        figures.append(
            Figure("peak of an eager step computed from the joint graph, error", abs(error), "%", name, program.node_count, at_most=MOST)
        )
    if "--keep" in words:
        keep("torch_memory", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
