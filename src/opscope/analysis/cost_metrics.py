"""FLOPs and bytes of every operation as metrics: the viewer, pictures and files show what `opscope info` totals."""

from __future__ import annotations

from opscope.analysis.cost import FREE, CostModel
from opscope.program import Metric, Program

FLOPS = Metric("flops", "FLOP", "sum", "estimated")
BYTES = Metric("bytes", "B", "sum", "estimated")
"""Read and written by one run."""
INTENSITY = Metric("intensity", "FLOP/B", "ratio:flops/bytes", "estimated")
"""Arithmetic intensity: an operation with a low one is limited by memory."""


def with_costs(program: Program) -> Program:
    """The program with estimated FLOPs and bytes, unless it already has them (a file that was saved with them).

    An operation of unknown cost has no number (nor has a loop of unknown length), and one that costs nothing has 0. The
    nodes inside a fusion or a reduction have no bytes: their values never reach memory.
    """
    missing = [metric for metric in (FLOPS, BYTES) if metric.name not in program.metrics]
    if not missing:
        return program
    costs = CostModel(program)
    flops: dict[str, dict[str, float]] = {}
    moved: dict[str, dict[str, float]] = {}
    inlined = costs.inlined
    for graph in program:
        endless = {node.id for node in graph.calling if costs.has_unknown_length(graph, node)}
        counted = [(id, cost) for id, cost in zip(graph.ids, costs.nodes(graph), strict=True) if cost is not FREE and id not in endless]
        flops[graph.name] = {id: cost.flops for id, cost in counted if cost.flops or not cost.unknown_flops}
        in_memory = () if graph.name in inlined else counted
        moved[graph.name] = {id: cost.bytes for id, cost in in_memory if cost.bytes or not cost.unknown_bytes}
    columns = {FLOPS: flops, BYTES: moved}
    estimated = [metric for metric in missing if any(any(column.values()) for column in columns[metric].values())]
    added: dict[Metric, dict[str, dict[str, float]]] = {metric: columns[metric] for metric in estimated}
    names = program.metrics.keys() | {metric.name for metric in estimated}
    if INTENSITY.name not in names and {FLOPS.name, BYTES.name} <= names:
        added[INTENSITY] = {}
    return program.with_columns(added) if added else program
