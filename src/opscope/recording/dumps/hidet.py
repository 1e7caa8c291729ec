"""The directory that hidet's `save_graph_instrument` writes: one netron JSON file per pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from opscope.plugin import Progress
from opscope.program import Program
from opscope.readers.hidet.netron import read_netron
from opscope.readers.source import Source
from opscope.recording.dumps.numbered_files import numbered_files, open_numbered, read_numbered
from opscope.recording.model import Recording

_FILE = re.compile(r"(\d+)_(\w+)\.json")
_ATTRS = {"producer": "hidet", "ids": "positions"}
_TIME = re.compile(r"^\s*(\w+)\s+([\d.]+)\s*(?:s|seconds)?\s*$")


def is_dump(folder: Path, names: Iterable[str]) -> bool:
    """Whether a folder was written by hidet's save_graph_instrument."""
    return any(_FILE.fullmatch(name) and name.startswith("0_") for name in names)


def read_dump(folder: Path, progress: Progress | None = None) -> Recording:
    """The numbered JSON files of a folder, with the seconds of `profile.log` where it is there."""
    profile = _profile(folder / "profile.log")
    files = numbered_files(folder, _FILE)
    return read_numbered(folder, files, _read_one, _ATTRS, progress, seconds=lambda name: next(profile.get(name, iter(())), None))


def open_dump(folder: Path) -> Recording | None:
    return open_numbered(folder, numbered_files(folder, _FILE), _read_one, _ATTRS)


def _read_one(path: Path) -> Program:
    return read_netron(Source(path).read_text(), "hidet")


def _profile(log: Path) -> dict[str, Iterator[float]]:
    """Seconds of each pass, in the order in which passes of one name ended."""
    found: dict[str, list[float]] = {}
    if log.exists():
        for line in log.read_text(errors="replace").splitlines():
            timed = _TIME.match(line)
            if timed:
                found.setdefault(timed[1], []).append(float(timed[2]))
    return {name: iter(times) for name, times in found.items()}
