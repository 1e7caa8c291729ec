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
