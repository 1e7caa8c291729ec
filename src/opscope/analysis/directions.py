"""Which part of a training step each node belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, compress, islice, repeat
from operator import sub

from opscope.ops import BARRIERS, facts_of, plain_name
from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, RECOMPUTED, UPDATE, Graph, NodeColumns, Program, details_of


def directions(
    program: Program, attribute_directions: dict[str, list[str]] | None = None, graphs: Iterable[str] | None = None
) -> dict[str, list[str]]:
    """For each graph, or for those named, the direction of each node: forward, recomputed, backward or update; all "" if nothing is
    differentiated.

    `attribute_directions` has the directions in the nodes' attributes, if the caller has already read them. `graphs` must include the
    callers of each: reading the attributes of all takes long, and what is inside fusions is most of a compiled module.
    """
    if attribute_directions is None:
        names = program.graphs if graphs is None else graphs
        attribute_directions = {name: [str(node.attrs.get(DIRECTION_ATTR, "")) for node in program[name]] for name in names}
    if not any(BACKWARD in marks for marks in attribute_directions.values()):
        return {name: [""] * len(marks) for name, marks in attribute_directions.items()}
    calling: dict[str, Mapping[str, int]] = {}
    for graph in reversed(program.callees_first()):
        if graph.name not in attribute_directions:
            continue
        marks = attribute_directions[graph.name]
        callers = program.callers.get(graph.name, ())
        inherited = ""
        if callers:
            caller_graph, caller = callers[0]
            if caller_graph not in calling:
                calling[caller_graph] = _calling(program[caller_graph])
            inherited = attribute_directions[caller_graph][calling[caller_graph][caller]]
        _spread(graph, marks, inherited)
        if RECOMPUTED in marks:
            _mark_barriers(graph, marks)
    return attribute_directions


def _calling(graph: Graph) -> Mapping[str, int]:
    """The positions of the nodes that call graphs, at least. An index of all nodes of a large graph takes as much memory as their ids."""
    nodes = graph.nodes
    return {nodes.ids[i]: i for i in nodes.calls} if isinstance(nodes, NodeColumns) else graph.position


def _mark_barriers(graph: Graph, marks: list[str]) -> None:
    """Barriers keep XLA from merging recomputed nodes with what they repeat. They, and what forwards their values, are recomputed too."""
    for i in range(len(marks) - 1, -1, -1):
        node = graph.nodes[i]
        is_barrier = plain_name(node.op) in BARRIERS or facts_of(node.op).forwards
        if is_barrier and marks[i] == BACKWARD and any(marks[graph.position[user]] == RECOMPUTED for user in graph.users.get(node.id, ())):
            marks[i] = RECOMPUTED


def _spread(graph: Graph, marks: list[str], inherited: str) -> None:
    """Give unmarked nodes the mark of their operands, and those that no marked node reaches (parameters, constants and what is computed
    from them alone) the mark of their users. An operation with a scope after the backward half belongs to the optimizer."""
    if inherited and not any(marks):
        marks[:] = [inherited] * len(marks)
        return
    starts, operands = graph.operands
    details = details_of(graph.nodes)
    sources: list[int] = []
    for i in [i for i, mark in enumerate(marks) if not mark]:
        arriving = {marks[operand] for operand in operands[starts[i] : starts[i + 1]] if operand < i}
        if UPDATE in arriving or (BACKWARD in arriving and details[i].scope):
            marks[i] = UPDATE
        elif BACKWARD in arriving:
            marks[i] = BACKWARD
        elif arriving & {FORWARD, RECOMPUTED}:
            marks[i] = RECOMPUTED if RECOMPUTED in arriving else FORWARD
        else:
            sources.append(i)
    users: dict[int, list[int]] = {i: [] for i in sources}
    counts = map(sub, islice(starts, 1, None), starts)
    edges = zip(operands, chain.from_iterable(map(repeat, range(len(marks)), counts)), strict=True)
    for operand, user in compress(edges, map(users.__contains__, operands)):
        users[operand].append(user)
    for i in reversed(sources):
        leaving = {marks[user] for user in users[i]}
        marks[i] = next((mark for mark in (FORWARD, RECOMPUTED, BACKWARD, UPDATE) if mark in leaving), inherited or FORWARD)
