"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

STANDARD_OUTPUT = Path("-")


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A path to write to inside the block. What is there afterwards becomes `target`; if the block fails, `target` stays as it was.

    What cannot be replaced, standard output or a device, gets a copy of the bytes.
    """
    target = target if target == STANDARD_OUTPUT else Path(os.path.realpath(target))
    if target == STANDARD_OUTPUT or (target.exists() and not target.is_file()):
        with TemporaryDirectory() as directory:
            part = Path(directory, "part")
            yield part
            content = part.read_bytes()
        if target == STANDARD_OUTPUT:
            sys.stdout.buffer.write(content)
        else:
            target.write_bytes(content)
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        _forget_journals(target)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _forget_journals(target: Path) -> None:
    """The journals of a database that is about to be replaced go with it: rolled back into its successor, they would damage that one."""
    if target.is_file():
        with target.open("rb") as stream:
            replaced_is_database = stream.read(16) == b"SQLite format 3\0"
        if replaced_is_database:
            for suffix in ("-journal", "-wal", "-shm"):
                Path(f"{target}{suffix}").unlink(missing_ok=True)
