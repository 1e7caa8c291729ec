"""Training steps of a model whose layers are unrolled, scanned, or computed again for backward."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

LAYERS, WIDTH = 3, 8


def norm(x: Any, scale: Any) -> Any:
    with jax.named_scope("norm"):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale


def mlp(x: Any, w: Any) -> Any:
    with jax.named_scope("mlp"):
        return jnp.tanh(x @ w["up"]) @ w["down"]


def layer(x: Any, w: Any) -> Any:
    return x + mlp(norm(x, w["scale"]), w)


def scoped_layer(x: Any, w: Any) -> Any:
    """A layer in a scope of its own, as Flax makes them, that calls a function."""
    with jax.named_scope("block"):
        return jax.checkpoint(lambda x, w: jnp.where(x > 0, layer(x, w), 0.1 * x))(x, w)


@jax.custom_vjp
def clipped(x: Any) -> Any:
    return jnp.clip(x, -1, 1) * 2


def _clipped_forward(x: Any) -> tuple[Any, Any]:
    return clipped(x), x


def _clipped_backward(x: Any, gradient: Any) -> tuple[Any]:
    return (jnp.where(jnp.abs(x) < 1, gradient * 2, gradient * 0.1),)


clipped.defvjp(_clipped_forward, _clipped_backward)


def clipped_layer(x: Any, w: Any) -> Any:
    return clipped(layer(x, w))


def unrolled(apply: Callable[[Any, Any], Any], w: Any, x: Any) -> Any:
    for each in w:
        x = apply(x, each)
    return (x**2).mean()


def scanned(apply: Callable[[Any, Any], Any], w: Any, x: Any) -> Any:
    x, _ = jax.lax.scan(lambda carry, each: (apply(carry, each), None), x, w)
    return (x**2).mean()


LOSSES: dict[str, Callable[[Any, Any], Any]] = {
    "unrolled": partial(unrolled, layer),
    "scan": partial(scanned, layer),
    "remat": partial(unrolled, jax.checkpoint(layer)),
    "scan and remat": partial(scanned, jax.checkpoint(layer)),
    "scan and remat without products": partial(scanned, jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)),
    "scan and remat in a scope": partial(scanned, scoped_layer),
    "custom_vjp": partial(unrolled, clipped_layer),
}
X = jnp.ones((2, WIDTH))


def weights(name: str) -> Any:
    """Those of all layers: stacked for a scan, otherwise a list."""
    stack = {
        "up": jnp.ones((LAYERS, WIDTH, 4 * WIDTH)),
        "down": jnp.ones((LAYERS, 4 * WIDTH, WIDTH)),
        "scale": jnp.ones((LAYERS, WIDTH)),
    }
    return stack if "scan" in name else [{key: values[number] for key, values in stack.items()} for number in range(LAYERS)]


def step(name: str) -> Callable[[Any, Any], Any]:
    """The loss, and the weights after one step of gradient descent."""

    def train(w: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(LOSSES[name])(w, x)
        return value, jax.tree.map(lambda a, b: a - 0.1 * b, w, gradients)

    return train
