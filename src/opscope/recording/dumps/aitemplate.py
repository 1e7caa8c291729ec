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


def is_dump(folder: Path, names: Iterable[str]) -> bool:
    """Whether a folder has AITemplate's numbered debug dumps."""
    return any(_FILE.fullmatch(name) for name in names)


def read_dump(folder: Path, progress: Progress | None = None) -> Recording:
    """The numbered graphs of a folder in order."""
    files = numbered_files(folder, _FILE)
    others = {path.name for path in folder.iterdir() if path.name.endswith("_graph.json")} - {file.path.name for file in files}
    skipped = [f"{name}: without a number, so without a place in the order" for name in sorted(others)]
    return read_numbered(folder, files, _read_one, _ATTRS, progress, skipped=skipped)


def open_dump(folder: Path) -> Recording | None:
    return open_numbered(folder, numbered_files(folder, _FILE), _read_one, _ATTRS)


def _read_one(path: Path) -> Program:
    return build(read_model(Source(path)), "aitemplate")
