"""Runs a JAX function under JAX's own profiler, and takes the times of its instructions from there."""

from __future__ import annotations

import time
from dataclasses import replace
from statistics import median
from typing import Any

from opscope.errors import OpscopeError
from opscope.profile.peak import with_peak
from opscope.profile.runs import noted
from opscope.readers.jax.memory_plan import memory_plan_of
from opscope.readers.jax.run_memory import peak_of
from opscope.readers.source import Source
from opscope.readers.timed import Timed
from opscope.readers.xplane import timed_programs
from opscope.temporary import scratch_directory


def measure(obj: Any, args: tuple[Any, ...], kwargs: dict[str, Any], stage: str, runs: int) -> Timed | None:
    """The compiled module of a function with the times of its instructions; None for something that is not a function."""
    import jax

    if not callable(obj):
        return None
    if stage != "forward":
        raise OpscopeError("measures a JAX function as it is; pass jax.grad of it, or the training step, to measure the backward too")
    try:
        compiled = (obj if hasattr(obj, "lower") else jax.jit(obj)).lower(*args, **kwargs).compile()
        peak = peak_of(lambda: jax.block_until_ready(compiled(*args, **kwargs)), (args, kwargs))
        for _ in range(2):
            jax.block_until_ready(compiled(*args, **kwargs))
        seconds = []
        for _ in range(runs):
            started = time.perf_counter()
            jax.block_until_ready(compiled(*args, **kwargs))
            seconds.append(time.perf_counter() - started)
        with scratch_directory("opscope-profile-") as directory:
            with jax.profiler.trace(str(directory)):
                for _ in range(runs):
                    jax.block_until_ready(compiled(*args, **kwargs))
            modules = timed_programs(Source(directory))
    except OpscopeError:
        raise
    except Exception as error:
        raise OpscopeError(f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}") from error
    measured = [timed for timed in modules if timed.times is not None]
    if not measured:
        raise OpscopeError("ran, but JAX's profiler saw none of its instructions; run something that takes longer")
    program, times = measured[0]
    assert times is not None
    program = noted(program, median(seconds), times.device_seconds / max(times.steps, 1), runs)
    return Timed(replace(with_peak(program, peak), memory_plan=memory_plan_of(compiled)), times)
