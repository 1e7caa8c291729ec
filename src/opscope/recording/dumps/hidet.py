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


def is_dump(directory: Path, names: Iterable[str]) -> bool:
    """Whether hidet's save_graph_instrument wrote this directory."""
    return any(_FILE.fullmatch(name) and name.startswith("0_") for name in names)


def read_dump(directory: Path, progress: Progress | None = None) -> Recording:
    """The numbered JSON files of a directory, with the seconds from `profile.log` if it exists."""
    profile = _profile(directory / "profile.log")
    files = numbered_files(directory, _FILE)
    return read_numbered(directory, files, _read_one, _ATTRS, progress, seconds=lambda name: next(profile.get(name, iter(())), None))


def open_dump(directory: Path) -> Recording | None:
    return open_numbered(directory, numbered_files(directory, _FILE), _read_one, _ATTRS)


def _read_one(path: Path) -> Program:
    return read_netron(Source(path).read_text(), "hidet")


def _profile(log: Path) -> dict[str, Iterator[float]]:
    """The seconds of each pass; of several passes with one name, in the order in which they ended."""
    seconds: dict[str, list[float]] = {}
    if log.is_file():
        for line in log.read_text(errors="replace").splitlines():
            match = _TIME.match(line)
            if match:
                seconds.setdefault(match[1], []).append(float(match[2]))
    return {name: iter(times) for name, times in seconds.items()}
