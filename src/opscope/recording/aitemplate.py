"""AITemplate's passes: recorded while it compiles, and its debug dump folders.

Every stage of AITemplate hands its graph to one function, `graph_utils.dump_graph_debug_str_to_file`, whether dumping is switched
on or not. Recording is standing in for that function.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.readers.aitemplate import OpNames, build, plain, read_model
from opscope.readers.source import Source
from opscope.recording.model import Recording
from opscope.recording.numbered import numbered_files, open_numbered, read_numbered

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

_FILE = re.compile(r"(\d+)-(\w+)_graph\.json")
_ATTRS = {"producer": "AITemplate", "ids": "names"}
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


def is_dump(folder: Path, names: Iterable[str]) -> bool:
    """Whether a folder has AITemplate's numbered debug dumps."""
    return any(_FILE.fullmatch(name) for name in names)


def read_dump(folder: Path, progress: Callable[[float], None] | None = None) -> Recording:
    """The numbered graphs of a folder in order."""
    files = numbered_files(folder, _FILE)
    others = {path.name for path in folder.iterdir() if path.name.endswith("_graph.json")} - {file.path.name for file in files}
    skipped = [f"{name}: without a number, so without a place in the order" for name in sorted(others)]
    return read_numbered(folder, files, _read_one, _ATTRS, progress, skipped=skipped)


def open_dump(folder: Path) -> Recording | None:
    return open_numbered(folder, numbered_files(folder, _FILE), _read_one, _ATTRS)


def _read_one(path: Path) -> Program:
    return build(read_model(Source(path)), "aitemplate")
