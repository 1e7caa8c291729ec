"""The own text of programs on the wire: each line without the names in it, once, and for each node of a program the number of its line."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import compress, islice, repeat
from operator import lt, sub

from opscope.analysis.descriptions import Descriptions
from opscope.program import Details, Graph, Node, NodeColumns, OwnText, Program
from opscope.readers.located_text import KnownLines, LocatedText
from opscope.recording.store.line_templates import NAME_MARK, LineTemplates, text_values
from opscope.render.wire.sections import Interner, Numbers, SectionWriter

_MOST_TEXT = 16 << 20
"""A page with more text than this would be slow to open. It shows nodes in opscope's own form, and a server the text."""

_BATCH = 4096
_MOST_KNOWN = 1 << 14
"""Of so many details, what their lines have in common is remembered. In a very large program, few come again."""


class TextWriter:
    """The lines of one or several programs."""

    def __init__(self) -> None:
        self._line_templates = LineTemplates()
        self._templates = Interner()
        self._size = 0
        self._of_content: dict[int, list[int]] = {}

    def add(self, content: int, program: Program, descriptions: Descriptions) -> None:
        text = program.own_text
        if text is None or self._size > _MOST_TEXT:
            return
        numbers = self._of_content[content] = []
        for graph in program:
            details = descriptions.of(graph)
            known = text.known.get(graph.name) if isinstance(text, LocatedText) else None
            if known is not None and isinstance(graph.nodes, NodeColumns) and known.nodes.ids is graph.nodes.ids:
                numbers += self._of_known(known, graph.nodes, descriptions, details)
            else:
                for i, line in enumerate(_lines(text, graph)):
                    numbers.append(self._number(self._template(line, graph.nodes[i], details[i], descriptions)))
                    if self._size > _MOST_TEXT:
                        return

    def _template(self, line: str, node: Node, details: int, descriptions: Descriptions) -> str:
        if not self._line_templates.knows(details):
            if self._line_templates.size > _MOST_KNOWN:
                self._line_templates = LineTemplates()
            kind = descriptions.kinds[descriptions.kind_of[details]]
            self._line_templates.learn(details, node.details.attrs if kind.varying else kind.attrs)
        return self._line_templates.template(line, node, details)

    def _number(self, template: str) -> int:
        number = self._templates.get(template)
        if number is None:
            number = self._templates[template]
            self._size += len(template)
        return number

    def _of_known(self, lines: KnownLines, nodes: NodeColumns, descriptions: Descriptions, details: Sequence[int]) -> list[int]:
        """The numbers of the templates of lines. Nodes with equal operations, results and kinds of details share one, where it is certain
        that it has all that differs as a mark."""
        kinds = map(descriptions.kind_of.__getitem__, details)
        read = _reading(nodes)
        firsts: dict[tuple[int, str, int, int], int] = {}
        """By key, the first node that has it. Keys of nodes would take a tenth of all memory; these are numbers."""
        key_of = array("I", map(firsts.setdefault, zip(map(id, nodes.outputs), nodes.ops, read, kinds, strict=True), range(len(nodes))))
        templates: dict[int, str] = {}
        alone = set(lines.odd)
        open_keys = set()
        for (_, _, _, kind), i in firsts.items():
            line = lines.line(i)
            templates[i] = self._template(line, nodes[i], details[i], descriptions)
            if i in alone or not _has_marks(templates[i], line, nodes.details[i], descriptions.kinds[kind].varying):
                open_keys.add(i)
        if open_keys:
            alone.update(i for i, key in enumerate(key_of) if key in open_keys)
        number_of: dict[int, int] = {}
        own: dict[int, int] = {}
        for i in sorted({*templates, *alone}):
            template = templates.get(i)
            if template is None:
                template = self._template(lines.line(i), nodes[i], details[i], descriptions)
            own[i] = number_of[key_of[i]] = self._number(template)
            if self._size > _MOST_TEXT:
                return []
        numbers = list(map(number_of.__getitem__, key_of))
        for i in alone:
            numbers[i] = own[i]
        return numbers

    def write(self, out: SectionWriter) -> None:
        if not self._of_content or self._size > _MOST_TEXT:
            return
        out.strings("lines", self._templates)
        for content, numbers in self._of_content.items():
            out.deltas(f"lines{content}", numbers)


def _reading(nodes: NodeColumns) -> array[int]:
    """How many operands each node has; of those that read a value twice, a number for which of their operands are equal."""
    counts = array("i", map(sub, islice(nodes.starts, 1, None), nodes.starts))
    distinct = map(len, map(set, map(islice, repeat(iter(nodes.sources)), counts)))
    repeats: Numbers[tuple[int, ...]] = Numbers()
    for i in list(compress(range(len(nodes)), map(lt, distinct, counts))):
        places: Numbers[int] = Numbers()
        counts[i] = ~repeats[tuple(map(places.__getitem__, nodes.sources[nodes.starts[i] : nodes.starts[i + 1]]))]
    return counts


def _has_marks(template: str, line: str, details: Details, varying: str) -> bool:
    """Whether a template has marks for all names of its line, and for the attribute that differs between details of a kind."""
    if template.count("%") != template.count("%" + NAME_MARK):
        return False
    if not varying:
        return bool(template)
    texts = text_values(details.attrs)
    text = details.attrs[varying]
    return bool(template) and line.count(f'"{text}"') == 1 and texts.count(text) == 1


def _lines(text: OwnText, graph: Graph) -> Iterator[str]:
    """The lines of a graph's nodes, not all at once."""
    for first in range(0, len(graph), _BATCH):
        yield from text.lines(graph.name, first, min(first + _BATCH, len(graph)))


def own_lines(program: Program, start: int, stop: int) -> Iterator[str]:
    """The lines of nodes `start` … `stop-1` (numbered over all graphs) of a program with a text of its own."""
    assert program.own_text is not None
    first = 0
    for graph in program:
        if first + len(graph) > start and first < stop:
            yield from program.own_text.lines(graph.name, max(0, start - first), min(len(graph), stop - first))
        first += len(graph)
