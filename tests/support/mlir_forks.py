"""Reads MLIR files, each in a fork of this process, which has imported JAX once: `python mlir_forks.py FILE…` writes FILE's answer next to
it, as `.answer`. A file on which the parser crashes gets none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jax.interpreters.mlir  # noqa: F401  (the reader imports it when it begins)

from opscope.child import answered
from opscope.readers.mlir import _answer

if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        child = os.fork()
        if child == 0:
            answer = answered(lambda: _answer(path.read_bytes()))  # noqa: B023  (called here)
            path.with_suffix(".answer").write_bytes(answer)
            os._exit(0)
        os.waitpid(child, 0)
