"""Directories of files named by a number and a pass, as hidet and AITemplate write them: read whole, or file by file on first use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from opscope.errors import SourceError
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.dumps.lazy_programs import PassFile, is_closed, lazy_recording
from opscope.recording.model import Recording
from opscope.recording.store.store import StoreWriter

Read = Callable[[Path], Program]


def numbered_files(directory: Path, pattern: re.Pattern[str]) -> list[PassFile]:
    """The regular files in the order of their numbers; the groups of the pattern are the number and the pass."""
    matches = (match for path in directory.iterdir() if (match := pattern.fullmatch(path.name)) and path.is_file())
    return [PassFile(directory / match[0], match[2]) for match in sorted(matches, key=lambda match: (_order(match[1]), match[0]))]


def _order(number: str) -> tuple[int, str]:
    """The order of numbers, however long they are."""
    digits = number.lstrip("0")
    return len(digits), digits


def read_numbered(
    directory: Path,
    files: list[PassFile],
    read: Read,
    attrs: Mapping[str, Any],
    progress: Progress | None,
    *,
    skipped: Iterable[str] = (),
    seconds: Callable[[str], float | None] = lambda name: None,
) -> Recording:
    """Read all files. A file that cannot be read is skipped, with its reason; `seconds(name)` is called once per pass."""
    reasons = list(skipped)
    writer = StoreWriter(attrs={**attrs, "source": directory.name})
    for i, (path, name, *_) in enumerate(files):
        try:
            writer.add(read(path), name, seconds=seconds(name), attrs={"file": path.name})
        except SourceError as error:
            reasons.append(f"{path.name}: {error}")
        if progress:
            progress((i + 1) / len(files))
    return writer.finished(str(directory), reasons)


def open_numbered(directory: Path, files: list[PassFile], read: Read, attrs: Mapping[str, Any]) -> Recording | None:
    """The same, but each file is read on first use. None if one of them is truncated."""
    return lazy_recording(directory, files, read, attrs) if all(is_closed(file.path) for file in files) else None
