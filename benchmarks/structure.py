"""How many nodes of repeated modules are in the right block if nothing but shape is known, and how long that takes.

    python benchmarks/structure.py [--keep] [NAME…]

The truth are the modules of the same program, whose names and metadata are removed before blocks are searched for. `--keep` appends the
shares to benchmarks/results/structure.jsonl.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from make_hlo import paths
from results import Figure, keep

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import itertools

from support.structure_truth import agreement, nameless

import opscope
from opscope.analysis.structure import add_structure
from opscope.program import Program


def _transformer() -> Program:
    return opscope.load(paths(24)[0])


def _compiled() -> Program:
    return opscope.load(paths(24)[1])


def _gpt2() -> Program:
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config(n_layer=12, n_embd=64, n_head=4, vocab_size=256, n_positions=64, use_cache=False)).eval()
    return opscope.capture(model, torch.zeros(1, 16, dtype=torch.long))


def _resnet50() -> Program:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    return opscope.capture(ResNetForImageClassification(ResNetConfig()).eval(), torch.zeros(1, 3, 64, 64))


def _vit() -> Program:
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(hidden_size=64, num_hidden_layers=12, num_attention_heads=4, intermediate_size=256, image_size=64)
    return opscope.capture(ViTForImageClassification(config).eval(), torch.zeros(1, 3, 64, 64))


def _unet() -> Program:
    import torch
    from torch import nn

    class Residual(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(8, width), nn.Conv2d(width, width, 3, padding=1)
            self.norm2, self.conv2 = nn.GroupNorm(8, width), nn.Conv2d(width, width, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            inner = self.conv1(nn.functional.silu(self.norm1(x)))
            return x + self.conv2(nn.functional.silu(self.norm2(inner)))

    class UNet(nn.Module):
        def __init__(self, widths: tuple[int, ...] = (32, 64, 128), repeats: int = 3) -> None:
            super().__init__()
            self.stem = nn.Conv2d(3, widths[0], 3, padding=1)
            self.down = nn.ModuleList(nn.Sequential(*(Residual(width) for _ in range(repeats))) for width in widths)
            self.shrink = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in itertools.pairwise(widths))
            self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in itertools.pairwise(widths))
            self.join = nn.ModuleList(nn.Conv2d(2 * width, width, 1) for width in widths[:-1])
            self.up = nn.ModuleList(nn.Sequential(*(Residual(width) for _ in range(repeats))) for width in widths[:-1])
            self.head = nn.Conv2d(widths[0], 3, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.stem(x)
            kept = []
            for level, blocks in enumerate(self.down):
                x = blocks(x)
                if level < len(self.shrink):
                    kept.append(x)
                    x = self.shrink[level](x)
            for level in reversed(range(len(self.up))):
                x = self.join[level](torch.cat([self.grow[level](x), kept[level]], 1))
                x = self.up[level](x)
            return self.head(x)

    return opscope.capture(UNet().eval(), torch.zeros(1, 3, 64, 64))


def _adam() -> Program:
    """A train step of JAX: an mlp of 8 equal layers, and one Adam update for each of its parameters."""
    import jax
    import jax.numpy as jnp
    import optax

    optimizer = optax.adam(1e-3)
    weights = [{"w": jnp.zeros((64, 64)), "b": jnp.zeros(64)} for _ in range(8)]

    def loss(weights: list[dict[str, jax.Array]], x: jax.Array, y: jax.Array) -> jax.Array:
        for i, layer in enumerate(weights):
            with jax.named_scope(f"layer_{i}"):
                x = jax.nn.relu(x @ layer["w"] + layer["b"])
        return jnp.mean((x - y) ** 2)

    def step(weights: object, state: object, x: jax.Array, y: jax.Array) -> object:
        value, gradients = jax.value_and_grad(loss)(weights, x, y)
        updates, state = optimizer.update(gradients, state)
        return value, optax.apply_updates(weights, updates), state

    x = jnp.zeros((4, 64))
    return opscope.capture(step, weights, optimizer.init(weights), x, x)


FUSED = "the same, compiled"
"""Its layers are not equal any more, so nobody asks for a share; but no node may be in a wrong layer."""
PROGRAMS: dict[str, Callable[[], Program]] = {
    "transformer, 24 layers, train step": _transformer,
    FUSED: _compiled,
    "GPT-2": _gpt2,
    "ResNet-50": _resnet50,
    "ViT": _vit,
    "U-Net": _unet,
    "mlp, 8 layers, Adam step": _adam,
}


def main(words: list[str]) -> None:
    names = [word for word in words if word != "--keep"]
    figures = []
    counted = f"{'in modules':>10} {'right':>7} {'either':>7} {'missing':>7} {'wrong':>6}"
    print(f"{'program':36} {'entry':>7} {counted} {'share':>8} {'s':>6}  blocks")
    for name, load in PROGRAMS.items():
        if names and name not in names:
            continue
        program = load()
        truth = agreement(program, alike=name != FUSED)
        plain = nameless(program)
        start = time.process_time()
        add_structure(plain)
        seconds = time.process_time() - start
        counts = f"{truth.nodes:10,} {truth.right:7,} {truth.either_side:7,} {truth.missing:7,} {truth.wrong:6,}"
        print(f"{name:36} {len(program.main):7,} {counts} {100 * truth.share:6.1f} % {seconds:6.2f}  {truth.blocks}")
        figures.append(
            Figure(
                "nodes of repeated modules in the right block, without names",
                100 * truth.share,
                "%",
                name,
                truth.nodes,
                at_least=None if name == FUSED else 98,
            )
        )
        figures.append(Figure("nodes of repeated modules in a wrong layer", truth.wrong, "", name, truth.nodes, at_most=0))
        figures.append(Figure("time to find the blocks", seconds, "s", name, program.node_count))
    if "--keep" in words:
        keep("structure", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
