"""Writes the samples step_*.hlo: a small training step with everything that leaves marks in op_name, in the three forms that JAX prints.

JAX_PLATFORMS=cpu python tests/samples/hlo/make_step.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

HERE = Path(__file__).resolve()


def block(x: Any, w: Any) -> Any:
    with jax.named_scope("outer"), jax.named_scope("inner"):
        return jnp.tanh(x @ w)


@jax.jit
def helper(x: Any) -> Any:
    with jax.named_scope("scaling"):
        return jnp.where(x > 0, x * 2, x)


@jax.checkpoint
def again(x: Any, w: Any) -> Any:
    with jax.named_scope("again"):
        return jnp.sin(x @ w)


def loss(params: Any, x: Any) -> Any:
    with jax.named_scope("encoder"):
        x = helper(x)
        x, _ = jax.lax.scan(lambda carry, w: (block(carry, w), None), x, params["layers"])
    with jax.named_scope("decoder"):
        x = again(x, params["out"])
        x = jax.lax.cond(x.sum() > 0, jnp.exp, lambda y: y * 3, x)
        x = jax.vmap(lambda row: jnp.sort(row))(x)
    return x.mean()


def step(params: Any, x: Any) -> Any:
    value, gradients = jax.value_and_grad(loss)(params, x)
    with jax.named_scope("sgd"):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


def main() -> None:
    params = {"layers": jnp.ones((3, 4, 4)), "out": jnp.ones((4, 4))}
    lowered = jax.jit(step).lower(params, jnp.ones((2, 4)))
    texts = {
        "step_lowered.hlo": lowered.as_text("hlo", debug_info=True),
        "step_short.hlo": lowered.as_text("hlo"),
        "step_compiled.hlo": lowered.compile().as_text(),
    }
    for name, text in texts.items():
        HERE.with_name(name).write_text(text.replace(str(HERE), HERE.name))


if __name__ == "__main__":
    main()
