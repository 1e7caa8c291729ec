"""The half of each node, from the seed: gradients are the backward half, what is not linear in them is the update, the rest is forward."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from opscope.analysis.halves.dependence import PASSING, PRODUCTS, QUOTIENTS
from opscope.analysis.halves.links import forward_operations
from opscope.analysis.halves.propagate import Propagation, TooIntricateError, Values, Visit
from opscope.analysis.halves.seed import MOST_CANDIDATES, Seed, candidates, find_seed
from opscope.ops import plain_name
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
    dtype_kind,
)  # fmt: skip

_FROM = "from structure: which values are linear in the gradient of the loss"
NOTE = (
    "Forward and backward are inferred from structure, because the operations have no names. JAX writes the names with "
    'lowered.as_text("hlo", debug_info=True); opscope.capture keeps them.'
)
_SHAPING = PASSING - {"gather", "dynamic_slice", "get_tuple_element", "negate", "neg"}
"""Operations that backpropagation applies to a saved value before it multiplies a gradient with it."""


class Halves(NamedTuple):
    directions: dict[str, dict[str, str]]
    """For each graph, the direction of its nodes, as far as it can be inferred."""
    forward: dict[str, dict[str, str]]
    """For each graph, the forward operations of gradients, where they are certain."""


def with_halves(program: Program) -> Program:
    """The program with its halves marked, if its operations have no names that say more and its structure shows the halves."""
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
    bits = candidates(program)
    if not bits or len(bits) > MOST_CANDIDATES:
        return None
    try:
        seed = find_seed(program, Propagation(program, bits), bits)
        if seed is None:
            return None
        visits = Propagation(program, {seed.use: 1}).visits
    except TooIntricateError:
        return None
    whole_steps = _graphs_with(program, seed)
    by_graph: dict[str, list[Visit]] = {}
    for name, visit in visits:
        by_graph.setdefault(name, []).append(visit)
    halves = Halves({}, {})
    for name, several in by_graph.items():
        graph = program[name]
        if name in whole_steps:
            halves.directions[name] = _Marks(graph, several[-1], whole_steps).of_nodes()
            halves.forward[name] = forward_operations(graph, several[-1])
        elif all(any(value.any for values in visit.arguments for value in values) for visit in several):
            halves.directions[name] = {node.id: _joined(visit.values[node.id] for visit in several) for node in graph if node.role == "op"}
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


def _joined(ways: Iterable[Values]) -> str:
    """The direction of a node of a graph that the backward half calls."""
    marks = {_mark(values) or BACKWARD for values in ways}
    return marks.pop() if len(marks) == 1 else BACKWARD


def _mark(values: Values) -> str:
    if any(value.linear or value.after for value in values):
        return BACKWARD
    return UPDATE if any(value.other for value in values) else ""


class _Marks:
    """The directions in the graph in which backpropagation starts."""

    def __init__(self, graph: Graph, visit: Visit, whole_steps: Container[str]) -> None:
        self.graph = graph
        self.visit = visit
        self.whole_steps = whole_steps
        self.results = {name for name, _ in graph.outputs if plain_name(graph[name].op) == "tuple"}
        self.marks: dict[str, str] = {}

    def of_nodes(self) -> dict[str, str]:
        for node in self.graph:
            contains_both = node.id in self.results or any(name in self.whole_steps for name in node.calls)
            self.marks[node.id] = "" if contains_both or node.role != "op" else _mark(self.visit.values[node.id])
        for node in reversed(self.graph.nodes):
            if node.role == "op" and node.id not in self.results:
                self._from_users(node)
        return {name: mark for name, mark in self.marks.items() if mark}

    def _from_users(self, node: Node) -> None:
        users = [name for name in self.graph.users.get(node.id, ()) if name not in self.results]
        users_marks = {self.marks[name] for name in users}
        mark = self.marks[node.id]
        if mark == BACKWARD:
            if users_marks == {UPDATE} and self._scales(node):
                self.marks[node.id] = UPDATE
        elif not mark:
            self.marks[node.id] = self._independent(node, users_marks)

    def _independent(self, node: Node, users_marks: set[str]) -> str:
        """A value that does not depend on gradients: a forward value, unless only the other halves use it."""
        if users_marks == {UPDATE}:
            return UPDATE
        if users_marks == {BACKWARD} and plain_name(node.op) in _SHAPING:
            return BACKWARD
        if users_marks & {FORWARD, BACKWARD}:
            return FORWARD
        is_result = not users_marks and any(dtype_kind(output.dtype) == "float" for output in node.outputs)
        return FORWARD if is_result else ""

    def _scales(self, node: Node) -> bool:
        """Whether it only multiplies a gradient by a number, as an optimizer does with its learning rate."""
        if plain_name(node.op) not in PRODUCTS | QUOTIENTS:
            return False
        return any(not self.visit.of(name).any and self._is_number(name) for name, _ in node.inputs)

    def _is_number(self, name: str) -> bool:
        node = self.graph[name]
        while node.inputs and plain_name(node.op) in _SHAPING:
            node = self.graph[node.inputs[0][0]]
        return not node.outputs or node.outputs[0].shape == ()


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


def _graphs_with(program: Program, seed: Seed) -> set[str]:
    """The graph in which backpropagation starts, and those that call it."""
    names, waiting = {seed.use[0]}, [seed.use[0]]
    while waiting:
        for caller, _ in program.callers.get(waiting.pop(), ()):
            if caller not in names:
                names.add(caller)
                waiting.append(caller)
    return names
