"""The losses of a program, and the edges on which their backpropagation starts.

A loss is a number that the program returns. From there back through sums, scalings and reductions, every element has the same gradient,
a number that follows from the constants on the way: 1/n for a mean, 0.0001 for weight decay. Where an operation of another kind is
reached, the backward half reads that number as a constant of the same shape. A loss of several terms has several such starts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from opscope.analysis.derivatives import REDUCING
from opscope.analysis.halves.dependence import PRODUCTS, QUOTIENTS, RULE, SUMS, SUMS_OF_ALL
from opscope.analysis.halves.propagate import CALLS, Use
from opscope.ops import plain_name
from opscope.program import Graph, Node, Program, dtype_kind

_RESHAPING = frozenset(("reshape", "squeeze", "expand_dims", "transpose", "copy", "convert", "convert_element_type", "reduce_precision"))
_BROADCASTS = frozenset(("broadcast", "broadcast_in_dim"))
_ADDITIONS, _DIFFERENCES = frozenset(("add", "add_any")), frozenset(("subtract", "sub"))
_NEGATIONS, _MULTIPLICATIONS = frozenset(("negate", "neg")), frozenset(("multiply", "mul"))
_PACKING = _RESHAPING | _BROADCASTS | {"tuple", "concatenate"}
_CHOICES = frozenset(("select", "select_n"))
_CALLING = CALLS | {"tuple", "while", "conditional", "cond", "custom_call"}
_NEAR = 64
"""How many nodes are looked at to find out whether a factor comes from an operation."""
_TOLERANCE = {"f64": 1e-9, "f32": 1e-5}
_COARSE = 0.01
"""How far a constant may be from the number that it should be: it is rounded to its type."""


class Loss(NamedTuple):
    graph: str
    node: str
    starts: frozenset[Use]
    """The edges on which its backpropagation starts."""


def losses(program: Program) -> list[Loss]:
    """The losses whose backward half is in the program. A loss that is a term of another is left out."""
    reducers = {name for graph in program for node in graph if node.calls and plain_name(node.op) in REDUCING for name in node.calls}
    every = [loss for graph in program if graph.name not in reducers for loss in _Losses(program, graph).with_backward_half()]
    distinct = sorted({loss.starts: loss for loss in every}.values(), key=lambda loss: -len(loss.starts))
    return [loss for i, loss in enumerate(distinct) if not any(loss.starts < larger.starts for larger in distinct[:i])]


def returned_numbers(program: Program) -> list[tuple[str, str]]:
    """Numbers that the entry returns and that depend on its arguments: losses, metrics."""
    every = _Losses(program, program.main)
    return [(program.entry, name) for name in dict.fromkeys(every.returned()) if every.depends_on_arguments(program.main[name])]


def numbers(graph: Graph) -> dict[str, float]:
    """The nodes whose elements are all one number that follows from constants."""
    values: dict[str, float] = {}
    for node in graph:
        number = _number(node, values)
        if number is not None:
            values[node.id] = number
    return values


def _number(node: Node, values: dict[str, float]) -> float | None:
    if node.role == "constant":
        try:
            return float(str(node.attrs.get("value", "")))
        except ValueError:
            return None
    operands = [values.get(name) for name, _ in node.inputs]
    op = plain_name(node.op)
    if op in _RESHAPING | _BROADCASTS and operands:
        return operands[0]
    first, second = (*operands, None, None)[:2]
    if first is None:
        return None
    if op in _NEGATIONS:
        return -first
    if second is None or len(operands) != 2:
        return None
    if op in _MULTIPLICATIONS:
        return first * second
    if op in QUOTIENTS:
        return first / second if second else None
    return first + second if op in _ADDITIONS else first - second if op in _DIFFERENCES else None


# Steps from what is returned back to the loss itself. Without a bound, a cycle never ends and a long chain is quadratic.
_MOST_SCALINGS = 32


class _Share(NamedTuple):
    """An operand, and its gradient as a multiple of the result's."""

    operand: str
    factor: float


class _Losses:
    """The losses of one graph."""

    def __init__(self, program: Program, graph: Graph) -> None:
        self.program = program
        self.graph = graph
        self.numbers = numbers(graph)
        self.constants: dict[tuple[int | str, ...], list[str]] = defaultdict(list)
        for name in self.numbers:
            if _is_float(graph[name]):
                self.constants[graph[name].outputs[0].shape].append(name)

    def with_backward_half(self) -> Iterator[Loss]:
        for returned in dict.fromkeys(self.returned()):
            loss, edges = next(
                ((name, edges) for name in self._unscaled(returned) if (edges := self._backpropagated(name))), (returned, None)
            )
            if edges and not all(source in self.numbers and plain_name(self.graph[user].op) in SUMS_OF_ALL for source, user in edges):
                yield Loss(self.graph.name, loss, frozenset((self.graph.name, source, user) for source, user in edges))

    def _unscaled(self, name: str) -> Iterator[str]:
        """A number, and what it is a multiple of: a loss may be scaled while gradients are computed, and returned without the scale."""
        yield name
        for _ in range(_MOST_SCALINGS):
            shares = self._shares(self.graph[name])
            if len(shares) != 1 or self.graph[shares[0].operand].outputs[0].shape != ():
                return
            name = shares[0].operand
            yield name

    def returned(self) -> Iterator[str]:
        """Numbers that the graph returns."""
        waiting = list(reversed(dict.fromkeys(name for name, _ in reversed(self.graph.outputs))))
        seen = set(waiting)
        while waiting:
            node = self.graph[waiting.pop()]
            if _is_float(node) and node.outputs[0].shape == () and not node.is_argument and node.id not in self.numbers:
                yield node.id
                continue
            op = plain_name(node.op)
            operands = node.inputs if op in _PACKING else node.inputs[1:2] if op == "dynamic_update_slice" else ()
            for name, _ in operands:
                if name not in seen:
                    seen.add(name)
                    waiting.append(name)

    def _backpropagated(self, loss: str) -> set[tuple[str, str]] | None:
        """The edges on which the backward half of a loss starts; None if one of its terms has none."""
        graph = self.graph
        forward = _with_operands(graph, loss)
        gradients: dict[str, float] = defaultdict(float, {loss: 1.0})
        walked: set[str] = set()
        edges: set[tuple[str, str]] = set()
        for node in reversed(graph.nodes[: graph.position[loss] + 1]):
            if node.id not in gradients:
                continue
            gradient = gradients.pop(node.id)
            shares = self._shares(node)
            is_shared = any(user in forward and user not in walked for user in graph.users.get(node.id, ()))
            if not shares or is_shared or plain_name(node.op) in _BROADCASTS:
                reading = set(self._reading(node, gradient, forward)) or (set() if shares else set(self._folded(node, gradient, forward)))
                if reading:
                    edges |= reading
                    continue
                if not shares:
                    if node.is_argument or not self.depends_on_arguments(node):
                        continue
                    return None
            walked.add(node.id)
            for operand, factor in shares:
                if operand not in self.numbers and _is_float(graph[operand]):
                    gradients[operand] += gradient * factor
        return self._without_scalings(edges)

    def _without_scalings(self, edges: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Without the edges into a product with a gradient: there, the constant is a learning rate that happens to be the same number."""
        reached = {user for _, user in edges}
        waiting = list(reached)
        while waiting:
            for user in self.graph.users.get(waiting.pop(), ()):
                if user not in reached:
                    reached.add(user)
                    waiting.append(user)
        scalings = PRODUCTS | QUOTIENTS

        def scales(source: str, user: str) -> bool:
            node = self.graph[user]
            return plain_name(node.op) in scalings and any(name in reached for name, _ in node.inputs if name != source)

        return {edge for edge in edges if not scales(*edge)}

    def _shares(self, node: Node) -> list[_Share]:
        """The gradients of a node's operands, if they are a multiple of its own; none if the derivative depends on values."""
        op, operands = plain_name(node.op), [name for name, _ in node.inputs]
        if not operands:
            return []
        if op in _RESHAPING:
            return [_Share(operands[0], 1)]
        if op in _BROADCASTS:
            source = self.graph[operands[0]].outputs[0].elements
            return [_Share(operands[0], (node.outputs[0].elements or 0) / source)] if source else []
        if op in _NEGATIONS:
            return [_Share(operands[0], -1)]
        if op in _ADDITIONS | _DIFFERENCES:
            return [_Share(operands[0], 1), *(_Share(operand, -1 if op in _DIFFERENCES else 1) for operand in operands[1:])]
        if op in _MULTIPLICATIONS and len(operands) == 2:
            first, second = operands
            scaled = [(second, self.numbers.get(first)), (first, self.numbers.get(second))]
            return [_Share(operand, number) for operand, number in scaled if number is not None][:1]
        if op in QUOTIENTS and len(operands) == 2 and self.numbers.get(operands[1]):
            return [_Share(operands[0], 1 / self.numbers[operands[1]])]
        return [_Share(operands[0], 1)] if op == "reduce" and len(operands) == 2 and self._adds(node) else []

    def _adds(self, node: Node) -> bool:
        body = self.program[node.calls[-1]] if node.calls else None
        return body is not None and bool(body.outputs) and plain_name(body[body.outputs[0][0]].op) in _ADDITIONS

    def _reading(self, node: Node, gradient: float, forward: set[str]) -> Iterator[tuple[str, str]]:
        """The edges from a constant that is the gradient of this node to the operations that read it as such."""
        output = node.outputs[0] if node.outputs else None
        if output is None:
            return
        tolerance = _TOLERANCE.get(output.dtype, _COARSE)
        for constant in self.constants.get(output.shape, ()):
            if math.isclose(self.numbers[constant], gradient, rel_tol=tolerance):
                for user in self.graph.users.get(constant, ()):
                    if user not in self.numbers and user not in forward and self._continues(self.graph[user], constant, node, forward):
                        yield constant, user

    def _continues(self, user: Node, constant: str, node: Node, forward: set[str]) -> bool:
        """Whether an operation may continue the gradient `constant` of `node`: what it combines that with comes from `node`."""
        op = plain_name(user.op)
        others = [name for name, _ in user.inputs if name != constant and name not in self.numbers]
        if op in SUMS_OF_ALL:
            return not any(name in forward or self.graph[name].is_argument for name in others)
        if op in QUOTIENTS and user.inputs[0][0] != constant:
            return False
        if op in PRODUCTS | QUOTIENTS | _CHOICES:
            sources = self._sources(node)
            return all(self._comes_from(name, sources) for name in others)
        if op in SUMS:
            return any(user.inputs[i][0] == constant for i in SUMS[op] if i < len(user.inputs))
        return op in _CALLING or (op in RULE and user.inputs[0][0] == constant)

    def _folded(self, node: Node, gradient: float, forward: set[str]) -> Iterator[tuple[str, str]]:
        """The edges on which a gradient of 1 starts, which is not multiplied with: the derivative itself goes on."""
        if abs(gradient) != 1:
            return
        op, users = plain_name(node.op), self.graph.users
        if op == "sqrt":
            yield from ((half, user) for half in users.get(node.id, ()) if self._is_half_over(half) for user in users.get(half, ()))
        if op not in _MULTIPLICATIONS or len(node.inputs) != 2 or node.inputs[0] != node.inputs[1]:
            return
        base = node.inputs[0][0]
        for name in users.get(base, ()):
            op, operands = plain_name(self.graph[name].op), [operand for operand, _ in self.graph[name].inputs]
            if name in forward:
                continue
            if op in _ADDITIONS and operands == [base, base]:
                yield base, name
            elif op in _MULTIPLICATIONS and any(self.numbers.get(operand) == 2 for operand in operands):
                yield from ((name, user) for user in users.get(name, ()))

    def _is_half_over(self, name: str) -> bool:
        node = self.graph[name]
        return plain_name(node.op) in QUOTIENTS and self.numbers.get(node.inputs[0][0]) == 0.5

    def _sources(self, node: Node) -> set[str]:
        """What a derivative of a node is computed from: the node and its operands, through powers."""
        sources, waiting = {node.id}, [node]
        for each in waiting:  # grows while it is walked
            operands = {self._unshaped(name) for name, _ in each.inputs} - self.numbers.keys()
            sources |= operands
            if plain_name(each.op) in _MULTIPLICATIONS and len(operands) == 1 and len(waiting) < _NEAR:
                waiting.append(self.graph[operands.pop()])
        return sources

    def _unshaped(self, name: str) -> str:
        node = self.graph[name]
        while node.inputs and plain_name(node.op) in _RESHAPING | _BROADCASTS:
            node = self.graph[node.inputs[0][0]]
        return node.id

    def _comes_from(self, name: str, sources: set[str]) -> bool:
        waiting = [name]
        for each in waiting:  # grows while it is walked
            if each in sources:
                return True
            if len(waiting) < _NEAR:
                waiting.extend(operand for operand, _ in self.graph[each].inputs if operand not in waiting)
        return False

    def depends_on_arguments(self, node: Node) -> bool:
        return any(self.graph[name].is_argument and _is_float(self.graph[name]) for name in _with_operands(self.graph, node.id))


def _is_float(node: Node) -> bool:
    return len(node.outputs) == 1 and dtype_kind(node.outputs[0].dtype) == "float"


def _with_operands(graph: Graph, name: str) -> set[str]:
    """A node and everything that it is computed from."""
    names = {name}
    waiting = [name]
    while waiting:
        for operand, _ in graph[waiting.pop()].inputs:
            if operand not in names:
                names.add(operand)
                waiting.append(operand)
    return names
