"""Opens a source as a recording: a recording file, or a dump of a compiler; `SOURCE@12` is one snapshot of it."""

from __future__ import annotations

from pathlib import Path

from opscope.demo import source_path
from opscope.errors import SourceError, in_source
from opscope.naming import checks_keywords
from opscope.plugin import Progress
from opscope.readers.source import first_bytes
from opscope.recording.dumps import dumps, find_dump
from opscope.recording.model import Recording
from opscope.recording.store.database import is_recording
from opscope.recording.store.store import open_store

_HEADER_BYTES = 100
"""The size of an SQLite header."""


def is_recording_source(source: str | Path, format: str | None = None) -> bool:
    """Whether a file or directory is a recording, by its contents and not by its name alone.

    With a `format`, a directory is a dump in that format, and a file is a program.
    """
    path = source_path(source)
    return path.is_dir() if format is not None else _is_store(path) or find_dump(path) is not None


@checks_keywords
def open_recording(source: str | Path, progress: Progress | None = None, *, format: str | None = None) -> Recording:
    """Open a recording: an .opscope file, or a dump of a compiler, whose format `format` can name."""
    _, which = split_at(str(source))
    if which:
        raise SourceError(f"is one pass of a recording; leave out @{which} to open all of them", str(source))
    path = source_path(source)
    row = None if format is None and _is_store(path) else find_dump(path, format)
    if row is not None:
        if row.refusal:
            raise SourceError(f"reading {row.refusal}", str(source))
        with in_source(str(source)):
            recording: Recording = row.load().read_dump(path, progress)
            return recording
    if path.is_dir():
        raise SourceError(f"contains no compiler passes; supported are {', '.join(row.what for row in dumps())}", str(source))
    return open_store(path, str(source))


def open_passes(source: str | Path, progress: Progress | None = None, *, format: str | None = None) -> Recording:
    """Open a recording of which only some programs are needed; if the source allows it, only those are read."""
    path = source_path(source)
    row = find_dump(path, format) if path.is_dir() else None
    open_dump = getattr(row.load(), "open_dump", None) if row is not None and not row.missing else None
    lazy: Recording | None = open_dump(path) if open_dump is not None else None
    return open_recording(source, progress, format=format) if lazy is None else lazy


def split_at(source: str) -> tuple[str, str]:
    """Split `run.opscope@12` into ("run.opscope", "12"). A file whose name contains an @ is not split."""
    base, at, which = source.rpartition("@")
    return (base, which) if at and which and not Path(source).exists() and source_path(base).exists() else (source, "")


def _is_store(path: Path) -> bool:
    if not path.is_file():
        return False
    return path.suffix == ".opscope" or is_recording(first_bytes(path, _HEADER_BYTES))
