"""Ten models for `torch_memory.py`, and what a step of each needs, measured on a machine with CUDA:

    python torch_memory_models.py DIRECTORY

writes the bytes of eager and compiled steps (`measured.json`), and what torch.compile logged about each model (`NAME.log.gz`).
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.norm, self.qkv, self.out = heads, nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return x + self.out(((q @ k.mT / 8).softmax(-1) @ v).transpose(1, 2).reshape(x.shape))


class Mlp(nn.Module):
    def __init__(self, d, activation):
        super().__init__()
        self.up, self.activation, self.down = nn.Linear(d, 4 * d), activation, nn.Linear(4 * d, d)

    def forward(self, x):
        return x + self.down(self.activation(self.up(x)))


class Mean(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).square().mean()


def convolutions(*channels):
    for inner, outer in pairwise(channels):
        yield from (nn.Conv2d(inner, outer, 3, padding=1), nn.BatchNorm2d(outer), nn.ReLU())


MODELS = {
    "linear": (lambda: Mean(nn.Linear(1024, 2048)), (4096, 1024)),
    "mlp_relu": (lambda: Mean(*(Mlp(512, nn.ReLU()) for _ in range(4))), (2048, 512)),
    "mlp_gelu": (lambda: Mean(*(Mlp(512, nn.GELU()) for _ in range(4))), (2048, 512)),
    "mlp_tanh": (lambda: Mean(*(Mlp(512, nn.Tanh()) for _ in range(4))), (2048, 512)),
    "attention": (lambda: Mean(Attention(512, 8)), (16, 256, 512)),
    "transformer": (lambda: Mean(*(part for _ in range(4) for part in (Attention(512, 8), Mlp(512, nn.GELU())))), (16, 256, 512)),
    "conv": (lambda: Mean(*convolutions(3, 32, 64)), (32, 3, 64, 64)),
    "conv_deep": (lambda: Mean(*convolutions(16, 16, 16, 16, 16, 16)), (32, 16, 64, 64)),
    "norms": (lambda: Mean(*(part for _ in range(3) for part in (nn.LayerNorm(1024), nn.Sigmoid()))), (8192, 1024)),
    "deep_narrow": (lambda: Mean(*(part for _ in range(12) for part in (nn.Linear(256, 256), nn.SiLU()))), (8192, 256)),
}


LOGGED = ("aot_forward_graph", "aot_backward_graph", "inductor_output_code")
"""The records of a log that say what runs."""


def measure(make, shape, mode):
    """The most bytes that one step (forward and backward) adds to what was there before: parameters, the input, workspaces."""
    model, x = make().cuda(), torch.randn(shape, device="cuda")
    step = torch.compile(model) if mode == "compiled" else model
    for _ in range(2):
        step(x).backward()
        model.zero_grad()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step(x).backward()
    return torch.cuda.max_memory_allocated() - before


def logged(log):
    """The part of a log of torch.compile that says what runs."""
    lines, is_kept = [], False
    for line in log.read_text("utf-8").splitlines(keepends=True):
        if not line.startswith("\t"):
            is_kept = any(f'"{kind}"' in line for kind in LOGGED)
        if is_kept:
            lines.append(line)
    return "".join(lines)


def measure_all(directory):
    """Each step runs in a process of its own."""
    measured: dict[str, dict[str, int]] = {}
    for name in MODELS:
        for mode in ("eager", "compiled"):
            with tempfile.TemporaryDirectory() as trace:
                environment = {**os.environ, "TORCH_TRACE": trace, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}
                command = [sys.executable, __file__, str(directory), name, mode]
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                measured.setdefault(name, {})[mode] = json.loads(done.stdout)
                if mode == "compiled":
                    text = "".join(map(logged, sorted(Path(trace).glob("*.log"))))
                    (directory / f"{name}.log.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (directory / "measured.json").write_text(json.dumps(measured, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print(json.dumps(measure(*MODELS[sys.argv[2]], sys.argv[3])))
    else:
        measure_all(Path(sys.argv[1]))
