"""Temporary directories that do not stay behind: what a killed process left, the next one removes.

In a directory where other users can rename what is not theirs (a shared one without the sticky bit), a name proves nothing: it may be
that of somebody's results by now. There, nothing is removed but the files that opscope writes, and a new file is reached by the open
directory that it is in, not by its name.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

PART = "part"
"""The name of a file that is not complete yet."""
_PARTS = (PART, f"{PART}-journal")
_OPEN_FILES = Path("/proc/self/fd")
_ABANDONED = 24 * 3600
"""Seconds. A process of another machine or container looks dead from here, so the age of its directory counts too."""


def temporary_directory(prefix: str, parent: Path | None = None) -> Path:
    """A new directory that only this user can enter, for the caller to remove. By default it is among the system's temporary files."""
    home = Path(gettempdir()) if parent is None else parent
    with suppress(OSError):  # a directory that cannot be listed, or another process that removes the same
        _remove_abandoned(home, prefix)
    try:
        return Path(mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=home))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(home)) from None


@contextmanager
def scratch_directory(prefix: str) -> Iterator[Path]:
    """A temporary directory for as long as the block runs."""
    directory = temporary_directory(prefix)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def part_file(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A path to write a file to, in a new directory that only this user can enter. Both are removed when the block ends.

    On Linux, the path leads through the open directory: it stays there if somebody renames the directory and puts another one, with a link
    to a file of this user in it, under its name.
    """
    directory = temporary_directory(prefix, parent)
    opened = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW) if _OPEN_FILES.is_dir() else None
    reached = directory if opened is None else _OPEN_FILES / str(opened)
    try:
        if reached.stat().st_uid != _user():
            raise PermissionError(errno.EACCES, "another user has replaced it", str(directory))
        yield reached / PART
    finally:
        _remove_parts(reached)
        if opened is not None:
            os.close(opened)
        with suppress(OSError):  # it is another one by now
            directory.rmdir()


def _remove_parts(directory: Path) -> None:
    for name in _PARTS:
        with suppress(OSError):
            (directory / name).unlink()


def _remove_abandoned(home: Path, prefix: str) -> None:
    is_shared = _others_can_rename(home)
    pattern = re.compile(re.escape(prefix) + r"(\d{1,9})-\w+")
    for entry in os.scandir(home):
        match = pattern.fullmatch(entry.name)
        if match and entry.is_dir(follow_symlinks=False) and not _is_alive(int(match[1])):
            status = entry.stat(follow_symlinks=False)
            if status.st_uid == _user() and status.st_mtime < time.time() - _ABANDONED:
                if is_shared:
                    _remove_parts(Path(entry.path))
                    with suppress(OSError):  # not empty: it is not ours
                        os.rmdir(entry.path)
                else:
                    shutil.rmtree(entry.path, ignore_errors=True)


def _others_can_rename(directory: Path) -> bool:
    """Whether other users can rename what this user has in a directory: they own it, or may write in it and the sticky bit is not set."""
    status = directory.stat()
    return status.st_uid not in (0, _user()) or (status.st_mode & 0o022 != 0 and not status.st_mode & stat.S_ISVTX)


def _user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


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
