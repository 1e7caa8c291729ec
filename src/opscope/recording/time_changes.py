"""How the times of two programs differ, as a metric on their nodes, so that pages and pictures show what `opscope cost A B` lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opscope.program import CHANGE, Metric, NodeKey, Program
from opscope.recording.diff import Diff


def change_of(metric: Metric) -> Metric:
    return replace(metric, name=metric.name + CHANGE)


def has_times(a: Program, b: Program) -> bool:
    return bool(_times(a, b))


def with_time_changes(diff: Diff) -> tuple[Program, Program]:
    """Both programs, with the change of each time that both have. A node of B has the difference to its counterpart in A, or its whole time
    if it is new; a node of A that is gone has its time as a loss, and the others have none, so that nothing counts twice."""
    a, b = diff.a, diff.b
    counterparts = _counterparts(diff)
    gone = {(graph.name, node.id) for graph in a for node in graph.nodes} - set(counterparts)
    columns_a: dict[Metric, Mapping[str, dict[str, float]]] = {}
    columns_b: dict[Metric, Mapping[str, dict[str, float]]] = {}
    for metric in _times(a, b):
        before, after = _column(a, metric), _column(b, metric)
        changes = dict(after)
        for old, new in counterparts.items():
            if old in before:
                changes[new] = changes.get(new, 0.0) - before[old]
        columns_a[change_of(metric)] = _by_graph({key: -seconds for key, seconds in before.items() if key in gone})
        columns_b[change_of(metric)] = _by_graph(changes)
    return a.with_columns(columns_a), b.with_columns(columns_b)


def _times(a: Program, b: Program) -> list[Metric]:
    """The times that add up, and that both programs have numbers for."""
    return [
        metric
        for metric in b.metrics.values()
        if metric.unit == "s" and metric.combine == "sum" and a.metrics.get(metric.name) == metric and _column(a, metric)
    ]


def _counterparts(diff: Diff) -> dict[NodeKey, NodeKey]:
    """The node of B that each node of A became. One that is computed several times now became the first of them."""
    counterparts = dict(diff.pairs())
    for match in diff.compared:
        if len(match.a) == 1 and match.evidence != "slot":
            counterparts.setdefault(match.a[0], match.b[0])
    return counterparts


def _column(program: Program, metric: Metric) -> dict[NodeKey, float]:
    return {(graph.name, id): seconds for graph in program for id, seconds in graph.metrics.get(metric.name, {}).items()}


def _by_graph(values: Mapping[NodeKey, float]) -> dict[str, dict[str, float]]:
    columns: dict[str, dict[str, float]] = {}
    for (graph, id), value in values.items():
        columns.setdefault(graph, {})[id] = value
    return columns
