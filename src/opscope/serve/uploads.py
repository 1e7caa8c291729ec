"""Files that a page sent: copies in a directory that only this user can read. It is removed when the server ends."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.quantities import short_bytes
from opscope.temporary import temporary_directory

MOST_BYTES = 1_000_000_000
"""The largest file that a page can send."""
_LONGEST_NAME = 120
_SPECIAL = re.compile(r'[\x00-\x1f\x7f<>:"|?*]')
"""Characters that a file system may refuse or understand as more than a name."""


class Uploads:
    """The copies, by number. Each has a directory of its own, so that it can have the name that its owner gave it."""

    def __init__(self) -> None:
        self._directory = temporary_directory("opscope-uploads-")
        self._count = 0

    def place(self, name: str) -> tuple[int, Path]:
        """The number of a new file, and where to write it."""
        number, self._count = self._count, self._count + 1
        directory = self._directory / str(number)
        directory.mkdir(mode=0o700)
        return number, directory / _file_name(name)

    def path(self, number: int) -> Path:
        paths = list((self._directory / str(number)).iterdir()) if 0 <= number < self._count else []
        if not paths:
            raise OpscopeError("the server does not have that file; choose it again")
        return paths[0]

    def without_place(self, message: str) -> str:
        """A message about files as their owner knows them, not where the copies are."""
        return re.sub(re.escape(str(self._directory)) + r"[\\/]\d+[\\/]", "", message)

    def close(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def too_large(name: str) -> str:
    return f"{name}: is larger than {short_bytes(MOST_BYTES)}, the most that a page can send; run `opscope view FILE` instead"


def _file_name(name: str) -> str:
    """The last part of a name, which may be anything. Its end is kept if it is too long, because readers look at suffixes."""
    last = _SPECIAL.sub("_", re.split(r"[\\/]", name)[-1]).strip(" .")
    return last.encode("utf-8", "replace")[-_LONGEST_NAME:].decode("utf-8", "ignore") or "file"
