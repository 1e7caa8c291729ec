"""Makes the snapshots in this directory on a machine with CUDA: `python make.py DIRECTORY`.

Each case runs in a process of its own: two steps of training, recorded from the start ("early") or only the second one ("late").
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 4, -1).permute(2, 0, 3, 1, 4)
        x = x + self.out(((q @ k.mT / 8).softmax(-1) @ v).transpose(1, 2).reshape(x.shape))
        return x + self.down(torch.relu(self.up(x)))


CASES = {
    "mlp": (lambda: nn.Sequential(nn.Linear(700, 1500), nn.ReLU(), nn.Linear(1500, 300)), (333, 700)),
    "transformer": (lambda: nn.Sequential(Block(192), Block(192)), (8, 100, 192)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(3, 30, 3), nn.BatchNorm2d(30), nn.ReLU(), nn.Conv2d(30, 50, 3)), (16, 3, 50, 50)),
}


def record():
    torch.cuda.memory._record_memory_history(stacks="python")


def measure(case, when, directory):
    if when == "early":
        record()
    make, shape = CASES[case]
    model, x = make().cuda(), torch.randn(shape, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(2):
        if step and when == "late":
            torch.cuda.reset_peak_memory_stats()
            record()
        model(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    file = directory / f"{case}_{when}.pickle"
    torch.cuda.memory._dump_snapshot(str(file))
    Path(f"{file}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    file.unlink()
    return {"max_memory_allocated": torch.cuda.max_memory_allocated(), "torch": torch.__version__}


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    if len(sys.argv) > 2:
        print(json.dumps(measure(sys.argv[2], sys.argv[3], directory)))
    else:
        truth = {}
        for case in CASES:
            for when in ("early", "late"):
                done = subprocess.run([sys.executable, __file__, str(directory), case, when], capture_output=True, text=True, check=True)
                truth[f"{case}_{when}"] = json.loads(done.stdout)
        (directory / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
