"""A text without the instructions of its largest computation, which are beside it in pieces.

The text of a module of millions of instructions takes half of the memory that reading it takes. In pieces, it goes while its nodes come.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

LARGE = 128 << 20
"""Characters of a computation."""
_PIECE = 64 << 20
"""Much more than what the system's allocator keeps for the next text of this size."""
CONTINUES = r"\s*+[,</]"
"""How a line begins that belongs to the instruction before it."""
_CONTINUATION = re.compile(CONTINUES)


class CutText:
    """What is left of a text, and its instructions that were at a place in it."""

    def __init__(self, text: str, start: int, stop: int) -> None:
        self.rest = text[:start] + text[stop:]
        self.at = start
        self._pieces: deque[str] = deque()
        while start < stop:
            end = piece_end(text, start, stop, _PIECE)
            self._pieces.append(text[start:end])
            start = end

    def taken(self) -> Iterator[str]:
        """The pieces, of each of which nothing is left when the next one comes."""
        while self._pieces:
            yield self._pieces.popleft()

    @property
    def is_taken(self) -> bool:
        return not self._pieces

    def search(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The first match, as in the whole text."""
        matches = (pattern.search(piece) for piece in self._pieces)
        return pattern.search(self.rest, 0, self.at) or next(filter(None, matches), None) or pattern.search(self.rest, self.at)


def cut(text: str) -> CutText | None:
    """Without the instructions of the entry, if they are very many. None if they are not, or if lines end as on Windows."""
    if len(text) < LARGE or "\r" in text:
        return None
    entry = text.rfind("\nENTRY ")
    start = text.find("\n", entry + 1) + 1
    stop = text.find("\n}", start) + 1
    return CutText(text, start, stop) if entry >= 0 and start and stop - start > LARGE else None


def piece_end(text: str, pos: int, stop: int, size: int) -> int:
    """Where to pause on the way to `stop`, after about `size` characters: behind a whole instruction."""
    while stop - pos > size:
        pos = text.index("\n", pos + size) + 1
        if not _CONTINUATION.match(text, pos):
            return pos
    return stop
