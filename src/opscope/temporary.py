"""Temporary directories that do not stay behind: what a killed process left, the next one removes."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

_ABANDONED = 24 * 3600
"""Seconds. A process of another machine or container looks dead from here, so the age of its directory counts too."""


def temporary_directory(prefix: str, parent: Path | None = None) -> Path:
    """A new directory that only this user can enter, for the caller to remove. By default it is among the system's temporary files."""
    home = Path(gettempdir()) if parent is None else parent
    with suppress(OSError):  # a directory that cannot be listed, or another process that removes the same
        _remove_abandoned(home, prefix)
    return Path(mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=home))


@contextmanager
def scratch_directory(prefix: str) -> Iterator[Path]:
    """A temporary directory for as long as the block runs."""
    directory = temporary_directory(prefix)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _remove_abandoned(home: Path, prefix: str) -> None:
    pattern = re.compile(re.escape(prefix) + r"(\d{1,9})-\w+")
    for entry in os.scandir(home):
        match = pattern.fullmatch(entry.name)
        if match and entry.is_dir(follow_symlinks=False) and not _is_alive(int(match[1])):
            status = entry.stat(follow_symlinks=False)
            if status.st_uid == _user() and status.st_mtime < time.time() - _ABANDONED:
                shutil.rmtree(entry.path, ignore_errors=True)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # os.kill would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
