"""The own text of programs on the wire: each line without the names in it, once, and for each node of a program the number of its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opscope.program import Details, Program
from opscope.recording.store.line_templates import LineTemplates
from opscope.render.wire.sections import Interner, SectionWriter

_MOST_TEXT = 16 << 20
"""A page with more text than this would be slow to open. It shows nodes in opscope's own form, and a server the text."""


class TextWriter:
    """The lines of one or several programs."""

    def __init__(self) -> None:
        self._line_templates = LineTemplates()
        self._templates = Interner()
        self._size = 0
        self._of_content: dict[int, list[int]] = {}

    def add(self, content: int, program: Program, described: Callable[[Details], tuple[int, Mapping[str, Any]]]) -> None:
        """`described` gives the number and the attributes of a node's details."""
        if program.own_text is None or self._size > _MOST_TEXT:
            return
        numbers = self._of_content[content] = []
        templates, line_templates = self._templates, self._line_templates
        detail_numbers: dict[int, int] = {}
        for graph in program:
            for node, line in zip(graph.nodes, program.own_text.lines(graph.name, 0, len(graph)), strict=True):
                details = detail_numbers.get(id(node.details))
                if details is None:
                    details, attrs = described(node.details)
                    detail_numbers[id(node.details)] = details
                    line_templates.learn(details, attrs)
                template = line_templates.template(line, node, details)
                number = templates.get(template)
                if number is None:
                    number = templates[template]
                    self._size += len(template)
                    if self._size > _MOST_TEXT:
                        return
                numbers.append(number)

    def write(self, out: SectionWriter) -> None:
        if not self._of_content or self._size > _MOST_TEXT:
            return
        out.strings("lines", self._templates)
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
