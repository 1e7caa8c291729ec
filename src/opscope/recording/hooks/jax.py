"""Records one JAX function while XLA compiles it, without environment variables and without leaving files on disk.

Compile options of this one call make XLA dump into a temporary directory, which is read like any other dump and removed. For GPUs, XLA
writes the seconds of its passes there. On a CPU the function is compiled again, without a dump, and they are in a profile of that: most
passes take less time than writing what they did.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from opscope.errors import OpscopeError
from opscope.quantities import short_seconds
from opscope.recording.beside_passes import beside_passes
from opscope.recording.dumps.xla import read_dump, timed_by_profile
from opscope.recording.dumps.xla_seconds import SECONDS_REMARK
from opscope.recording.hooks.remarks import Remarks
from opscope.temporary import temporary_directory

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

_SECOND_REMARK = "the seconds of passes are those of a second compilation, which wrote no dump; they include checking the program"
_AGAIN = {"xla_dump_hlo_as_text": False}
"""Changes nothing; without options, JAX returns what it compiled before."""


def record_jax(
    recorder: Recorder,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    *,
    every_pass: bool = False,
    module: str = "",
    compiler_options: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Compile `function` for `args` and record each pass, with `every_pass` also those that changed nothing.

    Other options are keyword arguments of the function. Returns the result of `lower(…).compile()`.
    """
    import jax

    jitted = function if hasattr(function, "lower") else jax.jit(function)
    lowered = jitted.lower(*args, **options)
    directory = temporary_directory("opscope-xla-")
    try:
        dump_options = {
            "xla_dump_to": str(directory),
            "xla_dump_hlo_pass_re": ".+" if every_pass else ".*",
            "xla_dump_hlo_as_text": True,
            "xla_dump_module_metadata": True,
        }
        started = time.perf_counter()
        compiled = lowered.compile({**(compiler_options or {}), **dump_options})
        total = time.perf_counter() - started
        if not any(directory.iterdir()):
            raise OpscopeError("XLA wrote no dump, because the function came from JAX's compilation cache; disable the cache for this call")
        profile: list[bytes] = []
        if jax.default_backend() == "cpu":
            with _profiled() as profile:
                started = time.perf_counter()
                compiled = lowered.compile({**(compiler_options or {}), **_AGAIN})
                total = time.perf_counter() - started
        with Remarks(recorder).safely("XLA's dump"):
            recorder.set(producer=f"XLA through JAX {jax.__version__}", ids="names")
            dump = read_dump(directory)
            with suppress(OpscopeError):  # a profile without passes: the seconds stay unknown
                dump = timed_by_profile(dump, b"".join(profile)) if profile else dump
            if any(snapshot.seconds is not None for snapshot in dump):
                recorder.remark(_SECOND_REMARK if profile else SECONDS_REMARK)
                recorder.remark(f"{_title(dump[0].module, module)}: compiling took {short_seconds(total)} in total, with generating code")
            else:
                recorder.remark("XLA did not say how long its passes took, or another profile was being taken")
            for snapshot in dump:
                title, seconds = _title(snapshot.module, module), snapshot.seconds
                recorder.snapshot(snapshot.program, snapshot.name, pipeline=snapshot.pipeline, module=title, seconds=seconds)
            for name, rows in beside_passes(dump).items():
                recorder.append(name, [{**each, "module": _title(each["module"], module)} for each in rows])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return compiled


@contextmanager
def _profiled() -> Iterator[list[bytes]]:
    """Profile the block, unless somebody else profiles: the list has the profile (.xplane.pb) at the end. For GPUs, XLA says the seconds
    itself, and a profiler would slow down its autotuning.
    """
    import jax

    profile: list[bytes] = []
    session = None
    with suppress(Exception):  # this version has another interface, or a profile is being taken
        from jax._src.lib import _profiler

        options = jax.profiler.ProfileOptions()
        options.python_tracer_level, options.host_tracer_level = 0, 1
        options.enable_hlo_proto = False
        options.raise_error_on_start_failure = True
        session = _profiler.ProfilerSession(options)
    try:
        yield profile
    finally:
        with suppress(Exception):  # only now does it say that another profile is being taken
            profile += [session.stop()] if session is not None else []


def _title(dumped: str, given: str) -> str:
    """The name of a module without XLA's number, or the one that was asked for."""
    return given or dumped.partition(".")[2]
