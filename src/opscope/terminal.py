"""The only module that prints.

Names come from files that strangers made. A control character in one of them can clear a terminal, change its title or fill the
clipboard, and a bidirectional override makes text read as something else. So everything that opscope prints goes through `say`, which
shows such characters as escapes (`\\x1b`, `\\u202e`); `tests/test_terminal.py` finds code that prints in another way.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0, DEL, C1, separators of lines, marks and overrides of direction, and halves of surrogate pairs, which cannot be encoded."""
_IN_TEXT = re.compile(_CONTROL.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))
"""The same without tabs and newlines."""


def printable(text: str) -> str:
    """The text with control characters other than tabs and newlines as escapes."""
    return _IN_TEXT.sub(_escape, text)


def one_line(text: str) -> str:
    """The text with every control character as an escape, newlines and tabs included."""
    return _CONTROL.sub(_escape, text)


def say(*lines: str, err: bool = False) -> None:
    """Print lines on standard output, or on standard error. A newline within a line is part of a name, and becomes an escape."""
    with _naming_standard_output() if not err else suppress(OSError):  # nobody can be told that errors cannot be told
        print(*map(one_line, lines or ("",)), sep="\n", file=sys.stderr if err else sys.stdout, flush=True)


def say_json(data: Any, indent: int | None = None) -> None:
    """Print JSON. What a terminal would obey is written as `\\u202e`, which means the same."""
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    with _naming_standard_output():
        print(_IN_TEXT.sub(lambda match: f"\\u{ord(match[0]):04x}", text), flush=True)


def say_file(content: bytes) -> None:
    """Write the bytes of a file to standard output: as they are for a pipe or a file, escaped for a terminal."""
    if sys.stdout.isatty():
        content = printable(content.decode("utf-8", "replace")).encode()
    with _naming_standard_output():
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


@contextmanager
def _naming_standard_output() -> Iterator[None]:
    """Say in an error what could not be written: Python does not."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard output") from None


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
