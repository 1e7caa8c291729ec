"""Which half of a training step each node belongs to."""

from __future__ import annotations

from collections.abc import Iterable

from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, UPDATE, Graph, Program


def directions(
    program: Program, attribute_directions: dict[str, list[str]] | None = None, graphs: Iterable[str] | None = None
) -> dict[str, list[str]]:
    """For each graph, or for those named, the direction of each node: forward, backward or update; all "" if nothing is differentiated.

    `attribute_directions` has the directions in the nodes' attributes, if the caller has already read them. `graphs` must include the
    callers of each: reading the attributes of all takes long, and what is inside fusions is most of a compiled module.
    """
    if attribute_directions is None:
        names = program.graphs if graphs is None else graphs
        attribute_directions = {name: [str(node.attrs.get(DIRECTION_ATTR, "")) for node in program[name]] for name in names}
    if not any(BACKWARD in marks for marks in attribute_directions.values()):
        return {name: [""] * len(marks) for name, marks in attribute_directions.items()}
    for graph in reversed(program.callees_first()):
        if graph.name not in attribute_directions:
            continue
        marks = attribute_directions[graph.name]
        callers = program.callers.get(graph.name, ())
        inherited = ""
        if callers:
            caller_graph, caller = callers[0]
            inherited = attribute_directions[caller_graph][program[caller_graph].position[caller]]
        _spread(graph, marks, inherited)
    return attribute_directions


def _spread(graph: Graph, marks: list[str], inherited: str) -> None:
    """Give unmarked nodes the mark of their operands, and those that no marked node reaches (parameters, constants and what is computed
    from them alone) the mark of their users. An operation with a scope after the backward half belongs to the optimizer."""
    position = graph.position
    if inherited and not any(marks):
        marks[:] = [inherited] * len(marks)
        return
    sources: list[int] = []
    for i, node in enumerate(graph.nodes):
        if marks[i]:
            continue
        arriving = {marks[position[name]] for name, _ in node.inputs if position[name] < i}
        if UPDATE in arriving or (BACKWARD in arriving and node.scope):
            marks[i] = UPDATE
        elif BACKWARD in arriving:
            marks[i] = BACKWARD
        elif FORWARD in arriving:
            marks[i] = FORWARD
        else:
            sources.append(i)
    for i in reversed(sources):
        leaving = {marks[position[user]] for user in graph.users.get(graph.nodes[i].id, ())}
        marks[i] = next((mark for mark in (FORWARD, BACKWARD, UPDATE) if mark in leaving), inherited or FORWARD)
