"""Writes the example `demo:train_step`, which `opscope demo` opens: one training step of a small transformer, as JAX passes it to XLA.

    python examples/make_train_step.py

Needs jax and flax. The text is checked in, so viewing it needs neither.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from flax import linen as nn

VOCABULARY, WIDTH, HEADS, LAYERS = 256, 64, 4, 3


class Attention(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        batch, length, width = x.shape
        query, key, value = (
            nn.Dense(width, name=name)(x).reshape(batch, length, HEADS, width // HEADS) for name in ("query", "key", "value")
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / (width // HEADS) ** 0.5
        visible = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(visible, scores, -1e9))
        mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value).reshape(batch, length, width)
        return nn.Dense(width, name="out")(mixed)


class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        hidden = jax.nn.gelu(nn.Dense(4 * x.shape[-1], name="up")(x))
        return nn.Dense(x.shape[-1], name="down")(hidden)


class Block(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + Attention(name="attention")(nn.LayerNorm(name="norm_1")(x))
        return x + Mlp(name="mlp")(nn.LayerNorm(name="norm_2")(x))


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, tokens: jax.Array) -> jax.Array:
        x = nn.Embed(VOCABULARY, WIDTH, name="embed")(tokens)
        for i in range(LAYERS):
            x = Block(name=f"layer_{i}")(x)
        return nn.Dense(VOCABULARY, name="head")(nn.LayerNorm(name="norm")(x))


def train_step(params: Any, tokens: jax.Array) -> tuple[Any, jax.Array]:
    """The loss of predicting the next token, and parameters after one step of gradient descent."""

    def loss_of(params: Any) -> jax.Array:
        logits = Transformer().apply(params, tokens[:, :-1])
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)
        return -picked.mean()

    loss, gradients = jax.value_and_grad(loss_of)(params)
    with jax.named_scope("update"):
        params = jax.tree.map(lambda p, g: p - 1e-3 * g, params, gradients)
    return params, loss


def main() -> None:
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(?=examples/|site-packages/)")
    tokens = jax.ShapeDtypeStruct((2, 33), jnp.int32)
    params = jax.eval_shape(Transformer().init, jax.random.key(0), jax.ShapeDtypeStruct((2, 32), jnp.int32))
    lowered = jax.jit(train_step).lower(params, tokens)
    target = Path(__file__).resolve().parents[1] / "src/opscope/examples/train_step.hlo"
    target.write_text(lowered.as_text("hlo", debug_info=True))
    print(f"{target.name}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
