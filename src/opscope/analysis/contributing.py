"""The lines of the user's program that a node computes: of a kernel or a fusion all of them, not only that of its root."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opscope.program import LINES_ATTR, Frame, Node, NodeKey, Program

_MOST_NODES = 10_000
"""The body of a loop may be the whole model, and its lines say nothing about the loop."""


class Line(NamedTuple):
    """A line, and the nodes that come from it."""

    frame: Frame
    nodes: tuple[NodeKey, ...]


def own_lines(node: Node) -> Sequence[Frame]:
    """The lines of a node itself: the innermost of its frames, or those that it was given."""
    given = node.attrs.get(LINES_ATTR) if node.attrs else None
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [frame for frame in map(_frame, given) if frame is not None]
    return node.source[:1]


def contributing_lines(program: Program, graph: str, node: str) -> list[Line]:
    """The lines of a node and of the graphs that it calls, by file and line."""
    nodes: dict[Frame, list[NodeKey]] = {}
    for key, each in _computed(program, graph, node):
        for frame in own_lines(each):
            nodes.setdefault(frame, []).append(key)
    return [Line(frame, tuple(nodes[frame])) for frame in sorted(nodes)]


def _computed(program: Program, graph: str, node: str) -> Iterable[tuple[NodeKey, Node]]:
    """The node, and what it calls; only the node if that is more than a kernel computes."""
    first = program[graph][node]
    found = [((graph, node), first)]
    waiting, seen = list(first.calls), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        found += [((name, each.id), each) for each in program[name]]
        if len(found) > _MOST_NODES:
            return found[:1]
        waiting += [called for each in program[name].calling for called in each.calls]
    return found


def _frame(given: object) -> Frame | None:
    if not isinstance(given, Sequence) or len(given) != len(Frame._fields):
        return None
    file, line, function = given
    return Frame(file, line, function) if isinstance(file, str) and isinstance(line, int) and isinstance(function, str) else None
