"""Encodes programs as numbered records, and decodes them. Equal names, texts, details, nodes and graphs are stored once.

A node is a row of numbers. It refers to its operands by name, so it keeps its number as long as it does not change, even if its position
does; a graph that a pass leaves alone is one number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from itertools import accumulate, islice, repeat
from types import MappingProxyType
from typing import Any

from opscope.errors import SourceError, blamed_on_source
from opscope.gc_pause import without_collecting
from opscope.limits import Budget, decompressed
from opscope.program import (
    NO_DETAILS,
    Column,
    Details,
    Frame,
    Graph,
    GraphBuilder,
    KnownDetails,
    Link,
    Metric,
    Node,
    OwnText,
    Path,
    Program,
    TensorType,
    wrong_details,
    wrong_part,
)
from opscope.recording.store.line_templates import LineTemplates, line_of
from opscope.recording.store.pages import (
    RECORDS_PER_PAGE,
    Page,
    PageIndex,
    deltas,
    pack_columns,
    pack_json,
    runs,
    spans,
    unpack_columns,
    unpack_json,
)
from opscope.recording.store.values import from_json, to_json

DAMAGED = "is a damaged recording"
KINDS = ("name", "text", "detail", "line", "node", "graph")
HEAD = 6
"""The numbers of a node before its operands: name, op, types, rest, details, line."""
_MOST_DETAILS = 1 << 16
_FIRST = json.JSONDecoder()
_Row = tuple[int, ...]


class Encoder:
    """Numbers records, and remembers the numbers. Records are new until `keep` is called; `forget` takes their numbers back."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Any, int]] = {kind: {} for kind in KINDS}
        self._outputs: dict[tuple[TensorType, ...], int] = {}
        self._new: dict[str, list[Any]] = {kind: [] for kind in KINDS}
        self._rests: dict[tuple[Any, ...], int] = {}
        self._templates: dict[tuple[str, int, str, tuple[Any, ...]], int] = {}
        """By the line, details, and the node and operands: a line may name what is not an operand."""
        self._line_templates = LineTemplates()
        self._scopes: dict[Path, str] = {}
        self._sources: dict[tuple[Frame, ...], str] = {}
        """Many nodes share a scope, or the frames of their source: their JSON."""
        self._start()

    def _start(self) -> None:
        """Give 0 to what most nodes have: no calls, control edges and links, no details, and no line of an own text."""
        self._rests["op", (), (), ()] = self.number("text", "")
        self.number("detail", to_json([{}, (), ()]))
        self.number("line", "")

    def number(self, kind: str, record: Any) -> int:
        """The number of a record; a new record gets the next free one."""
        numbers = self._numbers[kind]
        number = numbers.get(record)
        if number is None:
            number = numbers[record] = len(numbers)
            self._new[kind].append(record)
        return number

    def program(self, program: Program) -> bytes:
        """The body of a snapshot: its graphs and its entry."""
        detail_numbers: dict[int, int] = {}
        with without_collecting():
            graphs = [self._graph(graph, detail_numbers, program.own_text) for graph in list(program)]
        metrics = [[each.name, each.unit, each.combine, each.origin] for each in program.metrics.values()]
        return self.body(program.name, program.entry, to_json(program.attrs) if program.attrs else "", graphs, metrics)

    def body(self, name: str, entry: str, attrs: str, graphs: list[int], metrics: list[list[str]]) -> bytes:
        """Metrics come last, and only if there are any, so that programs without metrics keep their bytes."""
        return pack_json([name, entry, attrs, runs(graphs), *([metrics] if metrics else [])])

    def _graph(self, graph: Graph, detail_numbers: dict[int, int], text: OwnText | None) -> int:
        lines = repeat("", len(graph)) if text is None else text.lines(graph.name, 0, len(graph))
        numbers = [self._node(node, detail_numbers, line) for node, line in zip(graph.nodes, lines, strict=True)]
        groupings = {name: _pack_grouping(graph, paths) for name, paths in graph.groupings.items()}
        attrs = to_json(graph.attrs) if graph.attrs else ""
        metrics = [{name: _pack_column(graph, column) for name, column in graph.metrics.items()}] if graph.metrics else []
        return self.number("graph", to_json([graph.name, list(graph.outputs), groupings, attrs, *metrics, runs(numbers)]))

    def _node(self, node: Node, detail_numbers: dict[int, int], line: str) -> int:
        id, op, inputs, outputs, role, calls, control, links, details = node
        number = self.number
        types = self._outputs.get(outputs)
        if types is None:
            types = self._outputs[outputs] = number("text", to_json([list(t) for t in outputs]))
        rest = self._rests.get(fields := (role, calls, control, links))
        if rest is None:
            rest = self._rests[fields] = number("text", to_json(list(fields)))
        detail = detail_numbers.get(key := builtin_id(details))
        if detail is None:
            detail = detail_numbers[key] = self._detail(details)
        template = self._templates.get(key_of_line := (line, detail, id, inputs))
        if template is None:
            template = self._templates[key_of_line] = number("line", self._line_templates.template(line, node, detail))
        row = [number("name", id), number("text", op), types, rest, detail, template]
        for name, index in inputs:
            row.append(number("name", name))
            row.append(index)
        return number("node", tuple(row))

    def _detail(self, details: Details) -> int:
        if details is NO_DETAILS:
            return 0
        attrs, scope, source = details.attrs, details.scope, details.source
        if scope not in self._scopes:
            self._scopes[scope] = to_json(scope)
        if source not in self._sources:
            self._sources[source] = to_json([list(frame) for frame in source])
        number = self.number("detail", f"[{to_json(attrs)},{self._scopes[scope]},{self._sources[source]}]")
        self._line_templates.learn(number, attrs)
        return number

    def keep(self) -> None:
        """The new records are stored."""
        self._new = {kind: [] for kind in KINDS}

    def forget(self) -> None:
        """The new records could not be stored: whoever needs them again gets new numbers."""
        for kind, records in self._new.items():
            for record in records:
                del self._numbers[kind][record]
        texts = len(self._numbers["text"])
        self._outputs = {types: number for types, number in self._outputs.items() if number < texts}
        self._rests = {rest: number for rest, number in self._rests.items() if number < texts}
        self._templates.clear()
        self._line_templates = LineTemplates()
        self.keep()
        self._start()

    @property
    def new_records(self) -> dict[str, list[Any]]:
        """The new records, by kind."""
        return self._new

    def new_pages(self) -> Iterator[Page]:
        for kind, records in self._new.items():
            start = len(self._numbers[kind]) - len(records)
            for at in range(0, len(records), RECORDS_PER_PAGE):
                part = records[at : at + RECORDS_PER_PAGE]
                yield Page(kind, start + at, len(part), _pack_nodes(part) if kind == "node" else pack_json(part))


builtin_id = id
"""The built-in `id`. Nodes share details; an object is encoded once per program, which keeps it alive in the meantime."""


def _pack_nodes(rows: list[_Row]) -> bytes:
    """Columns: name, op, types, rest, details, operand count; then the operands, each name relative to the node's name; then lines of own
    texts, if there are any."""
    ids, ops, types, rests, details, lines = (list(column) for column in zip(*(row[:HEAD] for row in rows), strict=True))
    names = [row[0] - name for row in rows for name in row[HEAD::2]]
    indexes = [index for row in rows for index in row[HEAD + 1 :: 2]]
    counts = [(len(row) - HEAD) // 2 for row in rows]
    return pack_columns([deltas(ids), ops, types, rests, deltas(details), counts, names, indexes, *([lines] if any(lines) else [])])


def _pack_grouping(graph: Graph, paths: Mapping[str, tuple[str, ...]]) -> Any:
    """The distinct paths, and for each node of the graph the number of its path (0: none)."""
    distinct: dict[tuple[str, ...], int] = {}
    of = [distinct.setdefault(tuple(paths[node.id]), len(distinct)) + 1 if node.id in paths else 0 for node in graph.nodes]
    return [list(distinct), of]


def _pack_column(graph: Graph, column: Column) -> Any:
    """The positions of the nodes that have a value, as runs, and the values in that order."""
    positions = [i for i, node in enumerate(graph.nodes) if node.id in column]
    return [runs(positions), [column[graph.nodes[i].id] for i in positions]]


class Decoder:
    """Reads programs. Snapshots share nodes: the same record is the same object."""

    def __init__(self, fetch: Callable[[str, int], bytes], source: str, file_size: int | None = None) -> None:
        """`fetch` returns the bytes of a page. All pages of a file may unpack to a multiple of its size."""

        def index(kind: str, unpack: Callable[[bytes], list[Any]]) -> PageIndex[Any]:
            return PageIndex(lambda first: fetch(kind, first), unpack)

        self._source = source
        self._budget = None if file_size is None else Budget(file_size)
        self._flat: dict[str, list[str]] = {"name": [], "text": []}
        self._loaded = {"name": 0, "text": 0}
        self.indexes: dict[str, PageIndex[Any]] = {
            "name": index("name", self._json_list),
            "text": index("text", self._json_list),
            "detail": index("detail", self._json_list),
            "line": index("line", self._json_list),
            "node": index("node", self._unpack_nodes),
            "graph": index("graph", self._json_list),
        }
        self._line_numbers = index("node", self._unpack_lines)
        """The line of each node: read only if somebody looks at texts."""
        self._types: dict[int, tuple[TensorType, ...]] = {}
        self._details: dict[int, KnownDetails] = {}
        self.found_out: dict[str, Any] = {}
        self._rests: dict[int, tuple[Any, ...]] = {}
        self._graphs: dict[int, Graph] = {}
        self._called: dict[int, frozenset[str]] = {}

    def all_of(self, kind: str) -> list[str]:
        """Every name or text. They are few compared with nodes, and a flat list makes unpacking nodes fast."""
        index, flat = self.indexes[kind], self._flat[kind]
        while self._loaded[kind] < len(index.firsts):
            flat += index.page(self._loaded[kind])
            self._loaded[kind] += 1
        return flat

    def program(self, body: bytes) -> Program:
        with self._blamed(), without_collecting():
            name, entry, attrs, graph_runs, *metrics = unpack_json(body)
            runs = self.indexes["graph"].spans(graph_runs)
            numbers = {self._graph_name(number): number for first, end in runs for number in range(first, end)}
            if not isinstance(name, str):
                raise SourceError(f"{DAMAGED} (the name of a program is not text)")
            if entry not in numbers:
                raise SourceError(f"{DAMAGED} (its entry {entry!r} names no graph)")
            definitions = {definition[0]: Metric(*definition) for definition in (metrics[0] if metrics else ())}
            attributes = MappingProxyType(from_json(attrs) if attrs else {})
            own_text = StoredText(self, numbers) if self.indexes["line"].firsts else None
            return Program(name, StoredGraphs(self, numbers), entry, attributes, MappingProxyType(definitions), own_text)

    def lines(self, graph: int, start: int, stop: int) -> list[str]:
        """The lines of nodes `start` … `stop-1` of a graph, from those of its nodes without the names in them."""
        nodes = self.graph(graph).nodes[start:stop]
        with self._blamed():
            *_, node_runs = from_json(self.indexes["graph"][graph])
            runs = self.indexes["node"].spans(node_runs)
            numbers = islice((number for first, end in runs for number in range(first, end)), start, stop)
            self._line_numbers.firsts = self.indexes["node"].firsts
            templates = self.indexes["line"]
            return [line_of(templates[self._line_numbers[number]], node) for number, node in zip(numbers, nodes, strict=True)]

    def _blamed(self) -> AbstractContextManager[None]:
        return blamed_on_source(DAMAGED, source=self._source)

    def _graph_name(self, number: int) -> str:
        """The first field of a graph's record, without decoding the rest."""
        return str(_FIRST.raw_decode(self.indexes["graph"][number], 1)[0])

    def details(self, number: int) -> KnownDetails:
        details = self._details.get(number)
        if details is None:
            with self._blamed():
                attrs, scope, source = from_json(self.indexes["detail"][number])
                details = KnownDetails(dict(attrs), tuple(scope), tuple(Frame(*frame) for frame in source))
                _refuse(wrong_details(details))
            if len(self._details) >= _MOST_DETAILS:
                self._details.clear()
                self.found_out.clear()
            self._details[number] = details
        return details

    def graph(self, number: int) -> Graph:
        """A graph by its number; the same number is the same object."""
        graph = self._graphs.get(number)
        if graph is None:
            with self._blamed(), without_collecting():
                graph = self._graphs[number] = self._build(self.indexes["graph"][number])
        return graph

    def called(self, number: int) -> frozenset[str]:
        """The graphs that the nodes of a graph call. Programs share graphs, so each of them has to check that it has these."""
        called = self._called.get(number)
        if called is None:
            called = self._called[number] = frozenset(name for node in self.graph(number).nodes for name in node.calls)
        return called

    def _build(self, record: str) -> Graph:
        name, outputs, groupings, attrs, *metrics, node_runs = from_json(record)
        nodes = self.indexes["node"]
        graph = GraphBuilder(str(name))
        graph.take(node for first, end in nodes.spans(node_runs) for node in nodes.slice(first, end))
        graph.outputs = [tuple(ref) for ref in outputs]
        for grouping, (paths, of) in groupings.items():
            at = [tuple(path) for path in paths]
            graph.groupings[grouping] = {node.id: at[i - 1] for node, i in zip(graph.nodes, of, strict=True) if i}
        for metric, (positions, values) in (metrics[0] if metrics else {}).items():
            ids = [node.id for first, end in spans(positions) for node in graph.nodes[first:end]]
            graph.metrics[metric] = dict(zip(ids, values, strict=True))
        graph.attrs.update(from_json(attrs) if attrs else {})
        return graph.build()

    def _unpack_nodes(self, data: bytes) -> list[Node]:
        ids, ops, types, rests, details, counts, operands, indexes, *_ = unpack_columns(data, self._decompress)
        names, texts, outputs, decoded = self.all_of("name"), self.all_of("text"), self._output_types, self._rests
        nodes = []
        at = 0
        for name, op, type_, rest, detail, count in zip(accumulate(ids), ops, types, rests, accumulate(details), counts, strict=True):
            end = at + count
            inputs = tuple([(names[name - operands[i]], indexes[i]) for i in range(at, end)])
            at = end
            lazy = StoredDetails(self, detail) if detail else NO_DETAILS
            role, calls, control, links = decoded.get(rest) or self._rest(rest, texts[rest])
            nodes.append(Node(names[name], texts[op], inputs, outputs(type_), role, calls, control, links, lazy))
        return nodes

    def _unpack_lines(self, data: bytes) -> list[int]:
        ids, _, _, _, _, _, _, _, *lines = unpack_columns(data, self._decompress)
        return lines[0] if lines else [0] * len(ids)

    def _rest(self, number: int, text: str) -> tuple[Any, ...]:
        """Role, calls, control edges and links: nearly all nodes share a few combinations."""
        role, calls, control, links = from_json(text) if text else ("op", (), (), ())
        fields: tuple[Any, ...] = (role, tuple(calls), tuple(control), tuple(Link(*link) for link in links))
        _refuse(wrong_part(Node("", "", (), (), *fields)))
        self._rests[number] = fields
        return fields

    def _json_list(self, data: bytes) -> list[str]:
        return list(map(str, unpack_json(data, self._decompress)))

    def _decompress(self, data: bytes) -> bytes:
        content = decompressed(data)
        if self._budget is not None:
            self._budget.take(len(content))
        return content

    def _output_types(self, number: int) -> tuple[TensorType, ...]:
        types = self._types.get(number)
        if types is None:
            fields = from_json(self.all_of("text")[number])
            types = self._types[number] = tuple(TensorType(dtype, tuple(shape), layout) for dtype, shape, layout in fields)
        return types


class StoredGraphs(Mapping[str, Graph]):
    """The graphs of a stored program, each decoded on first use, so that looking at one does not decode thousands."""

    def __init__(self, decoder: Decoder, numbers: dict[str, int]) -> None:
        self._decoder = decoder
        self._numbers = numbers
        self._read: dict[str, Graph] = {}

    @property
    def found_out(self) -> dict[str, Any]:
        """What others found out about the nodes and details of this store: programs share nearly all of them."""
        return self._decoder.found_out

    def __getitem__(self, name: str) -> Graph:
        graph = self._read.get(name)
        if graph is None:
            number = self._numbers[name]
            absent = self._decoder.called(number) - self._numbers.keys()
            if absent:
                raise SourceError(f"{DAMAGED} (graph {name!r} calls {min(absent)!r}, which it does not contain)")
            graph = self._read[name] = self._decoder.graph(number)
        return graph

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class StoredText:
    """The own text of a stored program (see `opscope.program.OwnText`)."""

    def __init__(self, decoder: Decoder, numbers: dict[str, int]) -> None:
        self._decoder = decoder
        self._numbers = numbers

    def lines(self, graph: str, start: int, stop: int) -> list[str]:
        return self._decoder.lines(self._numbers[graph], start, stop)


class StoredDetails(Details):
    """Details that are still in the store. Two with the same number in one store are equal without being decoded."""

    __slots__ = ("_decoder", "number")

    def __init__(self, decoder: Decoder, number: int) -> None:
        self._decoder = decoder
        self.number = number

    @property
    def _decoded(self) -> KnownDetails:
        return self._decoder.details(self.number)

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self._decoded.attrs

    @property
    def scope(self) -> tuple[str, ...]:
        return self._decoded.scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return self._decoded.source

    def __eq__(self, other: object) -> bool:
        if isinstance(other, StoredDetails) and other._decoder is self._decoder and other.number == self.number:
            return True
        return super().__eq__(other)

    __hash__ = None


def _refuse(problem: tuple[str, str]) -> None:
    """Refuse a part of a node that the model does not allow; no writer of opscope writes one."""
    field, reason = problem
    if field:
        raise SourceError(f"{DAMAGED} ({field} {reason})")
