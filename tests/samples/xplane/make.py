"""Writes loop.xplane.pb: a profile of three runs of a small loop on a CPU.

JAX_PLATFORMS=cpu python tests/samples/xplane/make.py
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

HERE = Path(__file__).resolve().parent


def loop(x: jax.Array) -> jax.Array:
    with jax.named_scope("layers"):
        x, _ = jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ carry), None), x, length=3)
    return x.sum(axis=0)


def main() -> None:
    jax.config.update("jax_hlo_source_file_canonicalization_regex", f"{HERE}/")
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    compiled = jax.jit(loop)
    x = jnp.ones((64, 64))
    compiled(x).block_until_ready()
    with tempfile.TemporaryDirectory() as directory:
        with jax.profiler.trace(directory, profiler_options=options):
            for _ in range(3):
                compiled(x).block_until_ready()
        (trace,) = Path(directory).rglob("*.xplane.pb")
        shutil.copyfile(trace, HERE / "loop.xplane.pb")


if __name__ == "__main__":
    main()
