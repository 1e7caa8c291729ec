"""How much a source may unpack to. A file of a few hundred kilobytes can unpack to gigabytes, and text to 10 to 25 times
as much memory.

`docs/limits.md` states the limits.
"""

from __future__ import annotations

import os
import zlib

from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError, SourceError
from opscope.quantities import short_bytes

VARIABLE = "OPSCOPE_MAX_BYTES"
_ALWAYS = 64_000_000
_RATIO = 100
"""Text of graphs shrinks to a tenth or, if it repeats itself, to a fiftieth."""
_STREAM = 4_000_000_000
_MOST_DIGITS = 18
"""Of a number of bytes: no machine has more."""
MOST_ELEMENTS = 1 << 16
"""Of a tuple that code takes apart by index: a number in a text is short, and a list up to it need not be."""
_LONGEST_NAME = 10_000
MOST_AROUND = 500
"""Of the modules around an operation that are compared or can be named, from the outermost: each is told apart by its whole path, so that
a path takes the square of its length."""
MOST_FRAMES = 256
"""Of a stack, counted from the innermost: frames share their callers, so that a small file can mean billions of frames. JAX keeps ten
unless it is told otherwise."""


def most_bytes(packed: int) -> int:
    """What a file of `packed` bytes may unpack to."""
    chosen = _chosen()
    return max(_ALWAYS, _RATIO * packed) if chosen is None else chosen


def most_streamed() -> int:
    """How much may come through a pipe, whose size nobody knows in advance."""
    chosen = _chosen()
    return _STREAM if chosen is None else chosen


def too_large(what: str, most: int) -> SourceError:
    """The refusal of something that is larger than its limit."""
    return SourceError(f"{what} more than {short_bytes(most)}, which is opscope's limit for it; set {VARIABLE} if you trust the source")


class InnerNames:
    """The names of graphs that are inside others and named after them. A long name around a thousand graphs would be there a thousand
    times."""

    def __init__(self) -> None:
        self._left = _ALWAYS

    def of(self, outer: str, own: str) -> str:
        """The name of one of them."""
        if len(outer) + len(own) > _LONGEST_NAME:
            raise SourceError(f"has graphs inside each other with names of more than {_LONGEST_NAME:,} characters together; shorten them")
        self._left -= len(outer) + len(own)
        if self._left < 0:
            raise SourceError(f"has graphs inside others whose names take more than {short_bytes(_ALWAYS)} together; shorten them")
        return f"{outer}{own}"


class Budget:
    """What is left of a limit, for something that is unpacked piece by piece."""

    def __init__(self, packed: int) -> None:
        self._most = self._left = most_bytes(packed)

    def take(self, size: int) -> None:
        """Count a piece before it is unpacked."""
        self._left -= size
        if self._left < 0:
            raise too_large("unpacks to", self._most)


def decompressed(data: bytes) -> bytes:
    """The bytes of a zlib stream, within the limit."""
    most = most_bytes(len(data))
    stream = zlib.decompressobj()
    content = stream.decompress(data, most)
    if stream.unconsumed_tail:
        raise too_large("has a part that unpacks to", most)
    if not stream.eof:
        raise zlib.error("incomplete or truncated stream")
    return content


def _chosen() -> int | None:
    setting = os.environ.get(VARIABLE, "")
    if not setting:
        return None
    if not setting.isdecimal() or len(setting) > _MOST_DIGITS or not int(setting):
        raise OpscopeError(f"{VARIABLE} must be a number of bytes, such as 8000000000, not {ellipsize(setting, 60)!r}")
    return int(setting)
