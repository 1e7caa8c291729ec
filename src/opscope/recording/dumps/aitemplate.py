"""AITemplate's debug dump directories: one numbered JSON file per transform."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from opscope.plugin import Progress
from opscope.program import Program
from opscope.readers.aitemplate import build, read_model
from opscope.readers.source import Source
from opscope.recording.dumps.numbered_files import numbered_files, open_numbered, read_numbered
from opscope.recording.model import Recording

_FILE = re.compile(r"(\d+)-(\w+)_graph\.json")
_ATTRS = {"producer": "AITemplate", "ids": "names"}


def is_dump(directory: Path, names: Iterable[str]) -> bool:
    """Whether a directory contains AITemplate's numbered debug dumps."""
    return any(_FILE.fullmatch(name) for name in names)


def read_dump(directory: Path, progress: Progress | None = None) -> Recording:
    """The numbered graphs of a directory, in order."""
    files = numbered_files(directory, _FILE)
    others = {path.name for path in directory.iterdir() if path.name.endswith("_graph.json")} - {file.path.name for file in files}
    skipped = [f"{name}: has no number, so its position is unknown" for name in sorted(others)]
    return read_numbered(directory, files, _read_one, _ATTRS, progress, skipped=skipped)


def open_dump(directory: Path) -> Recording | None:
    return open_numbered(directory, numbered_files(directory, _FILE), _read_one, _ATTRS)


def _read_one(path: Path) -> Program:
    return build(read_model(Source(path)), "aitemplate")
