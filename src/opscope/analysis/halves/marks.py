"""The direction of each node, once it is known on which edges backpropagation starts."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from opscope.analysis.halves.dependence import PASSING, PRODUCTS, QUOTIENTS, SUMS_OF_ALL
from opscope.analysis.halves.loss import numbers
from opscope.analysis.halves.propagate import Values, Visit
from opscope.ops import plain_name
from opscope.program import BACKWARD, FORWARD, UPDATE, Graph, Node, dtype_kind

_SHAPING = PASSING - {"gather", "dynamic_slice", "get_tuple_element", "negate", "neg"}
"""Operations that backpropagation applies to a saved value before it multiplies a gradient with it."""
_NEGATIONS, _CONVERSIONS = frozenset(("negate", "neg")), frozenset(("convert", "convert_element_type"))
_NEGATED = _NEGATIONS | {"subtract", "sub"}
_PARTS = frozenset(("slice", "dynamic_slice", "split"))

_OF_STATE = SUMS_OF_ALL | {"multiply", "mul", "divide", "div", "negate", "neg", "convert", "broadcast", "broadcast_in_dim", "reshape"}
_LARGEST_STATE = 12
"""How many nodes compute a new value of a count or an average from the old one, at most."""

_Form: TypeAlias = tuple[object, ...]
"""What an operation does to a gradient, or what an operation of the forward half does that has such a derivative."""


def of_called(graph: Graph, visits: Sequence[Visit]) -> dict[str, str]:
    """The directions in a graph that is called with gradients, perhaps in several ways."""
    marks = {node.id: {_mark(visit.values[node.id]) for visit in visits} for node in graph if node.role == "op"}
    rest = BACKWARD if any(BACKWARD in ways for ways in marks.values()) else UPDATE
    return {name: next(iter(ways)) or rest if len(ways) == 1 else BACKWARD for name, ways in marks.items()}


def _mark(values: Values) -> str:
    if any(value.linear or value.after for value in values):
        return BACKWARD
    return UPDATE if any(value.other for value in values) else ""


class Marks:
    """The directions in the graph in which backpropagation starts."""

    def __init__(self, graph: Graph, visit: Visit, whole_steps: Container[str], losses: Iterable[str]) -> None:
        self.graph = graph
        self.visit = visit
        self.whole_steps = whole_steps
        self.results = {name for name, _ in graph.outputs if plain_name(graph[name].op) == "tuple"}
        self.marks: dict[str, str] = {}
        self.numbers = numbers(graph)
        self.losses = frozenset(losses)

    def of_nodes(self) -> dict[str, str]:
        for node in self.graph:
            contains_both = node.id in self.results or any(name in self.whole_steps for name in node.calls)
            self.marks[node.id] = "" if contains_both or node.role != "op" else _mark(self.visit.values[node.id])
        for node in reversed(self.graph.nodes):
            if node.role == "op" and node.id not in self.results:
                self._from_users(node)
        return {name: mark for name, mark in self.marks.items() if mark}

    def is_ambiguous(self) -> bool:
        """Whether a gradient is added to what is computed from a weight, which is another term of the loss or decay in the update."""
        weights = {node.id for node in self.graph.parameters if self._is_read_forward(node.id)}
        computed = set(weights)
        for node in self.graph:
            if node.role == "op" and not self.visit.of(node.id).any and any(name in computed for name, _ in node.inputs):
                computed.add(node.id)
        return any(
            self.marks.get(node.id) == UPDATE
            and plain_name(node.op) in SUMS_OF_ALL
            and any(self.marks.get(name) == BACKWARD for name, _ in node.inputs)
            and any(name in computed and self._unshaped(name) not in weights for name, _ in node.inputs)
            for node in self.graph
        )

    def _is_read_forward(self, name: str) -> bool:
        return any(self.marks.get(user) == FORWARD for user in self.graph.users.get(name, ()))

    def _unshaped(self, name: str) -> str:
        node = self.graph[name]
        while node.inputs and plain_name(node.op) in _SHAPING:
            node = self.graph[node.inputs[0][0]]
        return node.id

    def _from_users(self, node: Node) -> None:
        users = [name for name in self.graph.users.get(node.id, ()) if name not in self.results]
        users_marks = {self.marks[name] for name in users}
        mark = self.marks[node.id]
        if mark == BACKWARD:
            if users_marks <= {UPDATE} and self._comes_after(node):
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
        return (UPDATE if self._is_state(node) else FORWARD) if is_result else ""

    def _is_state(self, node: Node) -> bool:
        """Whether a result is a new value of an argument that only arguments are needed for: a count of steps, a moving average."""
        reached, waiting = {node.id}, [node]
        for each in waiting:  # grows while it is walked
            for name, _ in each.inputs:
                if name not in reached and name not in self.numbers:
                    reached.add(name)
                    if len(waiting) < _LARGEST_STATE:
                        waiting.append(self.graph[name])
        arguments = {output._replace(layout="") for each in waiting if each.is_argument for output in each.outputs}
        is_small = len(waiting) < _LARGEST_STATE and all(each.role != "op" or plain_name(each.op) in _OF_STATE for each in waiting)
        return is_small and any(output._replace(layout="") in arguments for output in node.outputs)

    def _comes_after(self, node: Node) -> bool:
        """Whether an operation that nothing of the backward half reads is not a derivative: no operation of the forward half has it. A
        learning rate is such a factor, a scaled weight has one."""
        forms = set(self._of_gradient(node))
        return bool(forms) and not forms & self._differentiable

    def _of_gradient(self, node: Node) -> Iterator[_Form]:
        op = plain_name(node.op)
        if op in PRODUCTS | QUOTIENTS:
            yield from (("scaled", op, number, node.outputs[0].shape) for number in self._factors(node))
        elif op in _NEGATIONS:
            yield "negated", node.outputs[0].shape
        elif op in _CONVERSIONS:
            yield "converted", node.outputs[0].shape, self._dtype(node), node.outputs[0].dtype
        elif op == "concatenate":
            yield "parts", node.outputs[0].shape

    @cached_property
    def _differentiable(self) -> set[_Form]:
        """What the derivatives of the forward half do to a gradient: of all that the backward half or the loss is computed from."""
        feeding = {node.id for node in self.graph if self.marks[node.id] == BACKWARD or node.id in self.losses}
        for node in reversed(self.graph.nodes):
            if node.id in feeding:
                feeding.update(name for name, _ in node.inputs)
        forward = (node for node in self.graph if node.id in feeding and node.role == "op" and not any(self.visit.of(node.id)[:3]))
        return {form for node in forward for form in self._derivatives(node)}

    def _derivatives(self, node: Node) -> Iterator[_Form]:
        op = plain_name(node.op)
        if op in PRODUCTS | QUOTIENTS:
            yield from (("scaled", op, number, node.outputs[0].shape) for number in self._factors(node))
        elif op in _NEGATED:
            yield "negated", node.outputs[0].shape
        elif op in _CONVERSIONS:
            yield "converted", node.outputs[0].shape, node.outputs[0].dtype, self._dtype(node)
        elif op in _PARTS and self.graph[node.inputs[0][0]].outputs:
            yield "parts", self.graph[node.inputs[0][0]].outputs[0].shape

    def _dtype(self, conversion: Node) -> str:
        source, output = conversion.inputs[0]
        types = self.graph[source].outputs
        return types[max(output, 0)].dtype if types else ""

    def _factors(self, node: Node) -> Iterator[float | str]:
        """The numbers that it multiplies with or divides by: their value, or the node that computes them."""
        operands = node.inputs[1:2] if plain_name(node.op) in QUOTIENTS else node.inputs
        for name, _ in operands:
            if self.visit.of(name).any:
                continue
            if name in self.numbers:
                yield self.numbers[name]
                continue
            source = self.graph[self._unshaped(name)]
            if not source.outputs or source.outputs[0].shape == ():
                yield source.id
