"""Programs that `original_values.py` compiles: the transformer of `make_hlo.py`, a network with convolutions and a loop, a recurrent one
with sorting, random numbers and a conditional, and a mixer with transposes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from make_hlo import BATCH, SEQUENCE, parameters, train_step


def network(weights: Any, x: Any) -> Any:
    for i, kernel in enumerate(weights["kernels"]):
        with jax.named_scope(f"block_{i}"):
            x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu((x - x.mean((0, 1, 2))) * jax.lax.rsqrt(x.var((0, 1, 2)) + 1e-5))
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def step(carry: Any, _: Any) -> Any:
        carry = jnp.tanh(carry @ weights["recurrent"])
        return carry, carry.sum()

    carry, sums = jax.lax.scan(step, x.mean((1, 2)), None, length=4)
    return -jax.nn.log_softmax(carry).sum() + sums.sum()


def recurrent(weights: Any, x: Any) -> Any:
    def step(carry: Any, each: Any) -> Any:
        hidden, state = carry
        gates = jnp.split(each @ weights["input"] + hidden @ weights["hidden"] + weights["bias"], 4, -1)
        state = jax.nn.sigmoid(gates[1]) * state + jax.nn.sigmoid(gates[0]) * jnp.tanh(gates[2])
        hidden = jax.nn.sigmoid(gates[3]) * jnp.tanh(state)
        return (hidden, state), hidden

    with jax.named_scope("lstm"):
        start = jnp.zeros((4, 16)), jnp.zeros((4, 16))
        (hidden, state), all_hidden = jax.lax.scan(step, start, x)
    with jax.named_scope("top"):
        largest, _ = jax.lax.top_k(all_hidden.sum(0), 3)
        kept = jnp.where(jax.random.bernoulli(jax.random.PRNGKey(0), 0.5, hidden.shape), hidden, 0)
        branch = jax.lax.cond(hidden.sum() > 0, jnp.sin, jnp.cos, state)
        return largest.sum() + kept.sum() + jnp.sort(all_hidden, axis=0)[0].sum() + jnp.linalg.norm(all_hidden) + branch.sum()


def mixer(weights: Any, x: Any) -> Any:
    for i, layer in enumerate(weights):
        with jax.named_scope(f"mix_{i}"):
            mean = x.mean(-1, keepdims=True)
            variance = ((x - mean) ** 2).mean(-1, keepdims=True)
            y = (x - mean) / jnp.sqrt(variance + 1e-5) * layer["scale"] + layer["bias"]
            y = jax.nn.gelu(jnp.swapaxes(y, 1, 2) @ layer["tokens_in"]) @ layer["tokens_out"]
            x = x + jnp.swapaxes(y, 1, 2)
            x = x + jax.nn.silu(x @ layer["channels_in"]) @ layer["channels_out"]
    return jax.nn.log_softmax(x.mean(1)).sum()


def programs() -> Iterator[tuple[str, Any]]:
    """Names and lowered functions. The weights do not matter, because nothing is run."""
    params = parameters(2)
    state = {"step": jnp.zeros(()), "first": params, "second": params}
    yield "transformer2", jax.jit(train_step).lower(params, state, jnp.zeros((BATCH, SEQUENCE + 1), jnp.int32))

    weights = {"kernels": [jnp.ones((3, 3, 8, 16)), jnp.ones((3, 3, 16, 32))], "recurrent": jnp.ones((32, 32))}
    yield "convolutions", jax.jit(jax.grad(network)).lower(weights, jnp.ones((4, 32, 32, 8)))
    weights = {"input": jnp.ones((8, 64)), "hidden": jnp.ones((16, 64)), "bias": jnp.ones(64)}
    yield "recurrent", jax.jit(jax.value_and_grad(recurrent)).lower(weights, jnp.ones((7, 4, 8)))
    shapes = {"scale": 32, "bias": 32, "tokens_in": (16, 24), "tokens_out": (24, 16), "channels_in": (32, 64), "channels_out": (64, 32)}
    layers = [{name: jnp.ones(shape) for name, shape in shapes.items()} for _ in range(3)]
    yield "mixer", jax.jit(jax.value_and_grad(mixer)).lower(layers, jnp.ones((4, 16, 32)))
