"""A cache of recordings of large dumps, so that hundreds of megabytes of text are parsed once.

It is in the user's cache directory, so nothing is written next to the dumps. `OPSCOPE_CACHE` names another directory; `off` disables it.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from opscope.errors import SourceError
from opscope.recording.model import Recording
from opscope.recording.store.store import StoreError, open_store
from opscope.whole_file import whole_file

_MOST_BYTES = 1 << 30
_ENTRY = re.compile(r"[0-9a-f]{32}\.opscope")


def cache_directory() -> Path | None:
    """The directory of the cache; None if it is switched off or cannot be written."""
    setting = os.environ.get("OPSCOPE_CACHE", "")
    if setting == "off":
        return None
    try:
        directory = Path(setting) if setting else _user_cache() / "opscope"
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return None
    return directory if os.access(directory, os.W_OK) else None


def _user_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    home = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return Path(home) if home else Path.home() / ".cache"


def cached(source: Path, files: Iterable[Path], make: Callable[[Path], object]) -> Recording | None:
    """The recording that `make` writes from these files of the source, now or in an earlier run. None if there is no cache, or no room.

    Entries are keyed by the names, sizes and modification times of the files, and by those of opscope's own code. A damaged entry is made
    again.
    """
    directory = cache_directory()
    if directory is None:
        return None
    stamps = sorted((path.name, (status := path.stat()).st_size, status.st_mtime_ns) for path in files)
    key = hashlib.sha256(repr((str(source.resolve()), stamps, _code_version())).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    target = directory / f"{key}.opscope"
    with suppress(OSError, SourceError):
        os.utime(target)
        return open_store(target)
    try:
        with whole_file(target) as part:
            make(part)
    except (OSError, StoreError):
        return None
    _evict(directory, target)
    return open_store(target)


@cache
def _code_version() -> list[tuple[str, int, int]]:
    """The files of opscope that parse and store dumps, with their sizes and times."""
    package = Path(__file__).resolve().parents[2]
    paths = [*package.glob("*.py"), *package.glob("readers/**/*.py"), *package.glob("program/*.py"), *package.glob("recording/**/*.py")]
    return sorted((str(path.relative_to(package)), (status := path.stat()).st_size, status.st_mtime_ns) for path in paths)


def _evict(directory: Path, newest: Path) -> None:
    """Delete the least recently used entries until the rest is small enough. Other files are not touched: the directory may be one that
    the user has for something else, too."""
    ours = [entry for entry in os.scandir(directory) if _ENTRY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)]
    entries = sorted(((status := entry.stat()).st_mtime, status.st_size, entry.path) for entry in ours)
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total > _MOST_BYTES and path != str(newest):
            Path(path).unlink(missing_ok=True)
            total -= size
