"""Small files about this user that nobody else can read."""

from __future__ import annotations

import os
from pathlib import Path


def write_private(path: Path, text: str) -> bool:
    """Write a file that others cannot read, not even for a moment. False if that is impossible."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        with os.fdopen(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        temporary.replace(path)
    except (OSError, UnicodeEncodeError):
        return False
    return True


def read_private(path: Path) -> str:
    """The text of such a file. Empty if it is not there, or if others could have read or written it."""
    try:
        status = path.stat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
            return ""
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
