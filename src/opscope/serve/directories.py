"""Directories of the machine that serves, which a page may look into: only those that were named when the server was started.

A path is followed first and compared afterwards, so that neither `..` nor a symbolic link leads out of its directory. Hidden files are
neither listed nor opened.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TypedDict

from opscope.errors import OpscopeError
from opscope.loading import sources_in
from opscope.recording.dumps import find_dump

MOST_ENTRIES = 2000
_NOT_IN_NAMES = re.compile(r"[\0\\\ud800-\udfff]")
"""Halves of surrogate pairs cannot be encoded."""


class Entry(TypedDict):
    """A row of a listing. A dump is a directory that can be opened as a whole."""

    name: str
    kind: str
    bytes: int
    modified: float


class Listing(TypedDict):
    entries: list[Entry]
    left_out: int


class Directories:
    """The directories, by number."""

    def __init__(self, directories: Sequence[str | os.PathLike[str]] = ()) -> None:
        self.names = [os.fspath(directory) for directory in directories]
        self._roots = [Path(name).resolve() for name in self.names]

    def path(self, root: int, path: str) -> Path:
        """The file or directory that a page names, with every link in it followed."""
        if not 0 <= root < len(self._roots):
            raise OpscopeError("the server was not started with that directory; name it with --browse")
        parts = PurePosixPath(path).parts
        target = Path(os.path.realpath(self._roots[root].joinpath(*parts))) if _is_plain(path, parts) else None
        if target is None or not target.is_relative_to(self._roots[root]) or not (target.is_file() or target.is_dir()):
            raise OpscopeError(f"{path}: no such file in {self.names[root]}")
        return target

    def source(self, root: int, path: str) -> Path:
        """The file or directory to open. A link that leads out of the directory is refused if opening the target would follow it: one
        anywhere in a dump, or one of the sources in a directory that is not a dump itself."""
        target = self.path(root, path)
        for opened in [Path(each) for each in sources_in(str(target))] or [target]:
            for entry in (opened, *_links_in(opened)):
                if not entry.resolve().is_relative_to(self._roots[root]):
                    raise OpscopeError(
                        f"{path}: contains {entry.name}, a link that leads out of {self.names[root]}; run `opscope view DIR`"
                    )
        return target

    def listing(self, root: int, path: str) -> Listing:
        """What a directory contains: directories, then files, by name."""
        directory = self.path(root, path)
        if not directory.is_dir():
            raise OpscopeError(f"{path}: is not a directory")
        with os.scandir(directory) as scan:
            entries = [entry for entry in (self._entry(root, each) for each in scan) if entry is not None]
        entries.sort(key=lambda entry: (entry["kind"] == "file", entry["name"].lower(), entry["name"]))
        shown = entries[:MOST_ENTRIES]
        for entry in shown:
            if entry["kind"] == "directory" and _is_dump(directory / entry["name"]):
                entry["kind"] = "dump"
        return {"entries": shown, "left_out": len(entries) - len(shown)}

    def _entry(self, root: int, entry: os.DirEntry[str]) -> Entry | None:
        """The row of a file or directory; None for what cannot be opened: hidden files, links that lead out, devices, broken names."""
        try:
            entry.name.encode()
            if entry.name.startswith(".") or (entry.is_symlink() and not Path(entry).resolve().is_relative_to(self._roots[root])):
                return None
            if not (entry.is_dir() or entry.is_file()):
                return None
            status = entry.stat()
        except (OSError, UnicodeEncodeError):
            return None
        kind = "directory" if entry.is_dir() else "file"
        return {"name": entry.name, "kind": kind, "bytes": status.st_size, "modified": status.st_mtime}


def _is_plain(path: str, parts: tuple[str, ...]) -> bool:
    """Whether a path is relative and names neither a parent nor a hidden file."""
    return _NOT_IN_NAMES.search(path) is None and not any(part.startswith((".", "/")) for part in parts)


def _links_in(source: Path) -> Iterator[Path]:
    """The links in a dump."""
    if source.is_dir() and _is_dump(source):
        for parent, directories, files in os.walk(source):
            yield from filter(os.path.islink, (Path(parent, name) for name in (*directories, *files)))


def _is_dump(directory: Path) -> bool:
    try:
        return find_dump(directory) is not None
    except OSError:
        return False
