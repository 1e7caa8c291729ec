"""Where a gradient stops: detach, no_grad and an integer result, each marked in the graph with the reason and the line.

python examples/pytorch_detach.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn

import opscope


class SelfDistillation(nn.Module):
    """The target is the network's own output, without a gradient; the prediction is only for display."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
        self.student = nn.Linear(16, 4)
        self.teacher = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden = self.encoder(x)
        scores = self.student(hidden)
        with torch.no_grad():
            target = self.teacher(hidden).softmax(-1)
        confidence = scores.detach().abs().mean()
        loss = -(target * scores.log_softmax(-1)).sum(-1).mean() * confidence
        return {"loss": loss, "prediction": scores.argmax(-1)}


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    program = opscope.capture(SelfDistillation(), torch.rand(5, 8), stage="autograd")
    for suffix in ("html", "svg"):
        opscope.save(program, directory / f"detach.{suffix}")
    print(f"detach: {program.node_count} nodes, written to {directory / 'detach'}.{{html,svg}}")
    for node in program.main:
        if node.op.startswith("cut: "):
            print(f"  {node.source[0]}: {node.attrs['cut']}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pytorch_detach"))
