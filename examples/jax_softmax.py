"""The classic example: add, softmax and a mean loss, forward and with gradients, as HLO text, a page, an SVG and a PNG.

python examples/jax_softmax.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp

import opscope


def loss(x, bias):
    with jax.named_scope("add"):
        logits = x + bias
    with jax.named_scope("softmax"):
        probabilities = jax.nn.softmax(logits)
    with jax.named_scope("loss"):
        return jnp.mean(probabilities**2)


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    x, bias = jnp.ones((8, 16)), jnp.ones((16,))
    for name, function in {"softmax_fwd": loss, "softmax_train": jax.value_and_grad(loss, argnums=(0, 1))}.items():
        lowered = jax.jit(function).lower(x, bias)
        (directory / f"{name}.hlo.txt").write_text(lowered.as_text("hlo", debug_info=True))
        program = opscope.capture(lowered)
        opscope.save(program, directory / f"{name}.html")
        opscope.save(program, directory / f"{name}.svg")
        opscope.save(program, directory / f"{name}.png", scale=2.0)
        print(f"{name}: {program.node_count} nodes, written to {directory / name}.{{hlo.txt,html,svg,png}}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/jax_softmax"))
