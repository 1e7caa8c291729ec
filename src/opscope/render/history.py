"""Follows one node, or all nodes, through the passes of a recording, with the core in V8 (`opscope.recording.history` loads this module by
name)."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from opscope.plugin import Progress
from opscope.program import NodeKey, Program
from opscope.recording.changes import Change
from opscope.recording.history import CARRIED, Step
from opscope.recording.model import TAKES_PLACE, Origin, Recording, Snapshot
from opscope.render.draw import host
from opscope.render.wire.compare_passes import compared


def follow(recording: Recording, key: NodeKey, snapshot: Snapshot) -> list[Step]:
    """What every pass of the snapshot's module did to one of its nodes."""
    passes = [other for other in recording if other.module == snapshot.module]
    diffs = [comparison.diff for comparison in compared(recording, snapshots=passes)]
    question = {"lengths": [len(diff) for diff in diffs], "pass": passes.index(snapshot), "node": _Numbers(snapshot.program).number(key)}
    (answer,) = host.run(b"".join(diffs), [("history", question)])
    return [_step(passes[row["pass"] - 1], passes[row["pass"]], row["step"]) for row in json.loads(answer)]


def compose(recording: Recording, before: Snapshot, after: Snapshot, progress: Progress | None = None) -> tuple[Origin, ...]:
    """The links that all passes between two snapshots of a module made, as links from the first to the last."""
    passes = [each for each in recording if each.module == after.module and before.index < each.index <= after.index]
    diffs = [comparison.diff for comparison in compared(recording, progress, passes)]
    question = {"lengths": [len(diff) for diff in diffs], "count": before.program.node_count}
    (answer,) = host.run(b"".join(diffs), [("compose", question)])
    old, new = _Numbers(before.program), _Numbers(after.program)
    return tuple(
        Origin(old.keys(link["old"]), new.keys(link["new"]), link["evidence"], TAKES_PLACE if link["replaced"] else "")
        for link in json.loads(answer)
    )


def _step(before: Snapshot, after: Snapshot, step: dict[str, Any]) -> Step:
    if step["kind"] == CARRIED:  # it names no nodes, so that no program is read for it
        return Step(after, CARRIED, (), (), evidence=step["evidence"])
    changes = tuple(Change(change["field"], change["old"], change["new"]) for change in step["changes"])
    old, new = _Numbers(before.program).keys(step["old"]), _Numbers(after.program).keys(step["new"])
    return Step(after, step["kind"], old, new, changes, step.get("evidence", ""), step.get("rule", ""), step.get("place", ""))


class _Numbers:
    """The wire's numbers of a program's nodes: graph by graph, in order."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graphs = list(program)
        self.first = [0, *accumulate(len(graph) for graph in self.graphs)]

    def number(self, key: NodeKey) -> int:
        graph = self.program[key[0]]
        return self.first[self.graphs.index(graph)] + graph.position[key[1]]

    def keys(self, numbers: Iterable[int]) -> tuple[NodeKey, ...]:
        return tuple(map(self._key, numbers))

    def _key(self, number: int) -> NodeKey:
        graph = bisect_right(self.first, number) - 1
        return self.graphs[graph].name, self.graphs[graph].nodes[number - self.first[graph]].id
