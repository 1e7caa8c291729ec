"""Where what a checkpoint computes again belongs: to the module that the checkpoint is around, such as one layer.

One group with the recomputation of all layers would be before and after the derivatives of each of them: its picture runs in circles.
"""

from __future__ import annotations

from collections.abc import Sequence

from opscope.limits import MOST_AROUND
from opscope.ops import BARRIERS, facts_of, plain_name
from opscope.program import RECOMPUTED, Graph, Path


def recomputed_parts(graph: Graph, scopes: Sequence[Path | None], marks: Sequence[str]) -> list[Path | None]:
    """The scope that all that is recomputed together has in common, for each node; None for those that are not recomputed."""
    linked = _linked(graph, marks)
    common: dict[int, Path] = {}
    for i, op in enumerate(graph.ops):
        scope = scopes[i]
        if i in linked and scope and plain_name(op) not in BARRIERS and not facts_of(op).forwards:  # barriers are outside of the module
            known = common.get(linked[i])
            common[linked[i]] = scope if known is None else shared_prefix(known, scope)
    homes = set(common.values())
    parts: list[Path | None] = [None] * len(marks)
    for i, mark in enumerate(marks):
        if mark == RECOMPUTED:
            path = (common.get(linked[i]) if i in linked else scopes[i]) or ()
            parts[i] = next((path[:length] for length in range(min(len(path), MOST_AROUND) + 1) if path[:length] in homes), ())
    return parts


def _linked(graph: Graph, marks: Sequence[str]) -> dict[int, int]:
    """A leader for each recomputed node, the same for those that pass values to each other. Constants, which layers share, have none."""
    starts, operands = graph.operands
    leader: dict[int, int] = {}

    def find(i: int) -> int:
        while leader[i] != i:
            leader[i] = i = leader[leader[i]]
        return i

    computed = bytearray(len(marks))
    for i, mark in enumerate(marks):
        reads = operands[starts[i] : starts[i + 1]]
        computed[i] = any(computed[source] or marks[source] != RECOMPUTED for source in reads)
        if mark == RECOMPUTED and computed[i]:
            leader[i] = i
            for source in reads:
                if source in leader:
                    leader[find(i)] = find(source)
    return {i: find(i) for i in leader}


def shared_prefix(a: Path, b: Path) -> Path:
    """What two paths begin with."""
    length = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))  # noqa: B905
    return a[:length]
