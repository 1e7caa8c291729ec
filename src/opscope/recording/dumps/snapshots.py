"""The directory that `opscope.record(directory=…)` writes: opscope's own JSON, one file per snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from opscope.errors import SourceError
from opscope.native import loads
from opscope.plugin import Progress
from opscope.program import Program
from opscope.readers.source import Source
from opscope.recording.dumps.numbered_files import numbered_files, open_numbered, read_numbered
from opscope.recording.model import Recording

_FILE = re.compile(r"(\d{4,})_(.+)\.json")
_ATTRS = {"producer": "opscope"}


def is_dump(directory: Path, names: Iterable[str]) -> bool:
    """Whether `opscope.record` wrote this directory."""
    return any(_FILE.fullmatch(name) and name.startswith("0000_") for name in names)


def read_dump(directory: Path, progress: Progress | None = None) -> Recording:
    return read_numbered(directory, numbered_files(directory, _FILE), _read_one, _ATTRS, progress)


def open_dump(directory: Path) -> Recording | None:
    return open_numbered(directory, numbered_files(directory, _FILE), _read_one, _ATTRS)


def _read_one(path: Path) -> Program:
    programs = loads(Source(path).read_text())
    if len(programs) != 1:
        raise SourceError(f"has {len(programs)} programs; a snapshot has one")
    return programs[0]
