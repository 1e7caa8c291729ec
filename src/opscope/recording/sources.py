"""From what a person names to a recording: a recording file, or a folder that a compiler wrote; with @ to one snapshot of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from opscope.errors import SourceError
from opscope.plugin import Plugin, Progress
from opscope.recording.dumps.torch_trace import LOG_HEAD, is_log, read_dump
from opscope.recording.model import Recording
from opscope.recording.store.database import is_recording
from opscope.recording.store.store import open_store

DUMPS = (
    Plugin("xla", "opscope.recording.dumps.xla", "dumps of XLA (xla_dump_to)"),
    Plugin("hidet", "opscope.recording.dumps.hidet", "dumps of hidet (save_graph_instrument)"),
    Plugin("aitemplate", "opscope.recording.dumps.aitemplate", "dumps of AITemplate (DEBUG)"),
    Plugin("torch", "opscope.recording.dumps.torch_trace", "logs of torch.compile (TORCH_TRACE)", (".log",)),
)
"""What compilers write into folders. A module has `is_dump(folder, names)` and `read_dump(folder, progress)`."""


def is_recording_source(path: Path) -> bool:
    """Whether a file or folder is a recording: said by its content, never by its name alone."""
    if path.is_dir():
        return _folder_reader(path) is not None
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.read(LOG_HEAD)
    return is_recording(head[:100]) or path.suffix == ".opscope" or is_log(head)


def open_recording(source: str | Path, progress: Progress | None = None) -> Recording:
    """The recording that a file or folder holds."""
    path = Path(source)
    if path.is_dir():
        reader = _folder_reader(path)
        if reader is None:
            known = ", ".join(row.what for row in DUMPS)
            raise SourceError(f"holds no passes; known are {known}", str(source))
        return reader(path, progress)
    if path.is_file():
        with path.open("rb") as stream:
            if is_log(stream.read(LOG_HEAD)):
                return read_dump(path, progress)
    return open_store(path)


def split_at(source: str) -> tuple[str, str]:
    """`run.opscope@12` as ("run.opscope", "12"). A file whose own name has an @ is taken as it is."""
    base, at, which = source.rpartition("@")
    return (base, which) if at and which and not Path(source).exists() and Path(base).exists() else (source, "")


def open_passes(source: str | Path, progress: Progress | None = None) -> Recording:
    """A recording of which only some programs are wanted: where the source allows it, only those are read."""
    from opscope.recording.dumps import aitemplate, hidet, xla

    path = Path(source)
    if path.is_dir():
        names = [each.name for each in path.iterdir()]
        kinds: tuple[Any, ...] = (xla, hidet, aitemplate)
        lazy: Recording | None = next((kind.open_dump(path) for kind in kinds if kind.is_dump(path, names)), None)
        if lazy is not None:
            return lazy
    return open_recording(source, progress)


def _folder_reader(folder: Path) -> Callable[[Path, Progress | None], Recording] | None:
    names = [path.name for path in folder.iterdir()]
    modules = (row.load() for row in DUMPS)
    return next((module.read_dump for module in modules if module.is_dump(folder, names)), None)
