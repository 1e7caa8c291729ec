"""One JAX function, recorded while XLA compiles it: no environment variables, and nothing left on disk.

XLA writes its texts into a folder of our own, by compile options of this one call; the folder is read as any dump and removed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscope.errors import OpscopeError
from opscope.recording.dumps.xla import read_dump
from opscope.recording.hooks.remarks import Remarks

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
    """Compile `function` for `args` and record each pass. `every_pass` keeps also those that changed nothing.

    Other options are keyword arguments of the function. Returns what `lower(…).compile()` returns.
    """
    import jax

    jitted = function if hasattr(function, "lower") else jax.jit(function)
    lowered = jitted.lower(*args, **options)
    folder = Path(tempfile.mkdtemp(prefix="opscope_xla_"))
    try:
        wanted = {"xla_dump_to": str(folder), "xla_dump_hlo_pass_re": ".+" if every_pass else ".*", "xla_dump_hlo_as_text": True}
        compiled = lowered.compile({**(compiler_options or {}), **wanted})
        if not any(folder.iterdir()):
            raise OpscopeError("XLA wrote no dump: the function came from JAX's compilation cache; switch it off for this call")
        with Remarks(recorder).safely("XLA's dump"):
            recorder.set(producer=f"XLA through JAX {jax.__version__}", ids="names")
            for snapshot in read_dump(folder):
                title = module or snapshot.module.partition(".")[2]
                recorder.snapshot(snapshot.program, snapshot.name, pipeline=snapshot.pipeline, module=title)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return compiled
