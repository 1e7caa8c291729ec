"""A dump whose files are read one by one, when their programs are first used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opscope.program import Path as Scope
from opscope.program import Program
from opscope.recording.model import Recording, Snapshot

_TAIL = 16


class PassFile(NamedTuple):
    """A file of a dump, and the pass that wrote it."""

    path: Path
    name: str
    pipeline: Scope = ()
    module: str = ""


def is_closed(path: Path) -> bool:
    """Whether a text ends with a brace. A truncated text would be skipped, and the passes after it would get other numbers."""
    with path.open("rb") as stream:
        stream.seek(-min(_TAIL, path.stat().st_size), os.SEEK_END)
        return stream.read().rstrip().endswith(b"}")


def lazy_recording(directory: Path, files: Iterable[PassFile], read: Callable[[Path], Program], attrs: Mapping[str, Any]) -> Recording:
    """The passes, by the names of their files. Node counts and which programs are equal stay unknown."""
    passes = list(files)
    snapshots = [
        Snapshot(i, name, pipeline, module, content=i, attrs={"file": path.name}, _program=lambda i: read(passes[i].path))
        for i, (path, name, pipeline, module) in enumerate(passes)
    ]
    return Recording(str(directory), snapshots, {**attrs, "source": directory.name, "finished": True})
