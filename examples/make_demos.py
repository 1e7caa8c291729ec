"""Writes the examples `demo:passes` and `demo:detach` that come with the package; `make_train_step.py` writes `demo:train_step`.

    python examples/make_demos.py

Needs jax, flax and torch. The files are checked in, so viewing them needs none of these.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import torch
from make_train_step import Block
from pytorch_detach import SelfDistillation

import opscope
from opscope.render.wire.compare_passes import compared

TARGET = Path(__file__).resolve().parents[1] / "src" / "opscope" / "examples"


def block_step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
    """The loss of one transformer block, and its parameters after one step of gradient descent."""

    def loss_of(params: Any) -> jax.Array:
        return ((Block().apply(params, x) - y) ** 2).mean()

    loss, gradients = jax.value_and_grad(loss_of)(params)
    with jax.named_scope("update"):
        params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)
    return params, loss


def passes() -> None:
    """What XLA does to the step of one block. Comparing the passes stores the result in the file, which must be done elsewhere:
    nothing is ever written to a recording in the package."""
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(?=examples/|opscope/|site-packages/)")
    x = jnp.ones((2, 32, 64))
    params = Block().init(jax.random.key(0), x)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "passes.opscope")
        with opscope.record(path) as recorder:
            recorder.jax(block_step, params, x, x)
        for _ in compared(opscope.open_recording(path)):
            pass
        shutil.copyfile(path, TARGET / path.name)


def detach() -> None:
    """The autograd graph of a model, without paths of this machine."""
    torch.manual_seed(0)
    path = TARGET / "detach.json"
    opscope.save(opscope.capture(SelfDistillation(), torch.rand(5, 8), stage="autograd"), path)
    path.write_text(re.sub(r'"/[^"]*/(?=examples/|site-packages/)', '"', path.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    passes()
    detach()
