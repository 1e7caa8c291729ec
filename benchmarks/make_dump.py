"""Writes the per-pass dumps that the recording benchmarks read: the transformer of `make_hlo.py`, compiled with `xla_dump_to`.

    python benchmarks/make_dump.py               4 layers: 57 changed steps, 39 MB of text; seconds
    python benchmarks/make_dump.py --layers 24   383 MB of text; a few minutes

Only the texts of the passes are kept, in `.bench/transformer<N>_passes`. An existing dump is reused.
"""

from __future__ import annotations

import argparse
import os
import shutil
from pathlib import Path

from make_hlo import BATCH, BENCH, SEQUENCE, parameters, train_step


def dump(layers: int) -> Path:
    """The directory of one dump, which is written completely or not at all."""
    directory = BENCH / f"transformer{layers}_passes"
    if directory.exists():
        return directory
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax
    import jax.numpy as jnp

    params = parameters(layers)
    state = {"step": jnp.zeros(()), "first": params, "second": params}
    tokens = jnp.zeros((BATCH, SEQUENCE + 1), jnp.int32)
    part = directory.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    lowered = jax.jit(train_step, donate_argnums=(0, 1)).lower(params, state, tokens)
    lowered.compile({"xla_dump_to": str(part), "xla_dump_hlo_pass_re": ".*"})
    for path in part.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix != ".txt":
            path.unlink()
    part.rename(directory)
    return directory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4, help="transformer layers (default 4)")
    print(dump(parser.parse_args().layers))


if __name__ == "__main__":
    main()
