"""Tables of models: layers, shapes, parameters, multiply-adds and memory, as text, as CSV, and next to a picture of the same model.

python examples/pytorch_summary.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn

import opscope


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), 2, enable_nested_tensor=False)
    table = opscope.summary(model, input_size=(8, 32, 64), columns=("output", "params", "share", "mult_adds", "saved"))
    print(table)
    table.to_csv(directory / "summary.csv")

    with torch.device("meta"):  # nothing is allocated: a model of any size can be measured
        large = nn.Sequential(nn.Linear(16_384, 65_536), nn.GELU(), nn.Linear(65_536, 16_384))
    print(opscope.summary(large, input_size=(4, 16_384)))

    for suffix in ("html", "svg"):  # the page opens with the table, whose rows and the picture are linked
        opscope.save(table, directory / f"encoder.{suffix}")
    print(f"encoder: {table.program.node_count} nodes, written to {directory / 'encoder'}.{{html,svg}}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pytorch_summary"))
