"""The own text of programs on the wire: each line without the names in it, once, and for each node of a program the number of its line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opscope.analysis.groupings import Described
from opscope.program import Details, Graph, NodeColumns, OwnText, Program
from opscope.recording.store.line_templates import LineForm, LineTemplates
from opscope.render.wire.sections import Interner, SectionWriter

_MOST_TEXT = 16 << 20
"""A page with more text than this would be slow to open. It shows nodes in opscope's own form, and a server the text."""

_MOST_TRIED = 6
_BATCH = 4096


class TextWriter:
    """The lines of one or several programs."""

    def __init__(self) -> None:
        self._line_templates = LineTemplates()
        self._templates = Interner()
        self._size = 0
        self._of_content: dict[int, list[int]] = {}

    def add(self, content: int, program: Program, described: Callable[[Details], Described]) -> None:
        """`described` decodes details."""
        if program.own_text is None or self._size > _MOST_TEXT:
            return
        numbers = self._of_content[content] = []
        templates, line_templates = self._templates, self._line_templates
        detail_numbers: dict[int, int] = {}
        for graph in program:
            nodes = graph.nodes
            like = _LikeOthers(nodes, described) if isinstance(nodes, NodeColumns) else None
            for i, line in enumerate(_lines(program.own_text, graph)):
                if like is not None and (known := like.number(i, line)) is not None:
                    numbers.append(known)
                    continue
                node = nodes[i]
                details = detail_numbers.get(id(node.details))
                if details is None:
                    details = detail_numbers[id(node.details)] = described(node.details)[3]
                    line_templates.learn(details, node.details.attrs)
                template = line_templates.template(line, node, details)
                number = templates.get(template)
                if number is None:
                    number = templates[template]
                    self._size += len(template)
                    if self._size > _MOST_TEXT:
                        return
                numbers.append(number)
                if like is not None:
                    like.learn(i, template, number)

    def write(self, out: SectionWriter) -> None:
        if not self._of_content or self._size > _MOST_TEXT:
            return
        out.strings("lines", self._templates)
        for content, numbers in self._of_content.items():
            out.deltas(f"lines{content}", numbers)


class _LikeOthers:
    """Finds the templates of lines in a very large graph: those of other nodes with the same operation, types and attributes, which are
    tried out. A template that gives the line again is one of the line's, and trying takes less time than making one."""

    def __init__(self, nodes: NodeColumns, described: Callable[[Details], Described]) -> None:
        self._nodes = nodes
        self._described = described
        self._known: dict[tuple[int, str, int, int], list[tuple[LineForm, int]]] = {}
        self._texts: dict[int, tuple[list[str], int]] = {}
        """By the number of details that others resemble: the texts of their attributes, and which of them differs."""

    def number(self, i: int, line: str) -> int | None:
        nodes = self._nodes
        start, end = nodes.starts[i], nodes.starts[i + 1]
        if start == end:
            return None
        details = nodes.details[i]
        attrs, _, _, _, kind, _ = self._described(details)
        varies = details.varies()
        known = self._known.get((id(nodes.outputs[i]), nodes.ops[i], end - start, -1 if varies is None else kind))
        if known is None:
            return None
        ids = nodes.ids
        names = [ids[i], *[ids[source] for source in nodes.sources[start:end]]]
        if varies is None:
            texts = _texts_of(attrs)
        else:
            texts, place = self._texts.get(kind) or self._place(kind, attrs, varies[1])
            texts[place] = varies[2]
        for form, number in known:
            if form.line(names, texts) == line:
                return number
        return None

    def _place(self, kind: int, attrs: Mapping[str, Any], name: str) -> tuple[list[str], int]:
        names = [key for key, value in attrs.items() if type(value) is str]
        place = self._texts[kind] = (_texts_of(attrs), names.index(name))
        return place

    def learn(self, i: int, template: str, number: int) -> None:
        """The template of a node's line. A few are tried for nodes like it; what reads nothing has its number or value in its line."""
        nodes, count = self._nodes, self._nodes.starts[i + 1] - self._nodes.starts[i]
        if template and count:
            details = nodes.details[i]
            kind = -1 if details.varies() is None else self._described(details)[4]
            known = self._known.setdefault((id(nodes.outputs[i]), nodes.ops[i], count, kind), [])
            if len(known) < _MOST_TRIED:
                known.append((LineForm(template), number))


def _lines(text: OwnText, graph: Graph) -> Iterator[str]:
    """The lines of a graph's nodes, not all at once."""
    for first in range(0, len(graph), _BATCH):
        yield from text.lines(graph.name, first, min(first + _BATCH, len(graph)))


def _texts_of(attrs: Mapping[str, Any]) -> list[str]:
    return [value for value in attrs.values() if type(value) is str]


def own_lines(program: Program, start: int, stop: int) -> Iterator[str]:
    """The lines of nodes `start` … `stop-1` (numbered over all graphs) of a program with a text of its own."""
    assert program.own_text is not None
    first = 0
    for graph in program:
        if first + len(graph) > start and first < stop:
            yield from program.own_text.lines(graph.name, max(0, start - first), min(len(graph), stop - first))
        first += len(graph)
