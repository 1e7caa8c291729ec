"""AITemplate's passes, recorded while it compiles.

Every stage of AITemplate passes its graph to one function, `graph_utils.dump_graph_debug_str_to_file`, whether dumping is on or off.
The recorder replaces that function.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from opscope.errors import OpscopeError
from opscope.readers.aitemplate import OpNames, build, plain
from opscope.recording.hooks.remarks import Remarks

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

_NUMBER = re.compile(r"^\d+-")


def watch_transforms(recorder: Recorder, module: str = "") -> None:
    """Record every transform until the recording ends."""
    try:
        from aitemplate.utils import graph_utils
    except ImportError:
        raise OpscopeError("AITemplate is not installed; its debug dumps (LOGLEVEL=DEBUG) can be opened without it") from None
    original = graph_utils.dump_graph_debug_str_to_file
    names = OpNames()
    remarks = Remarks(recorder)
    last = time.perf_counter()
    recorder.set(producer="AITemplate", ids="objects")

    def record(tensors: Any, workdir: Any, name: str, *args: Any, **options: Any) -> Any:
        nonlocal last
        seconds = time.perf_counter() - last
        with remarks.safely(f"pass {name}"):
            outputs = tensors if isinstance(tensors, (list, tuple)) else [tensors]
            program = build(plain(outputs, names), module or "aitemplate")
            recorder.snapshot(program, _NUMBER.sub("", name), module=module, seconds=seconds)
        result = original(tensors, workdir, name, *args, **options)
        last = time.perf_counter()
        return result

    graph_utils.dump_graph_debug_str_to_file = record
    recorder.on_close(lambda: setattr(graph_utils, "dump_graph_debug_str_to_file", original))
