"""A small transformer in JAX with one layer that can vary: real compilations with a known difference."""

from __future__ import annotations

from typing import Any, NamedTuple

WIDTH, HEADS, SEQUENCE, VOCABULARY, LAYERS = 32, 4, 16, 64, 4
CHANGED = 1
"""The layer that differs from the others."""


class Texts(NamedTuple):
    lowered: str
    optimized: str


def lower(variant: str = "", batch: int = 2) -> Any:
    """The forward pass, lowered. `variant` changes one layer: "rms_norm" for its layer norm, "silu" for its gelu, "gelu" adds one."""
    import jax
    import jax.numpy as jnp

    return jax.jit(_loss(variant, batch)).lower(_parameters(), jnp.zeros((batch, SEQUENCE + 1), jnp.int32))


def texts(variant: str = "") -> Texts:
    lowered = lower(variant)
    return Texts(lowered.as_text("hlo", debug_info=True), lowered.compile().as_text())


def _parameters() -> dict[str, Any]:
    import jax.numpy as jnp

    def norm() -> dict[str, Any]:
        return {"scale": jnp.ones(WIDTH), "bias": jnp.zeros(WIDTH)}

    def layer() -> dict[str, Any]:
        attention = {name: jnp.zeros((WIDTH, WIDTH)) for name in ("q", "k", "v", "o")}
        mlp = {"up": jnp.zeros((WIDTH, 4 * WIDTH)), "down": jnp.zeros((4 * WIDTH, WIDTH))}
        return {"ln1": norm(), "ln2": norm(), "attention": attention, "mlp": mlp}

    embedding, head = jnp.zeros((VOCABULARY, WIDTH)), jnp.zeros((WIDTH, VOCABULARY))
    return {"embedding": embedding, "layers": [layer() for _ in range(LAYERS)], "norm": norm(), "head": head}


def _loss(variant: str, batch: int) -> Any:
    import jax
    import jax.numpy as jnp

    def layer_norm(x: Any, p: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        spread = jnp.square(x - mean).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(spread + 1e-5) * p["scale"] + p["bias"]

    def rms_norm(x: Any, p: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * p["scale"]

    def attention(x: Any, p: Any) -> Any:
        query, key, value = ((x @ p[name]).reshape(batch, SEQUENCE, HEADS, WIDTH // HEADS) for name in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(WIDTH // HEADS)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
        return mixed.reshape(batch, SEQUENCE, WIDTH) @ p["o"]

    def loss(params: Any, tokens: Any) -> Any:
        x = params["embedding"][tokens[:, :-1]]
        for i, p in enumerate(params["layers"]):
            variation = variant if i == CHANGED else ""
            norm = rms_norm if variation == "rms_norm" else layer_norm
            activation = jax.nn.silu if variation == "silu" else jax.nn.gelu
            with jax.named_scope(f"layer_{i}"):
                with jax.named_scope("attention"):
                    x = x + attention(norm(x, p["ln1"]), p["attention"])
                with jax.named_scope("mlp"):
                    hidden = activation(norm(x, p["ln2"]) @ p["mlp"]["up"]) @ p["mlp"]["down"]
                    x = x + (jax.nn.gelu(hidden) if variation == "gelu" else hidden)
        logits = jax.nn.log_softmax(layer_norm(x, params["norm"]) @ params["head"])
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

    return loss
