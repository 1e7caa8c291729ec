"""Ten models for `torch_memory.py`. `python torch_memory_models.py` measures, on a machine with CUDA, what one step needs."""

from __future__ import annotations

import json
from itertools import pairwise

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


def measure(make, shape):
    """The most bytes that one step (forward and backward) adds to what was there before: parameters, the input, workspaces."""
    model, x = make().cuda(), torch.randn(shape, device="cuda")
    for _ in range(2):
        model(x).backward()
        model.zero_grad()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    model(x).backward()
    return torch.cuda.max_memory_allocated() - before


if __name__ == "__main__":
    print(json.dumps({name: measure(*each) for name, each in MODELS.items()}, indent=1))
