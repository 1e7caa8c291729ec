"""Errors for users: one line that says what is wrong and what would help."""

from __future__ import annotations

import os
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from opscope.ellipsis import ellipsize
from opscope.terminal import printable

_LONGEST = 4000
"""Characters of a message: a name in it can be as long as a file."""


class OpscopeError(Exception):
    """Something that the user can fix. The command line prints it as one line and exits with 2.

    Names in the message come from the source; its text shows their control characters as escapes, wherever it is printed or logged.
    """

    def __str__(self) -> str:
        return _shown(super().__str__())


class InputsMissingError(OpscopeError):
    """A model or function without the inputs that it needs; `call` is what to write in Python."""

    def __init__(self, name: str, call: str) -> None:
        self.name = name
        super().__init__(f"{name} needs its inputs: {call}")


class SourceError(OpscopeError):
    """A source that cannot be read, with the position of the error (`SOURCE:LINE:COL: message`), or that lacks what was requested.
    Without a name of the source, it is `line LINE, column COL: message`.

    `path` is the position in the model ("graphs[0].nodes[3].inputs[1]"), for opscope's own JSON.
    """

    def __init__(self, message: str, source: str = "", line: int = 0, column: int = 0, path: str = "") -> None:
        self.message = message
        self.source = source
        self.line = line
        self.column = column
        self.path = path
        super().__init__(message)

    def __str__(self) -> str:
        numbers = [number for number in (self.line, self.column) if self.line and number]
        if self.source:
            place = ":".join(map(str, (self.source, *numbers)))
        else:
            place = ", ".join(f"{what} {number}" for what, number in zip(("line", "column"), numbers, strict=False))
        return _shown(f"{place}: {self.message}" if place else self.message)

    def at(self, source: str) -> SourceError:
        """The same error, in a named source (readers of text do not know the file name)."""
        return self if self.source else SourceError(self.message, source, self.line, self.column, self.path)


class InternalError(Exception):
    """A mistake of opscope in a process of its own: `what` is its `internal_error`, and `where` its traceback there."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(what)
        self.add_note(where)


def _shown(message: str) -> str:
    return printable(ellipsize(message, _LONGEST, middle=True))


@contextmanager
def in_source(source: str) -> Iterator[None]:
    """Attribute errors inside to this source."""
    try:
        yield
    except SourceError as error:
        raise error.at(source) from None
    except OpscopeError as error:
        raise SourceError(str(error), source) from error


@contextmanager
def blamed_on_source(what: str, help: str = "", source: str = "") -> Iterator[None]:
    """Report errors of plain code on malformed data as one line about the source."""
    try:
        yield
    except SourceError as error:
        raise error.at(source) from None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError, zlib.error) as error:
        raise SourceError(f"{what}: {about_data(error)}" + (f"; {help}" if help else ""), source) from error


def about_data(error: Exception) -> str:
    """What an error of plain code says about the data that it read, without the words of Python where they mean nothing to a user."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, (AttributeError, TypeError)):
        return "a value is not of the type that the format has there"
    if isinstance(error, (IndexError, StopIteration)):
        return "a list is shorter than the format has it"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, ArithmeticError):
        return "a number is out of range"
    return str(error)


def error_line(error: BaseException) -> str:
    """What a person reads about an error, wherever it is shown."""
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        message = f"{error.filename}: {reason}" if error.filename else reason
    elif isinstance(error, MemoryError):
        message = "out of memory; try a smaller source, or a machine with more memory"
    elif isinstance(error, OpscopeError):
        message = str(error)
    else:
        what = str(error) if isinstance(error, InternalError) else internal_error(error)
        message = f"opscope: internal error at {what}. Please report it; set OPSCOPE_TRACEBACK=1 for the traceback."
    return " ".join(message.split())


def internal_error(error: BaseException) -> str:
    """Where and what a mistake of opscope is."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(where.filename)}:{where.lineno}: {type(error).__name__}: {ellipsize(str(error), _LONGEST, middle=True)}"
