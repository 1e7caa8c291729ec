"""The files of a dump that its notes and code are read from."""

from __future__ import annotations

import os
from pathlib import Path


def own_files(directory: Path) -> list[Path]:
    """The regular files of a directory in the order of their names: no pipe, which would never end, and no link that leads out of it.

    The text of notes and of kernels gets into pages as it is, so a dump from a stranger must not be a way to other files of this machine.
    """
    if not directory.is_dir():
        return []
    inside = directory.resolve()
    with os.scandir(directory) as entries:
        return sorted(directory / each.name for each in entries if each.is_file(follow_symlinks=False) or _leads_to_file(each, inside))


def _leads_to_file(entry: os.DirEntry[str], inside: Path) -> bool:
    path = Path(entry.path)
    return entry.is_symlink() and path.is_file() and path.resolve().is_relative_to(inside)
