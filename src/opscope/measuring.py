"""Runs a model or function and measures how long each of its nodes takes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from opscope.analysis.clusters import with_clusters
from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.readers.timed import Timed

_FRAMEWORKS: Mapping[str, str] = {"torch": "opscope.readers.torch.run_times", "jax": "opscope.readers.jax.run_times"}


def measure(obj: Any, *inputs: Any, stage: str = "forward", runs: int = 10, **kwargs: Any) -> Program:
    """A model or function as a Program, with the measured time of each node and its spread.

    A torch module (or exported program) runs node by node; `stage="joint"` measures forward and backward. A JAX function is compiled, and
    JAX's profiler says what its instructions take. Times are medians of `runs` runs, after two to warm up, and `program.attrs["notes"]`
    says how their sum compares with an undisturbed run. The model, its buffers and the random state are afterwards what they were.
    """
    return measured(obj, inputs, kwargs, stage, runs).program


def measured(obj: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any], stage: str = "forward", runs: int = 10) -> Timed:
    """Like `measure`, with where the time went."""
    if runs < 1:
        raise OpscopeError(f"runs must be at least 1, not {runs}")
    if stage not in ("forward", "joint"):
        raise OpscopeError(f"no stage {stage!r} to measure; choose forward or joint")
    if isinstance(obj, Program):
        raise OpscopeError("a Program cannot be run; pass the model and its inputs instead, and the stage beside them (--stage joint)")
    families = [cls.__module__.partition(".")[0] for cls in type(obj).__mro__]
    for name in sorted(_FRAMEWORKS, key=lambda name: name not in families):
        if name in sys.modules:
            timed: Timed | None = import_module(_FRAMEWORKS[name]).measure(obj, inputs, kwargs, stage, runs)
            if timed is not None:
                return Timed(with_clusters(timed.program), timed.times)
    raise OpscopeError(
        f"cannot run a {type(obj).__module__}.{type(obj).__qualname__}; pass a torch module or a JAX function with its inputs"
    )
