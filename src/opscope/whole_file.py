"""Files that appear under their name only when they are complete, and what they may replace."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.temporary import part_file
from opscope.terminal import say_file

STANDARD_OUTPUT = Path("-")
_LONGEST_ABBREVIATION = len("html")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Python does not say of a full disk which file did not fit, or names the one that was copied."""


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A path to write to inside the block. Afterwards the file becomes `target`; if the block fails, `target` stays as it was.

    A target that cannot be replaced (standard output, a device) gets a copy of the bytes. The file is written in a directory that only
    this user can enter, so that nobody can put a link in its place.
    """
    named, target = target, target if target == STANDARD_OUTPUT else Path(os.path.realpath(target))
    is_printed = target == STANDARD_OUTPUT
    is_device = not is_printed and target.exists() and not target.is_file()
    is_copied = is_printed or is_device
    with part_file("opscope-part-") if is_copied else part_file(".opscope-part-", target.parent) as part:
        with _blamed_on(named, part):
            yield part
            if is_device:
                target.write_bytes(part.read_bytes())
        if is_printed:
            say_file(part.read_bytes())
        elif not is_device:
            if target.exists():
                part.chmod(target.stat().st_mode & 0o777)  # what only its owner could read stays so
            if _is_database(target) or _is_database(part):
                remove_journals(target)
            part.replace(target)


@contextmanager
def _blamed_on(target: Path, part: Path) -> Iterator[None]:
    """Report what goes wrong with the part as an error of the file that was asked for."""
    names = (str(part), os.path.realpath(part))
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL and not {str(error.filename), str(error.filename2)} & set(names):
            raise
        raise OSError(error.errno, error.strerror, str(target)) from error
    except OpscopeError as error:

        def renamed(text: str) -> str:
            for name in names:
                text = text.replace(name, str(target))
            return text

        if renamed(str(error)) != str(error):
            for name, value in vars(error).items():
                setattr(error, name, renamed(value) if isinstance(value, str) else value)
            error.args = tuple(renamed(str(each)) for each in error.args)
        raise


def check_target(target: Path) -> None:
    """Refuse a path where no file can be written."""
    if target.is_dir():
        raise OpscopeError(f"{target}: is a directory; name a file in it")
    if not target.parent.is_dir():
        raise OpscopeError(f"{target.parent}: no such directory; create it first")


def refuse_to_replace(target: Path, format: str, begins: tuple[bytes, ...], source: Path | None = None) -> None:
    """Refuse to replace what people would miss: the source, or a file that does not begin like the format. Without `begins`, any file."""
    if not target.is_file():
        return
    help = "choose another name, or use --force (in Python overwrite=True) to replace it"
    if source is not None and source.exists() and source.samefile(target):
        raise OpscopeError(f"{target}: is the source itself; {help}")
    with target.open("rb") as stream:
        head = stream.read(256).lstrip().lower()
    if head and not begins:
        raise OpscopeError(f"{target}: already exists; {help}")
    if head and not head.startswith(begins):
        raise OpscopeError(f"{target}: already exists and does not look like {_article(titled(format))} {titled(format)} file; {help}")


def titled(format: str) -> str:
    """The name of a format in a sentence: short names are abbreviations."""
    return format.upper() if len(format) <= _LONGEST_ABBREVIATION else format


def _article(noun: str) -> str:
    """An SVG file, an HTML file, a PNG file: what counts is the sound of the first letter."""
    return "an" if noun.startswith(("H", "S", "o")) else "a"


def remove_journals(database: Path) -> None:
    """Remove the journals of a replaced database: they would be rolled back into the new one and damage it."""
    for suffix in ("-journal", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(16) == b"SQLite format 3\0"
