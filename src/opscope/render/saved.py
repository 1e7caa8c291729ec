"""What the forward half of a training step saves for the backward half: the same values as in pictures, with the core in V8."""

from __future__ import annotations

import json
from typing import NamedTuple

from opscope.analysis.halves import with_halves
from opscope.program import BACKWARD, DIRECTION_ATTR, Program
from opscope.render.draw import host
from opscope.render.wire.program import encode_wire


class Saved(NamedTuple):
    """An output of a node that the backward half reads."""

    graph: str
    node: str
    output: int
    bytes: int | None


def saved_for_backward(program: Program) -> list[Saved]:
    """All values that are saved, in the order of the program. Empty if it has no backward half."""
    program = with_halves(program)
    if not _may_have_halves(program):
        return []
    _, answer = host.run(encode_wire(program), [("load", None), ("saved", None)])
    nodes = [(graph.name, node.id) for graph in program for node in graph]
    rows = [(*nodes[node], output, size) for node, output, size in sorted(json.loads(answer))]
    return [Saved(graph, node, output, size if size >= 0 else None) for graph, node, output, size in rows]


def _may_have_halves(program: Program) -> bool:
    """Is anything called backward, by direction or by its outermost module? The core decides; starting it would take longer than this."""
    return any(BACKWARD in (node.attrs.get(DIRECTION_ATTR), *node.scope[:1]) for graph in program for node in graph)
