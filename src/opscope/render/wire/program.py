"""Programs as columns of numbers, for the TypeScript core (`web/src/core/program`).

A single program and all programs of a recording have the same format. Everything is written once. A node is a row of numbers that
refers to its operands by name, so the row stays the same as long as no pass changes the node; a graph is runs of rows; a program is its
graphs. A pass that changes ten nodes costs ten rows. Strings, types, groups and details are separate tables.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import repeat
from typing import Any

from opscope.analysis.groupings import EXACT, Described, GroupTree, GroupTrees
from opscope.analysis.loops import times_text
from opscope.analysis.node_text import node_text
from opscope.gc_pause import without_collecting
from opscope.ops import category_of
from opscope.program import ROLES, Details, Graph, Path, Program, Role, TensorType
from opscope.recording.store.pages import runs
from opscope.render.wire.details import DetailsWriter, json_text
from opscope.render.wire.facts import facts_of
from opscope.render.wire.metrics import MetricRows
from opscope.render.wire.nodes import NodeColumns, Row, operand_place, output_names
from opscope.render.wire.ops import write_ops
from opscope.render.wire.own_text import TextWriter
from opscope.render.wire.sections import Interner, SectionWriter
from opscope.render.wire.types import write_types


def encode_wire(program: Program, details: bool = True, own_text: bool = False) -> bytes:
    """One program, as a recording without passes. Without details it is smaller and shows the same picture."""
    writer = ProgramWriter(details, own_text=own_text)
    with without_collecting():
        writer.add(0, program)
        return writer.finish(program.name)


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
        self.seats: dict[tuple[int, ...], int] = {}
        """A node's place in all groupings at once: its path in each, by the grouping's number (-1, or past the end: in no group)."""
        self.nodes = NodeColumns()
        self.row_numbers: dict[Row, int] | None = {} if shares_rows else None
        self.graphs: dict[tuple[Any, ...], int] = {}
        self.programs: dict[int, dict[str, Any]] = {}
        self.facts = Interner()
        self.metrics = MetricRows()
        self.details = DetailsWriter() if details else None
        self.own_text = TextWriter() if own_text else None
        self._described: dict[int, Described] = {}
        self._labels: dict[tuple[int, str, Role, bool], tuple[int, int, int, bool]] = {}
        """Category and text of nodes, their place among operands unless they call graphs, and whether their values have names, by what
        decides them: most nodes of a compiled module share their details."""
        self._result_types: dict[int, tuple[tuple[TensorType, ...], tuple[int, ...]]] = {}
        """The numbers of the types of results, by the identity of the results, which are kept: most nodes share them too."""
        self._role_number = {role: i for i, role in enumerate(ROLES)}

    def add(self, content: int, program: Program) -> None:
        for graph in program:
            for node_id in graph.ids:
                self.strings[node_id]  # ids first, so that their numbers are consecutive
        trees = GroupTrees(program)
        for g, graph in enumerate(program):
            trees.put_graph(g, graph, self._describe)
        hierarchies = {self.groupings[tree.name]: tree for tree in trees.trees()}
        seats = self._seats(hierarchies)
        first = 0
        graphs = []
        for graph in program:
            graphs.append(self._graph(program, graph, seats[first : first + len(graph)], self.metrics.of(program, graph)))
            first += len(graph)
        facts = {name: self.facts[json_text(fact)] for name, fact in facts_of(program, hierarchies.values()).items()}
        if self.own_text is not None:
            self.own_text.add(content, program, self._numbered_attrs)
        head = {"name": program.name, "entry": list(program.graphs).index(program.entry)}
        self.programs[content] = {**head, "graphs": graphs, "groupings": list(hierarchies), "facts": facts}

    def _describe(self, details: Details) -> Described:
        """Decode details once each: nodes may share them (most of a compiled module does), and decoding is the expensive part."""
        described = self._described.get(id(details))
        if described is None:
            attrs, source = details.attrs, details.source
            described = self._described[id(details)] = (attrs, details.scope, source, len(self._described), details)
            if self.details is not None:
                self.details.add(attrs, source)
        return described

    def _numbered_attrs(self, details: Details) -> tuple[int, Mapping[str, Any]]:
        attrs, _, _, number, _ = self._describe(details)
        return number, attrs

    def _seats(self, trees: dict[int, GroupTree]) -> list[int]:
        """The seat of each node; `trees` are by the numbers of their groupings."""
        columns = [self._path_numbers(trees[number]) if number in trees else repeat(-1) for number in range(max(trees) + 1)]
        seats = self.seats
        return [seats.setdefault(paths, len(seats)) for paths in zip(*columns, strict=False)]

    def _path_numbers(self, tree: GroupTree) -> list[int]:
        """The group of each node, as a number in the shared tree of paths."""
        paths: list[Path] = []
        for name, parent in zip(tree.names, tree.parents, strict=True):
            paths.append((*(paths[parent] if parent >= 0 else ()), name))
        numbers = [self.paths.number(path) for path in paths]
        return [numbers[group] if group >= 0 else -1 for group in tree.of_node]

    def _graph(self, program: Program, graph: Graph, seats: list[int], metrics: list[int]) -> int:
        has_kinds = graph.attrs.get("kind") == "autograd"
        strings, types, ops, nodes, row_numbers = self.strings, self.types, self.ops, self.nodes, self.row_numbers
        labels, described, role_number = self._labels, self._described, self._role_number
        result_types = self._result_types
        first = len(nodes)
        members = []
        for node, seat, measured in zip(graph.nodes, seats, metrics, strict=True):
            id_, op, inputs, results, role, calls, control, links, details = node  # quicker than by name
            attrs, _, _, detail, _ = described[id(details)]
            label = labels.get((detail, op, role, has_kinds))
            if label is None:
                text = node_text(node, attrs)
                category = category_of(op, role, str(attrs.get("kind", "")) if has_kinds else "")
                place = operand_place(node, attrs) if node.is_argument else -1
                label = labels[detail, op, role, has_kinds] = (category, strings[text] if text else -1, place, "output_names" in attrs)
            category, text_number, place, has_names = label
            if calls and (times := times_text(program, graph, node)):
                text_number = strings[times]
            typed = result_types.get(id(results))
            if typed is None:
                typed = result_types[id(results)] = (results, tuple([types.setdefault(t, len(types)) for t in results]))
            row: Row = (
                strings[id_],
                ops[op],
                role_number[role],
                category,
                text_number,
                operand_place(node, attrs) if calls else place,
                detail,
                seat,
                measured,
                typed[1],
                tuple([strings[name] for name in output_names(node, attrs)]) if has_names else (),
                tuple([strings[name] for name, _ in inputs]),
                tuple([index for _, index in inputs]),
                tuple([strings[name] for name in calls]) if calls else (),
                tuple([strings[name] for name in control]) if control else (),
                tuple([strings[text] for link in links for text in (link.kind, link.graph, link.node)]) if links else (),
            )
            if row_numbers is None:
                nodes.add(row)
                continue
            number = row_numbers.get(row)
            if number is None:
                number = row_numbers[row] = nodes.add(row)
            members.append(number)
        numbers = members if row_numbers is not None else range(first, len(nodes))
        outputs = tuple([number for name, index in graph.outputs for number in (graph.position[name], index)])
        return self.graphs.setdefault((strings[graph.name], tuple(runs(numbers)), outputs), len(self.graphs))

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
