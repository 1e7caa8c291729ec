"""A program with its measured times."""

from __future__ import annotations

from typing import NamedTuple

from opscope.profile.place import Times
from opscope.program import Program

PROFILES = (
    "a .xplane.pb file, the directory that jax.profiler.trace writes, a trace of PyTorch's profiler, the JSON that ONNX Runtime's "
    "end_profiling or TensorRT's trtexec --exportProfile writes, an ETDump of ExecuTorch, or a table of nodes and values with a unit as "
    ".csv (node,ms) or JSON"
)

CUT_ATTR = "opscope.cut"
"""Of a program from a file whose end is missing: what is to be said about it."""
LEAST_SHARE = 0.5
"""The share of what ran that a program must have to be the one that was profiled."""


class Timed(NamedTuple):
    """A program with its times as metrics, and where they come from; None if the profile says nothing about it."""

    program: Program
    times: Times | None
