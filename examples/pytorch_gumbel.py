"""Sampling: a categorical sample has no gradient, but a hard Gumbel-softmax has one. The two graphs show why.

python examples/pytorch_gumbel.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

import opscope


class Policy(nn.Module):
    def __init__(self, hard_gumbel: bool) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3, bias=False)
        self.hard_gumbel = hard_gumbel

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        logits = self.layer(states)
        if self.hard_gumbel:
            return F.gumbel_softmax(logits, tau=0.5, hard=True)
        return torch.distributions.Categorical(logits=logits).sample()


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, hard in (("categorical", False), ("gumbel", True)):
        program = opscope.capture(Policy(hard), torch.rand(100, 4), stage="autograd", show_saved=True)
        for suffix in ("html", "svg"):
            opscope.save(program, directory / f"{name}.{suffix}")
        print(f"{name}: {program.node_count} nodes, written to {directory / name}.{{html,svg}}")
        for note in program.attrs.get("notes", []):
            print(f"  {note}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/pytorch_gumbel"))
