"""Writes layers.hlo.pb and layers.txt: the compiled module of a small loop with its gradient, as XLA dumps it, with its memory plan.

JAX_PLATFORMS=cpu python tests/samples/hlo_proto/make.py
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    with tempfile.TemporaryDirectory() as dump:
        os.environ["XLA_FLAGS"] = f"--xla_dump_to={dump} --xla_dump_hlo_as_proto --xla_dump_hlo_as_text"
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_hlo_source_file_canonicalization_regex", f"{HERE}/")

        def layers(weights: jax.Array, x: jax.Array) -> jax.Array:
            with jax.named_scope("layers"):
                x, _ = jax.lax.scan(lambda carry, weight: (jnp.tanh(carry @ weight), None), x, weights)
            return jnp.sort(x, axis=0)[::2].sum()

        jax.jit(jax.grad(layers)).lower(jnp.ones((3, 4, 4)), jnp.ones((5, 4))).compile()
        for suffix in (".hlo.pb", ".txt"):
            (file,) = Path(dump).glob(f"*jit_layers.cpu_after_optimizations{suffix}")
            shutil.copyfile(file, HERE / f"layers{suffix}")


if __name__ == "__main__":
    main()
