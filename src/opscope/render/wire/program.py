"""The wire format: a Program as columns of numbers, the way the TypeScript core (`web/src/core/program/wire.ts`) wants to have it.

Node numbers run over all graphs in order. Strings and types are interned. What a person asks for node by node (attributes, source
frames) is a block of its own, dictionary-coded because compilers repeat themselves, and may be left out and sent later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opscope.analysis.category import category_of
from opscope.analysis.clusters import with_clusters
from opscope.analysis.cost_metrics import with_costs
from opscope.analysis.gradients import with_backward_links
from opscope.analysis.groupings import GroupTree, GroupTrees
from opscope.analysis.loops import first_carried
from opscope.program import ROLES, Details, Frame, Graph, Node, Path, Program, TensorType
from opscope.render.wire.facts import facts_of
from opscope.render.wire.metrics import MetricRows
from opscope.render.wire.sections import Interner, SectionWriter

_LONGEST_TEXT = 80


def encode_wire(program: Program, details: bool = True) -> bytes:
    """The whole program as bytes; without details it is a third of the size and shows the same picture."""
    return _ProgramWriter(with_costs(with_backward_links(with_clusters(program))), details).encode()


def encode_details(program: Program, start: int, stop: int) -> bytes:
    """The details of nodes `start` … `stop-1` (numbered over all graphs), for hosts that send them when asked."""
    block = DetailsWriter()
    number = 0
    for graph in program:
        if number + len(graph) > start and number < stop:
            for node in graph.nodes[max(0, start - number) : stop - number]:
                block.add(node.attrs, node.source, node.details)
        number += len(graph)
    return block.encode(start)


class _Columns:
    """What all nodes are, column by column in the order of the graphs, and what each graph gives."""

    def __init__(self) -> None:
        self.ops: list[int] = []
        self.roles = bytearray()
        self.categories = bytearray()
        self.texts: list[int] = []
        self.places: list[int] = []
        self.metrics: list[int] = []
        self.inputs, self.outputs, self.calls, self.control, self.links, self.results = (Rows() for _ in range(6))

    def write(self, out: SectionWriter) -> None:
        out.integers("nodeOp", self.ops)
        out.block("nodeRole", bytes(self.roles))
        out.block("nodeCategory", bytes(self.categories))
        out.integers("nodeText", self.texts)
        out.integers("nodePlace", self.places)
        out.integers("nodeMetrics", self.metrics)
        self.inputs.write(out, "inputs", "back")
        self.outputs.write(out, "outputs")
        self.calls.write(out, "calls")
        self.control.write(out, "control", "back")
        self.links.write(out, "links")
        self.results.write(out, "graphOutputs")


class _ProgramWriter:
    def __init__(self, program: Program, details: bool) -> None:
        self.program = program
        self.strings = Interner()
        self.types: dict[TensorType, int] = {}
        self.trees = GroupTrees(program)
        self.metrics = MetricRows()
        self.details = DetailsWriter() if details else None
        self.out = SectionWriter()
        self._decoded: dict[int, tuple[Mapping[str, Any], Path, tuple[Frame, ...], Details]] = {}

    def encode(self) -> bytes:
        graphs = list(self.program)
        starts = [0]
        for graph in graphs:
            starts.append(starts[-1] + len(graph))
        number_of = {graph.name: i for i, graph in enumerate(graphs)}
        strings, out = self.strings, self.out

        out.rows("graph.rows", [len(graph) for graph in graphs])
        # Ids first: as strings 0, 1, 2, … in node order their column is almost nothing but ones.
        out.deltas("nodeId", [strings[node.id] for graph in graphs for node in graph.nodes])
        out.integers("graphName", [strings[graph.name] for graph in graphs])

        self._columns(graphs, starts, number_of).write(out)
        write_types(out, self.types, strings)
        trees = self._write_groupings()
        if self.details is not None:
            out.block("details", self.details.encode(0))
        out.strings("strings", strings)
        entry = number_of[self.program.entry]
        head = {"name": self.program.name, "entry": entry, "groupings": [tree.name for tree in trees]}
        return out.finish({**head, **facts_of(self.program, trees), "metrics": self.metrics.write(out)})

    def _columns(self, graphs: list[Graph], starts: list[int], number_of: dict[str, int]) -> _Columns:
        """Every node in one walk: a large program has a hundred thousand."""
        columns = _Columns()
        inputs, outputs, calls, control, links = columns.inputs, columns.outputs, columns.calls, columns.control, columns.links
        strings, types = self.strings, self.types
        role_number = {role: i for i, role in enumerate(ROLES)}
        category_known: dict[tuple[str, str, str], int] = {}
        for g, graph in enumerate(graphs):
            base, position = starts[g], graph.position
            has_kinds = graph.attrs.get("kind") == "autograd"
            self.trees.start_graph(g, graph.groupings)
            columns.metrics.extend(self.metrics.of(self.program, graph))
            for here, node in enumerate(graph.nodes, base):
                columns.ops.append(strings[node.op])
                columns.roles.append(role_number[node.role])
                kind = (node.op, node.role, str(node.attrs.get("kind", "")) if has_kinds else "")
                category = category_known.get(kind)
                if category is None:
                    category = category_known[kind] = category_of(*kind)
                columns.categories.append(category)
                for name, index in node.inputs:
                    inputs.value.append(here - base - position[name])
                    inputs.extra.append(index)
                inputs.length.append(len(node.inputs))
                outputs.value.extend([types.setdefault(t, len(types)) for t in node.outputs])
                outputs.length.append(len(node.outputs))
                calls.value.extend([number_of[name] for name in node.calls])
                calls.length.append(len(node.calls))
                control.value.extend([here - base - position[name] for name in node.control])
                control.length.append(len(node.control))
                for link in node.links:
                    other = number_of[link.graph] if link.graph else g
                    links.value.append(strings[link.kind])
                    links.extra.append(starts[other] + graphs[other].position[link.node])
                links.length.append(len(node.links))
                columns.texts.append(self._describe(node))
                columns.places.append(operand_place(node, node.attrs) if node.role == "parameter" or node.calls else -1)
            for name, index in graph.outputs:
                columns.results.value.append(position[name])
                columns.results.extra.append(index)
            columns.results.length.append(len(graph.outputs))
        return columns

    def _describe(self, node: Node) -> int:
        """Take in what stands in a node's details; the number of its short text.

        Nodes may share their details (most of a compiled module does), and decoding them is the costly part: once each.
        """
        details = node.details
        known = self._decoded.get(id(details))
        if known is None:
            known = self._decoded[id(details)] = (details.attrs, details.scope, details.source, details)
        attrs, scope, source, _ = known
        self.trees.put(node.id, node.op, attrs, scope, source)
        if self.details is not None:
            self.details.add(attrs, source, details)
        text = node_text(node, attrs)
        return self.strings[text] if text else -1

    def _write_groupings(self) -> list[GroupTree]:
        trees = self.trees.trees()
        for i, tree in enumerate(trees):
            self.out.integers(f"grouping{i}.name", [self.strings[name] for name in tree.names])
            self.out.deltas(f"grouping{i}.parent", tree.parents)
            self.out.deltas(f"grouping{i}.graph", tree.graphs)
            self.out.deltas(f"grouping{i}.node", tree.of_node)
        return trees


def write_types(out: SectionWriter, types: Mapping[TensorType, int], strings: Interner) -> None:
    """The table of types: their texts, and sizes where they are known."""
    out.integers("types.text", [strings[str(t)] for t in types])
    out.integers("types.dtype", [strings[t.dtype] for t in types])
    out.integers("types.layout", [strings[t.layout] for t in types])
    out.floats("types.bytes", [-1 if t.bytes is None else t.bytes for t in types])
    out.floats("types.elements", [-1 if t.elements is None or t.dtype.startswith("(") else t.elements for t in types])


class Rows:
    """Rows of numbers, or of pairs of them, under construction."""

    def __init__(self) -> None:
        self.length: list[int] = []
        self.value: list[int] = []
        self.extra: list[int] = []

    def write(self, out: SectionWriter, name: str, coding: str = "plain") -> None:
        out.rows(f"{name}.rows", self.length)
        out.integers(f"{name}.value", self.value, coding)
        if self.extra:
            out.integers(f"{name}.extra", self.extra)


def operand_place(node: Node, attrs: Mapping[str, Any]) -> int:
    """Of a parameter: which operand of a call it stands for, where its source says so (HLO lists parameters in any order; -1: as
    listed). Of a loop: the first operand that it carries from round to round, as its first result (-1: it is no loop)."""
    if node.role != "parameter":
        return first_carried(node) if node.calls else -1
    number = attrs.get("parameter_number", attrs.get("index"))
    return int(number) if isinstance(number, (int, str)) and str(number).isdecimal() and len(str(number)) < 10 else -1


def node_text(node: Node, attrs: Mapping[str, Any]) -> str:
    """What a box says instead of its op: a constant's value, a parameter's label, the library routine of a custom call; of a
    fusion its kind, which stands beside it."""
    value: Any = None
    if node.role == "constant":
        value = next((attrs[key] for key in ("value", "literal") if key in attrs), None)
    elif node.role == "parameter":
        labels = (attrs.get(key) for key in ("label", "metadata.op_name", "op_name", "target", "name"))
        value = next((label for label in labels if label not in (None, "None")), None)
    elif node.role in ("gradient", "saved", "output"):
        value = attrs.get("label")
    elif node.op == "fusion":
        value = attrs.get("kind")
    elif "custom_call_target" in attrs:
        value = str(attrs["custom_call_target"]).strip('"')
    if value is None:
        return ""
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


class DetailsWriter:
    """Attributes and source frames, dictionary-coded: sets of keys, values and stacks of frames are each stored once."""

    def __init__(self) -> None:
        self._keys = Interner()
        self._key_sets: dict[tuple[str, ...], int] = {}
        self._texts = Interner()
        self._plain: dict[str, int] = {}
        self._stacks: dict[tuple[Frame, ...], int] = {(): 0}
        self._frames: dict[Frame, int] = {}
        self._set_of: list[int] = []
        self._values: list[int] = []
        self._stack_of: list[int] = []
        self._rows: dict[int, tuple[int, list[int], int, Details]] = {}

    def add(self, attrs: Mapping[str, Any], source: tuple[Frame, ...], shared: Details) -> None:
        """Add the next node's details. The same `shared` means the same details; it is kept, so that its id stays its own."""
        row = self._rows.get(id(shared))
        if row is None:
            key_set = self._key_sets.setdefault(tuple(attrs), len(self._key_sets))
            values = [self._number(value) for value in attrs.values()]
            row = self._rows[id(shared)] = (key_set, values, self._stacks.setdefault(source, len(self._stacks)), shared)
        self._set_of.append(row[0])
        self._values.extend(row[1])
        self._stack_of.append(row[2])

    def _number(self, value: Any) -> int:
        if type(value) is not str:
            return self._texts[json_text(value)]
        number = self._plain.get(value)
        if number is None:
            number = self._plain[value] = self._texts[json.dumps(value, ensure_ascii=False)]
        return number

    def encode(self, start: int) -> bytes:
        out = SectionWriter()
        sets = Rows()
        for keys in self._key_sets:
            sets.length.append(len(keys))
            sets.value.extend([self._keys[key] for key in keys])
        stacks = Rows()
        for stack in self._stacks:
            stacks.length.append(len(stack))
            stacks.value.extend([self._frames.setdefault(frame, len(self._frames)) for frame in stack])
        out.integers("setOf", self._set_of)
        sets.write(out, "sets")
        out.integers("values", self._values)
        out.integers("stackOf", self._stack_of)
        stacks.write(out, "stacks")
        for name, column in (("file", [f.file for f in self._frames]), ("function", [f.function for f in self._frames])):
            out.integers(f"frames.{name}", [self._keys[text] for text in column])
        out.deltas("frames.line", [frame.line for frame in self._frames])
        out.strings("keys", self._keys)
        out.strings("texts", self._texts)
        return out.finish({"start": start, "count": len(self._set_of)})


def json_text(value: Any) -> str:
    """JSON that every parser takes: no NaN, no infinities; what is no JSON becomes its text."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_as_text)
    except (ValueError, TypeError):
        return json.dumps(str(value), ensure_ascii=False)


def _as_text(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, (set, frozenset)) else str(value)
