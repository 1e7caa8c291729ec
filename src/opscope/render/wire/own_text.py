"""The own text of programs on the wire: each line once, and for each node of a program the number of its line."""

from __future__ import annotations

from collections.abc import Iterator

from opscope.program import Program
from opscope.render.wire.sections import Interner, SectionWriter

_MOST_TEXT = 16 << 20
"""A page with more text than this would be slow to open. It shows nodes in opscope's own form, and a server the text."""


class TextWriter:
    """The lines of one or several programs."""

    def __init__(self) -> None:
        self._lines = Interner()
        self._of_content: dict[int, list[int]] = {}

    def add(self, content: int, program: Program) -> None:
        if program.own_text is not None:
            self._of_content[content] = [self._lines[line] for line in own_lines(program, 0, program.node_count)]

    def write(self, out: SectionWriter) -> None:
        if not self._of_content or sum(map(len, self._lines)) > _MOST_TEXT:
            return
        out.strings("lines", self._lines)
        for content, numbers in self._of_content.items():
            out.deltas(f"lines{content}", numbers)


def own_lines(program: Program, start: int, stop: int) -> Iterator[str]:
    """The lines of nodes `start` … `stop-1` (numbered over all graphs) of a program with a text of its own."""
    assert program.own_text is not None
    first = 0
    for graph in program:
        if first + len(graph) > start and first < stop:
            yield from program.own_text.lines(graph.name, max(0, start - first), min(len(graph), stop - first))
        first += len(graph)
