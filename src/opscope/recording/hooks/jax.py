"""Records one JAX function while XLA compiles it, without environment variables and without leaving files on disk.

Compile options of this one call make XLA dump into a temporary directory, which is read like any other dump and removed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opscope.errors import OpscopeError
from opscope.recording.beside_passes import beside_passes
from opscope.recording.dumps.xla import read_dump
from opscope.recording.hooks.remarks import Remarks
from opscope.temporary import temporary_directory

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder


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
        dump_options = {"xla_dump_to": str(directory), "xla_dump_hlo_pass_re": ".+" if every_pass else ".*", "xla_dump_hlo_as_text": True}
        compiled = lowered.compile({**(compiler_options or {}), **dump_options})
        if not any(directory.iterdir()):
            raise OpscopeError("XLA wrote no dump, because the function came from JAX's compilation cache; disable the cache for this call")
        with Remarks(recorder).safely("XLA's dump"):
            recorder.set(producer=f"XLA through JAX {jax.__version__}", ids="names")
            dump = read_dump(directory)
            for snapshot in dump:
                recorder.snapshot(snapshot.program, snapshot.name, pipeline=snapshot.pipeline, module=_title(snapshot.module, module))
            for name, rows in beside_passes(dump).items():
                recorder.append(name, [{**each, "module": _title(each["module"], module)} for each in rows])
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return compiled


def _title(dumped: str, given: str) -> str:
    """The name of a module without XLA's number, or the one that was asked for."""
    return given or dumped.partition(".")[2]
