"""Programs as columns of numbers, for the TypeScript core (`web/src/core/program`).

A single program and all programs of a recording have the same format. Everything is written once. A node is a row of numbers that
refers to its operands by name, so the row stays the same as long as no pass changes the node; a graph is runs of rows; a program is its
graphs. A pass that changes ten nodes costs ten rows. Strings, types, groups and details are separate tables.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, TypeAlias

from opscope.analysis.called_values import CalledValues
from opscope.analysis.descriptions import Descriptions
from opscope.analysis.groupings import EXACT, GroupTree, GroupTrees
from opscope.analysis.loops import times_text
from opscope.analysis.node_text import node_text
from opscope.gc_pause import without_collecting
from opscope.ops import category_of
from opscope.program import (
    ROLES,
    Graph,
    Node,
    NodeColumns,
    Program,
    Role,
    TensorType,
    calls_of,
    control_of,
    inputs_of,
    links_of,
)
from opscope.recording.store.pages import runs
from opscope.render.wire.details import DetailsWriter, json_text
from opscope.render.wire.facts import facts_of
from opscope.render.wire.metrics import MetricRows
from opscope.render.wire.nodes import NAMES_ATTR, RESULTS_ATTR, GraphColumns, Row, Rows, forwarding, operand_place, output_names
from opscope.render.wire.ops import write_ops
from opscope.render.wire.own_text import TextWriter
from opscope.render.wire.sections import Interner, Numbers, SectionWriter
from opscope.render.wire.types import write_types

_Decided: TypeAlias = tuple[int, str, Role, bool]
"""What decides the label of a node: the kind of its details, operation, role, and whether attributes have its kind."""


def encode_wire(program: Program, details: bool = True, own_text: bool = False, **fields: Any) -> bytes:
    """One program, as a recording without passes. Without details it is smaller and shows the same picture."""
    writer = ProgramWriter(details, own_text=own_text)
    with without_collecting():
        writer.add(0, program)
        return writer.finish(program.name, **fields)


class ProgramWriter:
    """Numbers everything once. A row consists only of numbers, so comparing rows is cheap."""

    def __init__(self, details: bool = True, shares_rows: bool = False, own_text: bool = False) -> None:
        """`shares_rows` is for several programs that have most of their nodes in common, `own_text` for those who read it."""
        self.strings = Interner()
        self.types: dict[TensorType, int] = {}
        self.ops = Interner()
        self.groupings = Interner()
        self.paths = GroupTree("paths")
        self.paths.start_graph(0)
        self.seats: Numbers[tuple[int, ...]] = Numbers()
        """A node's place in all groupings at once: its path in each, by the grouping's number (-1, or past the end: in no group)."""
        self.nodes = Rows()
        self.row_numbers: dict[Row, int] | None = {} if shares_rows else None
        self.graphs: dict[tuple[Any, ...], int] = {}
        self.programs: dict[int, dict[str, Any]] = {}
        self.facts = Interner()
        self.metrics = MetricRows()
        self.details = DetailsWriter() if details else None
        self.own_text = TextWriter() if own_text else None
        self._descriptions = Descriptions(self.details)
        self._labels: dict[_Decided, tuple[int, int, int, bool]] = {}
        """Category and text of nodes, their place among operands unless they call graphs, and whether their values have names, by what
        decides them: most nodes of a compiled module share their details."""
        self._with_names: set[_Decided] = set()
        """Those of them whose values have names."""
        self._result_types: dict[int, tuple[tuple[TensorType, ...], tuple[int, ...]]] = {}
        """The numbers of the types of results, by the identity of the results, which are kept: most nodes share them too."""
        self._role_number = {role: i for i, role in enumerate(ROLES)}

    def add(self, content: int, program: Program) -> None:
        firsts = [self.strings.add(graph.ids) for graph in program]  # ids first, so that their numbers are consecutive
        trees = GroupTrees(program, self._descriptions)
        for g, graph in enumerate(program):
            trees.put_graph(g, graph)
        hierarchies = {self.groupings[tree.name]: tree for tree in trees.trees()}
        seats = self._seats(hierarchies)
        first = 0
        graphs = []
        values = CalledValues(program)
        for graph, first_id in zip(program, firsts, strict=True):
            metrics = self.metrics.of(program, graph)
            graphs.append(self._graph(program, graph, first_id, values, seats[first : first + len(graph)], metrics))
            first += len(graph)
        facts = {name: self.facts[json_text(fact)] for name, fact in facts_of(program, hierarchies.values()).items()}
        if self.own_text is not None:
            self.own_text.add(content, program, self._descriptions)
        self._descriptions.forget_graphs()
        head = {"name": program.name, "entry": list(program.graphs).index(program.entry)}
        self.programs[content] = {**head, "graphs": graphs, "groupings": list(hierarchies), "facts": facts}

    def _seats(self, trees: dict[int, GroupTree]) -> array[int]:
        """The seat of each node; `trees` are by the numbers of their groupings."""
        columns = [self._path_numbers(trees[number]) if number in trees else repeat(-1) for number in range(max(trees) + 1)]
        return array("i", map(self.seats.__getitem__, zip(*columns, strict=False)))

    def _path_numbers(self, tree: GroupTree) -> list[int]:
        """The group of each node, as a number in the shared tree of paths."""
        numbers: list[int] = []
        for name, parent in zip(tree.names, tree.parents, strict=True):
            numbers.append(self.paths.child(numbers[parent] if parent >= 0 else -1, name))
        return [numbers[group] if group >= 0 else -1 for group in tree.of_node]

    def _graph(
        self, program: Program, graph: Graph, first_id: int | None, values: CalledValues, seats: Sequence[int], metrics: list[int]
    ) -> int:
        columns = self._columns(program, graph, first_id, values, seats, metrics)
        numbers: Iterable[int]
        if self.row_numbers is None:
            first = len(self.nodes)
            self.nodes.extend(columns)
            numbers = range(first, len(self.nodes))
        else:
            numbers = [self._row_number(row, self.row_numbers) for row in columns.rows()]
        places = graph.places([name for name, _ in graph.outputs])
        outputs = tuple([number for place, (_, index) in zip(places, graph.outputs, strict=True) for number in (place, index)])
        return self.graphs.setdefault((self.strings[graph.name], tuple(runs(numbers)), outputs), len(self.graphs))

    def _row_number(self, row: Row, row_numbers: dict[Row, int]) -> int:
        number = row_numbers.get(row)
        if number is None:
            number = row_numbers[row] = self.nodes.add(row)
        return number

    def _columns(
        self, program: Program, graph: Graph, first_id: int | None, values: CalledValues, seats: Sequence[int], metrics: list[int]
    ) -> GraphColumns:
        """The rows of a graph. What differs from node to node is looked up in one pass, in which strings get their numbers. `first_id` is
        the number of its first id, if those of the others follow it."""
        nodes, strings, labels = graph.nodes, self.strings, self._labels
        has_kinds = graph.attrs.get("kind") == "autograd"
        ops, roles = list(graph.ops), list(graph.roles)
        calls, links, control = calls_of(nodes), links_of(nodes), control_of(nodes)
        descriptions = self._descriptions
        details = descriptions.of(graph)
        kinds = list(map(descriptions.kind_of.__getitem__, details))
        described = descriptions.kinds
        decided = list(zip(kinds, ops, roles, repeat(has_kinds, len(ops)), strict=True))
        first_use = dict(zip(reversed(decided), range(len(decided) - 1, -1, -1), strict=True))
        new = {i: key for key, i in first_use.items() if key not in labels}
        rows_of_links: dict[int, tuple[int, ...]] = {}
        parts = values.parts_of_stacks(graph) if calls else {}
        texts, places, names_of = {}, {}, {}
        calls_row, links_row = {}, {}
        for i in sorted({*new, *calls, *links, *self._named(decided, new)}):
            key = decided[i]
            if i in new:
                labels[key] = self._label(Node("", key[1], role=key[2]), described[kinds[i]].attrs, has_kinds)
            called, linked = calls.get(i), links.get(i)
            if called:
                node = nodes[i]
                if times := times_text(program, graph, node):
                    texts[i] = strings[times]
                places[i] = forwarding(parts[node.id]) if node.id in parts else operand_place(node, described[kinds[i]].attrs)
            if labels[key][3]:
                node = nodes[i]
                names_of[i] = tuple([strings[name] for name in output_names(node, described[kinds[i]].attrs)])
            if called:
                calls_row[i] = tuple([strings[name] for name in called])
            if linked:
                row = rows_of_links.get(id(linked))
                if row is None:
                    row = tuple([strings[text] for link in linked for text in (link.kind, link.graph, link.node)])
                    rows_of_links[id(linked)] = row
                links_row[i] = row
        label_of = list(map(labels.__getitem__, decided))
        number_of = strings.__getitem__
        counts, inputs, indices = inputs_of(nodes)
        ids: Iterable[int] = map(number_of, graph.ids)
        operands = map(number_of, inputs)
        if first_id is not None and isinstance(nodes, NodeColumns):
            ids, operands = range(first_id, first_id + len(nodes)), map(first_id.__add__, nodes.sources)
        controlled = {i: tuple([strings[name] for name in names]) for i, names in control.items()}
        text_numbers, operand_places = list(map(itemgetter(1), label_of)), list(map(itemgetter(2), label_of))
        for column, own in ((text_numbers, texts), (operand_places, places)):
            for i, number in own.items():
                column[i] = number
        return GraphColumns(
            (
                ids,
                map(self.ops.__getitem__, ops),
                map(self._role_number.__getitem__, roles),
                map(itemgetter(0), label_of),
                text_numbers,
                operand_places,
                details,
                seats,
                metrics,
            ),
            map(self._type_numbers, graph.types),
            _rare(names_of, len(nodes)),
            list(counts),
            operands,
            indices,
            _rare(calls_row, len(nodes)),
            _rare(controlled, len(nodes)),
            _rare(links_row, len(nodes)),
        )

    def _named(self, decided: Sequence[_Decided], new: Mapping[int, _Decided]) -> Iterable[int]:
        """The nodes whose values have names, which few sources say."""
        named = self._with_names
        named.update(key for key in new.values() if _has_names(self._descriptions.kinds[key[0]].attrs))
        return [i for i, key in enumerate(decided) if key in named] if named else ()

    def _label(self, node: Node, attrs: Mapping[str, Any], has_kinds: bool) -> tuple[int, int, int, bool]:
        """What follows from operation, role and attributes."""
        text = node_text(node, attrs)
        category = category_of(node.op, node.role, str(attrs.get("kind", "")) if has_kinds else "")
        place = operand_place(node, attrs) if node.is_argument else -1
        return category, self.strings[text] if text else -1, place, _has_names(attrs)

    def _type_numbers(self, results: tuple[TensorType, ...]) -> tuple[int, ...]:
        typed = self._result_types.get(id(results))
        if typed is None:
            types = self.types
            typed = self._result_types[id(results)] = (results, tuple([types.setdefault(t, len(types)) for t in results]))
        return typed[1]

    def finish(
        self, name: str, passes: list[dict[str, Any]] | None = None, diffs: Mapping[int, bytes] | None = None, **fields: Any
    ) -> bytes:
        """The bytes of all programs; `passes` are rows of a timeline, each of which refers to its program by `content`."""
        out, strings = SectionWriter(), self.strings
        self.nodes.write(out, self.details is not None)
        out.integers("graphName", [name for name, _, _ in self.graphs])
        out.table("graphNodes", [members for _, members, _ in self.graphs])
        out.table("graphOutputs", [outputs for _, _, outputs in self.graphs])
        for number in self.groupings.values():
            out.deltas(f"path{number}", [seat[number] if number < len(seat) else -1 for seat in self.seats])
        out.integers("paths.name", [strings[text] for text in self.paths.names])
        out.deltas("paths.parent", self.paths.parents)
        write_ops(out, self.ops, strings)
        write_types(out, self.types, strings)
        if self.details is not None:
            out.block("details", self.details.encode(0))
        if self.own_text is not None:
            self.own_text.write(out)
        out.strings("strings", strings)
        for index, block in (diffs or {}).items():
            out.block(f"diff{index}", block)
        programs = {str(content): program for content, program in self.programs.items()}
        facts = [json.loads(fact) for fact in self.facts]
        exact = [number for name, number in self.groupings.items() if name in EXACT]
        head = {"name": name, "passes": passes or [], "programs": programs, "exactGroupings": exact, **fields}
        return out.finish({**head, "groupings": list(self.groupings), "facts": facts, "metrics": self.metrics.write(out)})


def _rare(rows: Mapping[int, tuple[int, ...]], size: int) -> Iterable[tuple[int, ...]]:
    """A row for each of so many nodes, most of which have nothing."""
    return map(rows.get, range(size), repeat(())) if rows else [()] * size


def _has_names(attrs: Mapping[str, Any]) -> bool:
    return NAMES_ATTR in attrs or RESULTS_ATTR in attrs
