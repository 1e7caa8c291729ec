"""A whole recording as columns of numbers, for pages that bring everything along (`web/src/core/program/recording` reads it).

Everything is written once. A node is a row of numbers that names its operands, so it stays the same row for as long as no pass
touches it; a graph is the rows it is made of, as runs; a program is its graphs. A pass that changes ten nodes costs ten rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from opscope.analysis.category import category_of
from opscope.analysis.clusters import with_clusters
from opscope.analysis.cost_metrics import with_costs
from opscope.analysis.gradients import with_backward_links
from opscope.analysis.groupings import GroupTree, GroupTrees
from opscope.plugin import Progress
from opscope.program import ROLES, Details, Frame, Graph, Node, Path, Program, TensorType
from opscope.recording.model import Recording
from opscope.recording.rows import Row
from opscope.recording.store.pages import runs
from opscope.render.wire.compare_passes import compared
from opscope.render.wire.facts import facts_of
from opscope.render.wire.metrics import MetricRows
from opscope.render.wire.program import DetailsWriter, Rows, json_text, node_text, operand_place, write_types
from opscope.render.wire.sections import Interner, SectionWriter

_Described = tuple[Mapping[str, Any], Path, tuple[Frame, ...], int, Details]


def encode_recording(recording: Recording, progress: Progress | None = None) -> bytes:
    """Programs, rows and diffs of all passes, to be decoded one by one."""
    writer = _RecordingWriter()
    rows: list[Row] = []
    diffs: dict[int, bytes] = {}
    for snapshot, found in zip(recording, compared(recording, progress), strict=True):
        if snapshot.content not in writer.programs:
            writer.program(snapshot.content, with_costs(with_backward_links(with_clusters(snapshot.program))))
        rows.append(Row(snapshot, *found[:4]))
        if found.diff:
            diffs[snapshot.index] = found.diff
    return writer.encode(recording, rows, diffs)


def pass_rows(recording: Recording, rows: Iterable[Row | None]) -> list[dict[str, Any]]:
    """What a timeline shows. A row that is not known yet has no counts."""
    found = []
    for snapshot, row in zip(recording, rows, strict=True):
        before = recording.before(snapshot)
        counts = {} if row is None else {"added": row.added, "removed": row.removed, "changed": row.changed}
        found.append(
            {
                "name": snapshot.name,
                "pipeline": list(snapshot.pipeline),
                "module": snapshot.module,
                "seconds": snapshot.seconds,
                "nodes": snapshot.nodes,
                "content": snapshot.content,
                "before": -1 if before is None else before.index,
                **counts,
            }
        )
    return found


class _RecordingWriter:
    """Numbers for everything that is new. A row is made of numbers only, so comparing rows is cheap."""

    def __init__(self) -> None:
        self.strings = Interner()
        self.types: dict[TensorType, int] = {}
        self.groupings = Interner()
        self.paths = GroupTree("paths")
        self.paths.start_graph(0)
        self.nodes: dict[tuple[Any, ...], int] = {}
        self.graphs: dict[tuple[Any, ...], int] = {}
        self.programs: dict[int, dict[str, Any]] = {}
        self.facts = Interner()
        self.metrics = MetricRows()
        self.details = DetailsWriter()
        self._described: dict[int, _Described] = {}
        self._detail_count = 0

    def program(self, content: int, program: Program) -> None:
        trees = GroupTrees(program)
        described = []
        for g, graph in enumerate(program):
            trees.start_graph(g, graph.groupings)
            for node in graph.nodes:
                attrs, scope, source, number, _ = self._describe(node.details)
                trees.put(node.id, node.op, attrs, scope, source)
                described.append((attrs, number))
        known = trees.trees()
        columns = [self._path_numbers(tree) for tree in known]
        numbers = [self.groupings[tree.name] for tree in known]
        first = 0
        graphs = []
        for graph in program:
            paths = list(zip(*(column[first : first + len(graph)] for column in columns), strict=True))
            metrics = self.metrics.of(program, graph)
            graphs.append(self._graph(graph, described[first : first + len(graph)], numbers, paths, metrics))
            first += len(graph)
        names = list(program.graphs)
        facts = {name: self.facts[json_text(fact)] for name, fact in facts_of(program, known).items()}
        head = {"name": program.name, "entry": names.index(program.entry)}
        self.programs[content] = {**head, "graphs": graphs, "groupings": numbers, "facts": facts}

    def _describe(self, details: Details) -> _Described:
        known = self._described.get(id(details))
        if known is None:
            attrs, source = details.attrs, details.source
            known = self._described[id(details)] = (attrs, details.scope, source, self._detail_count, details)
            self.details.add(attrs, source, details)
            self._detail_count += 1
        return known

    def _path_numbers(self, tree: GroupTree) -> list[int]:
        """The tree's groups as numbers of the shared one, node by node."""
        paths: list[Path] = []
        for name, parent in zip(tree.names, tree.parents, strict=True):
            paths.append((*(paths[parent] if parent >= 0 else ()), name))
        numbers = [self.paths.number(path) for path in paths]
        return [numbers[group] if group >= 0 else -1 for group in tree.of_node]

    def _graph(
        self,
        graph: Graph,
        described: list[tuple[Mapping[str, Any], int]],
        groupings: list[int],
        paths: list[tuple[int, ...]],
        metrics: list[int],
    ) -> int:
        kinds = graph.attrs.get("kind") == "autograd"
        members = []
        for node, (attrs, detail), own, numbers in zip(graph.nodes, described, paths, metrics, strict=True):
            row = (*self._row(node, attrs, detail, kinds, tuple(zip(groupings, own, strict=True))), numbers)
            members.append(self.nodes.setdefault(row, len(self.nodes)))
        outputs = tuple([number for name, index in graph.outputs for number in (graph.position[name], index)])
        return self.graphs.setdefault((self.strings[graph.name], tuple(runs(members)), outputs), len(self.graphs))

    def _row(self, node: Node, attrs: Mapping[str, Any], detail: int, kinds: bool, paths: tuple[tuple[int, int], ...]) -> tuple[Any, ...]:
        strings, types = self.strings, self.types
        text = node_text(node, attrs)
        return (
            strings[node.id],
            strings[node.op],
            ROLES.index(node.role),
            category_of(node.op, node.role, str(attrs.get("kind", "")) if kinds else ""),
            strings[text] if text else -1,
            operand_place(node, attrs),
            detail,
            tuple([types.setdefault(t, len(types)) for t in node.outputs]),
            tuple([number for name, index in node.inputs for number in (strings[name], index)]),
            tuple([strings[name] for name in node.calls]),
            tuple([strings[name] for name in node.control]),
            tuple([strings[text] for link in node.links for text in (link.kind, link.graph, link.node)]),
            paths,
        )

    def encode(self, recording: Recording, rows: list[Row], diffs: dict[int, bytes]) -> bytes:
        out = SectionWriter()
        columns = list(zip(*self.nodes, strict=True)) or [()] * 14
        ids, ops, roles, categories, texts, places, details, outputs, inputs, calls, control, links, paths, metrics = columns
        out.deltas("nodeId", ids)
        out.integers("nodeOp", ops)
        out.block("nodeRole", bytes(roles))
        out.block("nodeCategory", bytes(categories))
        out.integers("nodeText", texts)
        out.integers("nodePlace", places)
        out.integers("nodeMetrics", metrics)
        out.deltas("nodeDetail", details)
        _write_rows(out, "outputs", outputs)
        _write_rows(out, "inputs", [row[::2] for row in inputs], [row[1::2] for row in inputs], ids)
        _write_rows(out, "calls", calls)
        _write_rows(out, "control", control)
        _write_rows(out, "links", links)
        for number in self.groupings.values():
            out.deltas(f"path{number}", [dict(row).get(number, -1) for row in paths])
        out.integers("paths.name", [self.strings[name] for name in self.paths.names])
        out.deltas("paths.parent", self.paths.parents)
        out.integers("graphName", [graph[0] for graph in self.graphs])
        _write_rows(out, "graphNodes", [graph[1] for graph in self.graphs])
        _write_rows(out, "graphOutputs", [graph[2] for graph in self.graphs])
        write_types(out, self.types, self.strings)
        out.block("details", self.details.encode(0))
        out.strings("strings", self.strings)
        for index, block in diffs.items():
            out.block(f"diff{index}", block)
        head = {"kind": "recording", "name": recording.name, "passes": pass_rows(recording, rows)}
        programs = {str(content): program for content, program in self.programs.items()}
        facts = [json.loads(fact) for fact in self.facts]
        head["metrics"] = self.metrics.write(out)
        return out.finish({**head, "programs": programs, "groupings": list(self.groupings), "facts": facts})


def _write_rows(
    out: SectionWriter, name: str, rows: Iterable[tuple[int, ...]], extra: Iterable[tuple[int, ...]] = (), own: Iterable[int] = ()
) -> None:
    """Rows of numbers; with `own`, each number as its distance from the row's own, which is small where names follow each other."""
    found = Rows()
    bases = list(own)
    for i, row in enumerate(rows):
        found.length.append(len(row))
        found.value.extend([bases[i] - value for value in row] if bases else row)
    for row in extra:
        found.extra.extend(row)
    found.write(out, name)
