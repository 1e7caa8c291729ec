"""Memory as numbers on nodes, by which pictures can be coloured: what is in use when a node runs, and what it holds at the peak."""

from __future__ import annotations

from collections import Counter, defaultdict

from opscope.memory.model import Memory, MemoryOrigin
from opscope.program import Metric, MetricOrigin, Program

LIVE, AT_PEAK = "live bytes", "bytes at peak"
_ORIGINS: dict[MemoryOrigin, MetricOrigin] = {"reported": "given", "computed": "estimated", "measured": "measured"}


def with_memory(program: Program, memory: Memory) -> Program:
    """The program with two metrics: the bytes in use when each node runs, and the bytes of its outputs that are in memory at the peak.

    Ids must be unique in the program, as they are in a module of XLA: nodes whose id occurs twice get no number.
    """
    origin = _ORIGINS[memory.origin]
    counts = Counter(node.id for graph in program for node in graph)
    home = {node.id: graph.name for graph in program for node in graph if counts[node.id] == 1}
    live: dict[str, dict[str, float]] = defaultdict(dict)
    for position, node in enumerate(memory.steps):
        if node in home:
            live[home[node]][node] = memory.bytes_at(position)
    held: dict[str, dict[str, float]] = defaultdict(dict)
    for buffer, _ in memory.live(memory.peak):
        if buffer.node in home and buffer.bytes:
            column = held[home[buffer.node]]
            column[buffer.node] = column.get(buffer.node, 0) + buffer.bytes
    return program.with_columns({Metric(LIVE, "B", "max", origin): live, Metric(AT_PEAK, "B", "sum", origin): held})
