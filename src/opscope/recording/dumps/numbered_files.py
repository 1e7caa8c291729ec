"""Folders of files named by a number and a pass, as hidet and AITemplate write them: read whole, or each file when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from opscope.errors import SourceError
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.dumps.lazy_programs import Listed, is_closed, lazy_recording
from opscope.recording.model import Recording
from opscope.recording.store.store import StoreWriter

Read = Callable[[Path], Program]


def numbered_files(folder: Path, named: re.Pattern[str]) -> list[Listed]:
    """In the order of their numbers; the expression's groups are the number and the pass."""
    found = sorted((int(match[1]), match[2], path) for path in folder.iterdir() if (match := named.fullmatch(path.name)))
    return [Listed(path, name) for _, name, path in found]


def read_numbered(
    folder: Path,
    files: list[Listed],
    read: Read,
    attrs: Mapping[str, Any],
    progress: Progress | None,
    *,
    skipped: Iterable[str] = (),
    seconds: Callable[[str], float | None] = lambda name: None,
) -> Recording:
    """All of them. A file that cannot be read is said to be left out; `seconds` tells how long a pass took, asked once for each."""
    left_out = list(skipped)
    writer = StoreWriter(attrs={**attrs, "source": folder.name})
    for i, (path, name, *_) in enumerate(files):
        try:
            writer.add(read(path), name, seconds=seconds(name), attrs={"file": path.name})
        except SourceError as error:
            left_out.append(f"{path.name}: {error}")
        if progress:
            progress((i + 1) / len(files))
    return writer.finished(str(folder), left_out)


def open_numbered(folder: Path, files: list[Listed], read: Read, attrs: Mapping[str, Any]) -> Recording | None:
    """The same, each file read when its program is asked for; None where one of them was cut."""
    return lazy_recording(folder, files, read, attrs) if all(is_closed(file.path) for file in files) else None
