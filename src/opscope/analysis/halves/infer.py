"""The half of each node: gradients are the backward half, what is not linear in them is the update, the rest is forward."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from opscope.analysis.halves.links import forward_operations
from opscope.analysis.halves.marks import Marks, of_called
from opscope.analysis.halves.propagate import Propagation, TooIntricateError, Use, Visit
from opscope.analysis.halves.seed import find_seeds
from opscope.program import (
    BACKWARD,
    BACKWARD_OF,
    DIRECTION_ATTR,
    FORWARD,
    INFERRED_ATTR,
    UPDATE,
    Details,
    Frame,
    Graph,
    Link,
    Node,
    Path,
    Program,
)  # fmt: skip

_FEWEST = 2
"""A program with fewer operations does not have two halves."""
_FROM = "from structure: which values are linear in the gradient of the loss"
NOTE = (
    "Forward and backward are inferred from structure, because the operations have no names. JAX writes the names with "
    'lowered.as_text("hlo", debug_info=True); opscope.capture keeps them.'
)


class Halves(NamedTuple):
    directions: dict[str, dict[str, str]]
    """For each graph, the direction of its nodes, as far as it can be inferred."""
    forward: dict[str, dict[str, str]]
    """For each graph, the forward operations of gradients, where they are certain."""


def with_halves(program: Program) -> Program:
    """The program with its halves marked, if its operations have no names that say more and its structure shows the halves."""
    if sum(list(graph.roles).count("op") for graph in program) < _FEWEST:
        return program
    if any(node.scope or node.attrs.get(DIRECTION_ATTR) for graph in program for node in graph if node.role == "op"):
        return program
    halves = inferred_halves(program)
    if halves is None:
        return program
    graphs = {name: _marked(graph, halves.directions.get(name, {}), halves.forward.get(name, {})) for name, graph in program.graphs.items()}
    attrs = {**program.attrs, INFERRED_ATTR: _FROM, "notes": [*program.attrs.get("notes", ()), NOTE]}
    return replace(program, graphs=MappingProxyType(graphs), attrs=MappingProxyType(attrs))


def inferred_halves(program: Program) -> Halves | None:
    """The halves of a training step; None if the program is not one, or if that cannot be decided."""
    try:
        seeds = find_seeds(program)
        if seeds is None:
            return None
        visits = Propagation(program, dict.fromkeys(seeds.uses, 1)).visits
    except TooIntricateError:
        return None
    whole_steps = _graphs_with(program, seeds.uses)
    by_graph: dict[str, list[Visit]] = {}
    for name, visit in visits:
        by_graph.setdefault(name, []).append(visit)
    halves = Halves({}, {})
    for name, several in by_graph.items():
        graph = program[name]
        if name in whole_steps:
            visit = next((each for each in several if not each.given), several[-1])  # a loop over steps gives what the last one updated
            marks = Marks(graph, visit, whole_steps, seeds.losses.get(name, ()))
            halves.directions[name] = marks.of_nodes()
            if not seeds.losses and marks.is_ambiguous():
                return None
            halves.forward[name] = forward_operations(graph, visit)
        elif all(visit.given for visit in several):
            halves.directions[name] = of_called(graph, several)
    return halves if _coherent(program, halves.directions) else None


def _coherent(program: Program, directions: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether the halves can be those of a step: an update reads gradients and arguments, not values of the forward half, and what a
    forward node calls has no gradients."""
    for name, marks in directions.items():
        graph = program[name]
        for node_id, mark in marks.items():
            node = graph[node_id]
            if mark == UPDATE and any(marks.get(operand) == FORWARD for operand, _ in node.inputs):
                return False
            if mark == FORWARD and any(BACKWARD in directions.get(called, {}).values() for called in node.calls):
                return False
    return True


class _InferredDetails(Details):
    """The details of a node, decoded on demand as before, and its direction."""

    __slots__ = ("_details", "_direction")

    def __init__(self, details: Details, direction: str) -> None:
        self._details = details
        self._direction = direction

    @property
    def attrs(self) -> Mapping[str, Any]:
        return MappingProxyType({**self._details.attrs, DIRECTION_ATTR: self._direction, INFERRED_ATTR: _FROM})

    @property
    def scope(self) -> Path:
        return self._details.scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return self._details.source


def _marked(graph: Graph, directions: Mapping[str, str], forward: Mapping[str, str]) -> Graph:
    def marked(node: Node) -> Node:
        direction = directions.get(node.id)
        if not direction:
            return node
        links = (Link(BACKWARD_OF, forward[node.id]),) if direction == BACKWARD and node.id in forward else ()
        return node._replace(details=_InferredDetails(node.details, direction), links=node.links + links)

    return replace(graph, nodes=tuple(map(marked, graph)))


def _graphs_with(program: Program, seeds: Iterable[Use]) -> set[str]:
    """The graphs in which backpropagation starts, and those that call them."""
    waiting = [graph for graph, _, _ in seeds]
    names = set(waiting)
    while waiting:
        for caller, _ in program.callers.get(waiting.pop(), ()):
            if caller not in names:
                names.add(caller)
                waiting.append(caller)
    return names
