"""What torch.compile does to a training step: from Dynamo's graph through every pass of Inductor, without generating code.

python examples/passes_torch.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn

import opscope
from opscope.cli import main as opscope_command


class Block(nn.Module):
    """Attention written by hand: Inductor recognizes it and replaces it with one fused operation."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape

        def split(projected: torch.Tensor) -> torch.Tensor:
            return projected.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        weights = torch.matmul(query, key.transpose(-2, -1)).div((width // self.heads) ** 0.5).softmax(-1)
        mixed = torch.matmul(weights, value).transpose(1, 2).reshape(batch, length, width)
        return x + self.mlp(self.norm(x + mixed))


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    path = directory / "run.opscope"
    with opscope.record(path, overwrite=True) as rec:
        loss = rec.torch(Block(), torch.randn(2, 8, 32)).square().mean()
        loss.backward()

    opscope_command(["passes", str(path)])
    recording = opscope.open_recording(path)
    for snapshot in recording:
        for origin in snapshot.origins:
            if origin.where is not None and len(origin.old) > 8:
                print(f"{snapshot.title}: {origin.rule} turned {len(origin.old)} nodes into {len(origin.new)}")
                print(f"    defined in {Path(origin.where.file).name}:{origin.where.line}")
    opscope.save(recording, directory / "passes.html")
    print(f"open {directory / 'passes.html'}, or: opscope view {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/passes_torch"))
