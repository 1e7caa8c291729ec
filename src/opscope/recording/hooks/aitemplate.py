"""AITemplate's passes, recorded while it compiles.

Every stage of AITemplate hands its graph to one function, `graph_utils.dump_graph_debug_str_to_file`, whether dumping is switched
on or not. Recording is standing in for that function.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from opscope.errors import OpscopeError
from opscope.readers.aitemplate import OpNames, build, plain

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

_NUMBER = re.compile(r"^\d+-")


def watch_transforms(recorder: Recorder, module: str = "") -> None:
    """Record each transform from now on, until the recording ends."""
    try:
        from aitemplate.utils import graph_utils
    except ImportError:
        raise OpscopeError("AITemplate is not installed here; its debug dumps (LOGLEVEL=DEBUG) can be opened without it") from None
    original = graph_utils.dump_graph_debug_str_to_file
    names = OpNames()
    last = time.perf_counter()
    recorder.set(producer="AITemplate", ids="objects")

    def record(tensors: Any, workdir: Any, name: str, *args: Any, **options: Any) -> Any:
        nonlocal last
        seconds = time.perf_counter() - last
        given = tensors if isinstance(tensors, (list, tuple)) else [tensors]
        title = _NUMBER.sub("", name)
        recorder.snapshot(build(plain(given, names), module or "aitemplate"), title, module=module, seconds=seconds)
        made = original(tensors, workdir, name, *args, **options)
        last = time.perf_counter()
        return made

    graph_utils.dump_graph_debug_str_to_file = record
    recorder.on_close(lambda: setattr(graph_utils, "dump_graph_debug_str_to_file", original))
