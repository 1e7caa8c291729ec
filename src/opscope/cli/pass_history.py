"""`opscope passes --history`: which passes made and changed a node, and the source lines that it computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from opscope.cli.table import table

if TYPE_CHECKING:
    from opscope.program import Frame, Node, NodeKey, Program
    from opscope.recording.history import Step
    from opscope.recording.model import Recording, Snapshot

HEAD = ("#", "pass", "evidence", "what it did")


class NodePast(NamedTuple):
    """What passes did to a node of one module, and the lines that it computes after the last pass that has it."""

    snapshot: Snapshot
    steps: list[Step]
    lines: list[Frame]
    axes: str
    """The axes of the user's mesh along which it works, if it is a collective."""
    graph: str
    """The graph that the node is in, if several have one of this name."""


def pasts_of(recording: Recording, node: str) -> Iterator[NodePast]:
    for snapshot in recording.with_node(node):
        program = snapshot.program
        graphs = [program.main] if node in program.main.position else [graph for graph in program if node in graph.position]
        for graph in graphs:  # Inductor numbers the buffers of the forward and of the backward from 0
            steps = recording.history((graph.name, node), snapshot.index, carried=True)
            lines = sorted({*_lines(program, (graph.name, node)), *_combined_lines(recording, (graph.name, node), steps)})
            home = graph.name if len(graphs) > 1 else ""
            yield NodePast(snapshot, steps, lines, _mesh_axes(recording, snapshot, graph[node]), home)


def _lines(program: Program, key: NodeKey) -> Iterator[Frame]:
    from opscope.analysis.contributing import contributing_lines

    return (line.frame for line in contributing_lines(program, *key))


def _combined_lines(recording: Recording, key: NodeKey, steps: Sequence[Step]) -> Iterator[Frame]:
    """Of a collective that XLA's combiner made of several, those of all of them: it keeps the place of one."""
    waiting = {key}
    for step in reversed(steps):
        before = recording.before(step.snapshot) if waiting.issuperset(step.new) and step.old else None
        if before is None:
            continue
        program = before.program
        waiting = {old for old in step.old if "replica_groups" in program.graphs[old[0]][old[1]].attrs}
        if len(waiting) > 1:
            yield from (line for old in sorted(waiting) for line in _lines(program, old))


def _mesh_axes(recording: Recording, snapshot: Snapshot, node: Node) -> str:
    """The partitioner drops the names of axes, so they come from the program before the first pass."""
    from opscope.analysis.mesh_axes import axes_of, meshes_of

    if "replica_groups" not in node.attrs:
        return ""
    first = next(each for each in recording if each.module == snapshot.module)
    return axes_of(node, meshes_of(first.program))


def past_lines(past: NodePast, node: str, named: bool) -> list[str]:
    snapshot, steps, lines, axes, graph = past
    head = [f"{', '.join(filter(None, (snapshot.module, graph)))}:"] if named else []
    count = f"{len(lines)} source line{'s' * (len(lines) != 1)}"
    computed = ["", f"{node} (after pass {snapshot.index}, {snapshot.title}) computes {count}:", *(f"  {line}" for line in lines)]
    works = ["", f"{node} works along {axes}"] if axes else []
    return [*head, *step_lines(steps, node), *works, *(computed if lines else [])]


def step_lines(steps: Iterable[Step], node: str) -> list[str]:
    """A row for each step; passes in a row that did nothing to the node are one."""
    from opscope.recording.history import CARRIED

    rows: list[tuple[str, str, str, str]] = []
    changed = False
    for carried, run in groupby(steps, lambda step: step.kind == CARRIED):
        if carried:
            rows.append(_carried(list(run)))
        else:
            changed = True
            rows += [(str(step.snapshot.index), step.snapshot.title, step.evidence, str(step)) for step in run]
    return [*([] if changed else [f"no pass changed {node}"]), *(table([HEAD, *rows], "rlll") if rows else [])]


def _carried(steps: list[Step]) -> tuple[str, str, str, str]:
    first, last = steps[0].snapshot, steps[-1].snapshot
    evidence = ", ".join(kind for kind, _ in Counter(step.evidence for step in steps).most_common())
    if len(steps) == 1:
        return str(first.index), first.title, evidence, str(steps[0])
    return f"{first.index}–{last.index}", f"{len(steps):,} passes", evidence, str(steps[0])


def past_json(past: NodePast) -> dict[str, Any]:
    steps = [
        {"index": step.snapshot.index, "pass": step.snapshot.name, "kind": step.kind, "evidence": step.evidence, "text": str(step)}
        for step in past.steps
    ]
    return {
        "module": past.snapshot.module,
        "after": past.snapshot.index,
        "steps": steps,
        "lines": [str(each) for each in past.lines],
        "mesh_axes": past.axes,
        "graph": past.graph,
    }
