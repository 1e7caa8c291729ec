"""What XLA does to a JAX function, pass by pass, without environment variables.

    python examples/passes_xla.py
    opscope passes xla.opscope
    opscope diff xla.opscope@0 xla.opscope@-1

A folder written with XLA_FLAGS=--xla_dump_to=FOLDER (add --xla_dump_hlo_pass_re=.*) opens the same way: opscope passes FOLDER.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

import opscope


def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
    with jax.named_scope("layer"):
        hidden = jnp.tanh(x @ weights)
    with jax.named_scope("softmax"):
        return -jax.nn.log_softmax(hidden)[:, 0].mean()


def main(path: str = "xla.opscope") -> None:
    weights, x = jnp.ones((16, 8)), jnp.ones((4, 16))
    with opscope.record(path, overwrite=True) as rec:
        step = rec.jax(jax.value_and_grad(loss), weights, x)
    print("loss", step(weights, x)[0])
    recording = opscope.open_recording(path)
    for snapshot in recording:
        found = recording.diff(snapshot.index)
        if found is None or not found.same:
            print(f"{snapshot.index:3} {snapshot.title:60} {snapshot.nodes:4} nodes {'' if found is None else found}")
            for fusion in found.fusions if found else ():
                print(f"      {fusion}")


if __name__ == "__main__":
    main()
