"""The lines of a text that programs were read from, found when somebody first looks at them."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import NamedTuple, Protocol

from opscope.errors import OpscopeError
from opscope.program import NodeColumns


class Spans(NamedTuple):
    """Where the lines of a graph's nodes begin and end in the text; a node without a line has an empty span."""

    starts: array[int]
    ends: array[int]

    @classmethod
    def none(cls, nodes: int) -> Spans:
        return cls(array("q", bytes(8 * nodes)), array("q", bytes(8 * nodes)))


class KnownLines(Protocol):
    """The lines of a graph that follow from its nodes: lines of nodes with equal operations, results and kinds of details differ in names
    and in the attribute that differs between such details."""

    nodes: NodeColumns

    @property
    def odd(self) -> Collection[int]:
        """The nodes whose lines are unlike those of others."""

    def line(self, i: int) -> str:
        """The line of a node."""


class LocatedText:
    """The own text of a program (see `opscope.program.OwnText`): `read` returns it, and `find` the spans of each graph's nodes. `known` has
    the lines of graphs for which the text need not be read again.

    A text that has disappeared, or is not what it was, has no lines for what is gone."""

    def __init__(
        self, read: Callable[[], str], find: Callable[[str], Mapping[str, Spans]], known: Mapping[str, KnownLines] = MappingProxyType({})
    ) -> None:
        self.known = known
        self._read = read
        self._find = find
        self._location: tuple[str, Mapping[str, Spans]] | None = None
        self._lock = threading.Lock()

    def lines(self, graph: str, start: int, stop: int) -> list[str]:
        if graph in self.known:
            return list(map(self.known[graph].line, range(start, stop)))
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
