"""Recordings of large dump folders, kept where caches belong: reading hundreds of megabytes of text is done once.

Nothing is ever written beside what a person has. `OPSCOPE_CACHE` names another folder; `off` means none.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from opscope.whole_file import whole_file

_MOST_BYTES = 1 << 30
_ABANDONED = 24 * 3600


def cache_folder() -> Path | None:
    """Where recordings of folders are kept; None where that is switched off or not possible."""
    said = os.environ.get("OPSCOPE_CACHE", "")
    if said == "off":
        return None
    try:
        folder = Path(said) if said else _usual_place() / "opscope"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK) else None


def _usual_place() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    given = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return Path(given) if given else Path.home() / ".cache"


def cached(source: Path, files: Iterable[Path], make: Callable[[Path], object]) -> Path | None:
    """The file that `make` wrote from these files of the source, now or earlier. None where nothing can be kept.

    Files are the same as long as their names, sizes and times are; and what other code made is not believed.
    """
    folder = cache_folder()
    if folder is None:
        return None
    stamps = sorted((path.name, (found := path.stat()).st_size, found.st_mtime_ns) for path in files)
    key = hashlib.sha256(repr((str(source.resolve()), stamps, _own_code())).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    target = folder / f"{key}.opscope"
    try:
        os.utime(target)
    except OSError:
        with whole_file(target) as part:
            make(part)
        _make_room(folder, target)
    return target


@cache
def _own_code() -> list[tuple[str, int, int]]:
    """What reading and storing is done by."""
    package = Path(__file__).resolve().parents[2]
    paths = [*package.glob("*.py"), *package.glob("readers/**/*.py"), *package.glob("program/*.py"), *package.glob("recording/**/*.py")]
    return sorted((str(path.relative_to(package)), (found := path.stat()).st_size, found.st_mtime_ns) for path in paths)


def _make_room(folder: Path, newest: Path) -> None:
    """What was used longest ago goes, until the rest is small enough; and what a killed process left half written."""
    found = sorted((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in os.scandir(folder) if entry.is_file())
    total = sum(size for _, size, _ in found)
    for used, size, path in found:
        abandoned = not path.endswith(".opscope") and used < time.time() - _ABANDONED
        if abandoned or (total > _MOST_BYTES and path != str(newest)):
            Path(path).unlink(missing_ok=True)
            total -= size
