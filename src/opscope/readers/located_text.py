"""The lines of a text that programs were read from, found when somebody first looks at them."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Mapping
from typing import NamedTuple

from opscope.errors import OpscopeError


class Spans(NamedTuple):
    """Where the lines of a graph's nodes begin and end in the text; a node without a line has an empty span."""

    starts: array[int]
    ends: array[int]

    @classmethod
    def none(cls, nodes: int) -> Spans:
        return cls(array("q", bytes(8 * nodes)), array("q", bytes(8 * nodes)))


class LocatedText:
    """The own text of a program (see `opscope.program.OwnText`): `read` returns it, and `find` the spans of each graph's nodes.

    A text that has disappeared, or is not what it was, has no lines for what is gone."""

    def __init__(self, read: Callable[[], str], find: Callable[[str], Mapping[str, Spans]]) -> None:
        self._read = read
        self._find = find
        self._location: tuple[str, Mapping[str, Spans]] | None = None
        self._lock = threading.Lock()

    def lines(self, graph: str, start: int, stop: int) -> list[str]:
        text, spans = self._located()
        if graph not in spans:
            return [""] * (stop - start)
        starts, ends = spans[graph]
        return [text[first:end] for first, end in zip(starts[start:stop], ends[start:stop], strict=True)]

    def _located(self) -> tuple[str, Mapping[str, Spans]]:
        with self._lock:
            if self._location is None:
                try:
                    text = self._read()
                except (OpscopeError, OSError):
                    text = ""
                self._location = text, self._find(text)
            return self._location
