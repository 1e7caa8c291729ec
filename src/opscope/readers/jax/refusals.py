"""Why JAX could not trace what it was given, in one line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from opscope.errors import OpscopeError

_HERE = Path(__file__).parents[2]


@contextmanager
def refused(name: str, hint: str = "") -> Iterator[None]:
    """Whatever tracing raises as a sentence: it runs the user's function, which may raise anything."""
    try:
        yield
    except OpscopeError:
        raise
    except Exception as error:
        raise OpscopeError(f"JAX could not trace {name}: {_reason(error)}{hint}") from error


def _reason(error: Exception) -> str:
    """The first line of an error, and what would help, or the line of the user's that raised it."""
    words = next(iter(str(error).splitlines()), "")
    if not isinstance(error, TypeError):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    if "not a valid JAX type" in words or "abstract array" in words:
        return f"{words} Use static_argnums= for arguments that are not arrays."
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [(path, line) for path, line in frames if _HERE not in path.parents and "site-packages" not in path.parts]
    return f"{words.rstrip('.')}, at {own[-1][0].name}:{own[-1][1]}" if own else words
