"""Results that may be written over an operand: where an operation goes element by element, and reads the operand for the last time."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from opscope.analysis.loop_slots import results_of
from opscope.analysis.moved import parameter_number
from opscope.memory.aliases import Aliases
from opscope.memory.order import Order
from opscope.ops import facts_of, plain_name
from opscope.program import Graph, Node, Program

_ALSO_ELEMENTWISE = frozenset(["copy", "convert", "select", "clamp", "bitcast_convert"])


class Takeover(NamedTuple):
    """The buffer of a result may take over that of an operand at a position."""

    operand: int
    result: int
    position: int


def takeovers(program: Program, order: Order, aliases: Aliases) -> dict[Takeover, bool]:
    """What may be written over what, and whether XLA also does that for temporaries: not for a copy, which has no use for it, and only if
    the operand is the only result of another operation, not an element of a tuple or under another name."""
    pairs = _Pairs(program)
    possible: dict[Takeover, bool] = {}
    for graph in order.graphs:
        for node in graph.nodes:
            results = aliases.outputs[graph.name, node.id]
            if node.role != "op" or not node.inputs or not aliases.made_by(graph, node):
                continue
            for number, ref in enumerate(node.inputs):
                behind = aliases.behind(graph.name, ref)
                output = pairs.output_over(node, number) if len(behind) == 1 and len(behind[0]) == 1 else None
                if output is None or output >= len(results) or len(results[output]) != 1:
                    continue
                operand, result = behind[0][0], results[output][0]
                if _fits(aliases, operand, result):
                    key = Takeover(aliases.buffer(operand), aliases.buffer(result), order.position[graph.name, node.id])
                    possible[key] = (
                        plain_name(node.op) != "copy" and aliases.values[operand].node is graph[ref[0]] and len(graph[ref[0]].outputs) == 1
                    )
    return possible


def _fits(aliases: Aliases, operand: int, result: int) -> bool:
    one, other = aliases.values[operand].type, aliases.values[result].type
    return one.bytes is not None and one.bytes == other.bytes and one.layout == other.layout


class _Pairs:
    """Which operand of an operation may have which result written over it."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._fusions: dict[str, dict[int, int]] = {}

    def output_over(self, node: Node, operand: int) -> int | None:
        name = plain_name(node.op)
        if name == "sort":
            return operand
        if name == "fusion" and node.calls:
            body = node.calls[0]
            if body not in self._fusions:
                self._fusions[body] = _elementwise_operands(self.program[body])
            return self._fusions[body].get(operand)
        return 0 if _is_elementwise(node.op) else None


@lru_cache(maxsize=4096)
def _is_elementwise(op: str) -> bool:
    return facts_of(op).category == "elementwise" or plain_name(op) in _ALSO_ELEMENTWISE


def _elementwise_operands(body: Graph) -> dict[int, int]:
    """By operand of a fusion, the first of its results, if only elementwise operations lead from the operand to results."""
    reached = {name: number for number, (name, _) in reversed(list(enumerate(results_of(body))))}
    """By node, the first of the results that it leads to."""
    results = frozenset(reached)
    others: set[str] = set()
    """Nodes from which something else leads to results."""
    nodes, position = body.nodes, body.position
    for place in range(len(nodes) - 1, -1, -1):
        node = nodes[place]
        if plain_name(node.op) == "tuple":
            continue
        result, is_elementwise = reached.get(node.id), node.id not in others
        for name, _ in node.inputs:
            before = position[name]
            if before >= place or not (is_elementwise and _keeps_elements(node, nodes[before])):
                others.add(name)
            if result is not None and name not in results:
                reached[name] = result  # that of the first user is written last
    operands = {}
    for parameter in body.parameters:
        first = reached.get(parameter.id)
        if first is not None and parameter.id not in others:
            operands[parameter_number(parameter)] = first
    return operands


def _keeps_elements(user: Node, node: Node) -> bool:
    if not user.outputs or not node.outputs:
        return False
    if plain_name(user.op) == "bitcast":
        return user.outputs[0].elements == node.outputs[0].elements
    return _is_elementwise(user.op) and user.outputs[0].shape == node.outputs[0].shape and user.outputs[0].layout == node.outputs[0].layout
