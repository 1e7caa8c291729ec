"""Runs a script with a checkout of AITemplate, on a machine without a GPU.

AIT_BUILD_DOCS=1 PYTHONPATH=AITemplate/python python aitemplate_checkout.py SCRIPT
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

import aitemplate.testing
from aitemplate.backend.cuda.target_def import CUDA
from aitemplate.backend.target import Target


class NoGpu(CUDA):
    """The CUDA target, without the parts that only code generation needs."""

    def __enter__(self) -> None:
        Target.__enter__(self)
        self.lib_folder = None
        self._operators: dict[str, Any] = {}


if __name__ == "__main__":
    aitemplate.testing.detect_target = lambda: NoGpu(arch="80")
    runpy.run_path(sys.argv[1], run_name="__main__")
