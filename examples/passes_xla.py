"""What XLA does to a JAX function, pass by pass, without environment variables.

    python examples/passes_xla.py
    opscope passes xla.opscope
    opscope diff xla.opscope@0 xla.opscope@-1

To open a directory written with XLA_FLAGS=--xla_dump_to=DIRECTORY (add --xla_dump_hlo_pass_re=.*): opscope passes DIRECTORY.
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
        diff = recording.diff(snapshot.index)
        if diff is None or not diff.same:
            print(f"{snapshot.index:3} {snapshot.title:60} {snapshot.nodes:4} nodes {'' if diff is None else diff}")
            for fusion in diff.fusions if diff else ():
                print(f"      {fusion}")


if __name__ == "__main__":
    main()
