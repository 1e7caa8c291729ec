"""The kernel lane: what the device did in one step, in the order of time, by stream.

A program has it as an attribute, in columns, so that it is saved with the program. Times are whole nanoseconds since the step began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

from opscope.program import NodeKey, Program

LANE = "kernel_lane"
"""The program's attribute."""
_COLUMNS = ("start", "duration", "kernel", "stream", "node")
_MOST = 20_000
"""The shortest pieces of work beyond this many are left out."""


class Piece(NamedTuple):
    """A kernel or copy that ran. Times are in seconds, from any beginning."""

    kernel: str
    node: NodeKey | None
    stream: str
    start: float
    seconds: float


def typical(seconds: Sequence[float]) -> int:
    """The step that takes as long as most: of those in order of their time, the one in the middle. There must be one."""
    return sorted(range(len(seconds)), key=seconds.__getitem__)[len(seconds) // 2]


def with_lane(program: Program, step: Sequence[Piece]) -> Program:
    """The program with the pieces of a step; those of other programs have no node."""
    if not step:
        return program
    shown = sorted(sorted(step, key=lambda piece: -piece.seconds)[:_MOST], key=attrgetter("start"))
    begin = min(piece.start for piece in step)
    kernels, streams, nodes = _Numbers(), _Numbers(), _Numbers()
    for stream in sorted({piece.stream for piece in shown}):
        streams[stream]
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for piece in shown:
        is_here = piece.node is not None and piece.node[0] in program.graphs and piece.node[1] in program.graphs[piece.node[0]]
        row = (
            round((piece.start - begin) * 1e9),
            round(piece.seconds * 1e9),
            kernels[piece.kernel],
            streams[piece.stream],
            nodes[piece.node] if is_here else -1,
        )
        for name, value in zip(_COLUMNS, row, strict=True):
            columns[name].append(value)
    lane = {
        "kernels": list(kernels),
        "streams": list(streams),
        "nodes": [list(node) for node in nodes],
        **columns,
        "left_out": len(step) - len(shown),
    }
    return replace(program, attrs={**program.attrs, LANE: lane})


class _Numbers(dict[Any, int]):
    """Numbers things in the order in which they are first asked for."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


def lane_facts(program: Program, starts: Mapping[str, int]) -> dict[str, Any]:
    """The lane for the wire, with nodes by number (`starts` has the first number of each graph). Nothing if there is none, or if a file
    has something else in its place."""
    lane: Any = program.attrs.get(LANE)
    try:
        columns: dict[str, list[int]] = {name: [int(value) for value in lane[name]] for name in _COLUMNS}
        numbers = [starts[graph] + program.graphs[graph].position[node] for graph, node in lane["nodes"]]
        kernels, streams = [str(name) for name in lane["kernels"]], [str(name) for name in lane["streams"]]
        if len({len(column) for column in columns.values()}) != 1:
            return {}
        for name, names in (("kernel", kernels), ("stream", streams)):
            if any(not 0 <= number < len(names) for number in columns[name]):
                return {}
        columns["node"] = [numbers[node] if node >= 0 else -1 for node in columns["node"]]
        return {"lane": {**columns, "kernels": kernels, "streams": streams, "leftOut": int(lane["left_out"])}}
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, OverflowError):
        return {}
