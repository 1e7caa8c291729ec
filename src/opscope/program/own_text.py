"""The text that a compiler or a person wrote, and which line of it is which node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class OwnText(Protocol):
    """The text that a program was read from. It stays where it is until somebody looks at it."""

    def lines(self, graph: str, start: int, stop: int) -> Sequence[str]:
        """The lines of nodes `start` … `stop-1` of a graph, in its order; empty for a node that has no line."""


class TextOfParts:
    """The text of a program whose graphs come from others: the text of each graph, and its name there."""

    def __init__(self, texts: Mapping[str, tuple[OwnText, str]]) -> None:
        self._texts = texts

    def lines(self, graph: str, start: int, stop: int) -> Sequence[str]:
        if graph not in self._texts:
            return [""] * (stop - start)
        text, name = self._texts[graph]
        return text.lines(name, start, stop)


class TextWithNew:
    """The text of a program that got nodes without a line: `count` of them at one place in a graph."""

    def __init__(self, text: OwnText, graph: str, at: int, count: int) -> None:
        self._text, self._graph, self._at, self._count = text, graph, at, count

    def lines(self, graph: str, start: int, stop: int) -> Sequence[str]:
        if graph != self._graph:
            return self._text.lines(graph, start, stop)
        first, last = self._at, self._at + self._count
        before = self._text.lines(graph, min(start, first), min(stop, first))
        after = self._text.lines(graph, max(start, last) - self._count, max(stop, last) - self._count)
        return [*before, *[""] * max(0, min(stop, last) - max(start, first)), *after]
