"""How often loops run: what the program says, or what a counter in the condition of the loop implies."""

from __future__ import annotations

import re
from typing import Any

from opscope.ops.table import facts_of, plain_name
from opscope.program import WHOLE, Graph, Node, Program, ValueRef, whole_number

_KNOWN = re.compile(r'"?known_trip_count"?\s*:\s*\{\s*"?n"?\s*:\s*"?(\d+)')
"""What XLA writes into the backend_config of a loop."""
_DIRECTION = re.compile(r"\b(LT|LE|GT|GE)\b")
_COMPARISONS = {"lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}


def trip_count(program: Program, graph: Graph, node: Node) -> int | None:
    """The number of iterations of a loop of `graph`, or None if it does not follow from the program."""
    attrs: Any = node.attrs
    match = _KNOWN.search(str(attrs.get("backend_config", "")))
    if match:
        return whole_number(match[1])
    control = facts_of(node.op).control
    if control == "scan":
        return whole_number(attrs.get("length"))
    return _counted(program, graph, node) if control == "while" else None


def _counted(program: Program, graph: Graph, node: Node) -> int | None:
    """The iterations of `while i < limit: …; i += step`, with a constant start, limit and step."""
    if len(node.calls) != 2 or not all(name in program.graphs for name in node.calls):
        return None
    condition, body = (program.graphs[name] for name in node.calls)
    constants = [constants_of(node, "cond_nconsts"), constants_of(node, "body_nconsts")]
    comparison = _comparison(condition, constants[0])
    if comparison is None:
        return None
    slot, direction, limit = comparison
    step = _step(body, constants[1], slot)
    start = _start(graph, node, sum(constants) + slot)
    if start is None or not step or (step > 0) != (direction in ("LT", "LE")):
        return None
    distance = (limit - start) * (1 if step > 0 else -1) + (direction in ("LE", "GE"))
    return max(0, -(-distance // abs(step)))


def _comparison(condition: Graph, constants: int) -> tuple[int, str, int] | None:
    """The slot that a condition compares, how, and with which number."""
    if len(condition.outputs) != 1:
        return None
    node = origin_of(condition, condition.outputs[0])[0]
    name = plain_name(node.op)
    match = _DIRECTION.search(str(node.attrs.get("direction") or node.attrs.get("comparison_direction") or ""))
    direction = _COMPARISONS.get(name) or (match[1] if name == "compare" and match else "")
    if not direction or len(node.inputs) != 2:
        return None
    left, right = node.inputs
    for counter, bound, sense in ((left, right, direction), (right, left, _MIRRORED[direction])):
        slot, limit = _slot(condition, counter, constants), _number(condition, bound)
        if slot is not None and limit is not None:
            return slot, sense, limit
    return None


def _step(body: Graph, constants: int, slot: int) -> int | None:
    """What an iteration adds to the value in a slot."""
    outputs = body.outputs
    if len(outputs) == 1 and plain_name(body[outputs[0][0]].op) == "tuple":
        outputs = body[outputs[0][0]].inputs
    if slot >= len(outputs):
        return None
    node = origin_of(body, outputs[slot])[0]
    name = plain_name(node.op)
    if name not in ("add", "sub", "subtract") or len(node.inputs) != 2:
        return None
    left, right = node.inputs
    if _slot(body, left, constants) == slot:
        step = _number(body, right)
        return step if step is None or name == "add" else -step
    return _number(body, left) if name == "add" and _slot(body, right, constants) == slot else None


def _start(graph: Graph, node: Node, operand: int) -> int | None:
    """The value of a slot before the loop. An HLO loop takes all of its values in one tuple."""
    operands = node.inputs
    if len(operands) == 1 and operands[0][1] == WHOLE:
        origin = graph[operands[0][0]]
        operands = origin.inputs if plain_name(origin.op) == "tuple" else ()
    return _number(graph, operands[operand]) if operand < len(operands) else None


def _slot(graph: Graph, ref: ValueRef, constants: int) -> int | None:
    """Which of the values that a loop carries this is, in the graph of its body or condition."""
    node, index = origin_of(graph, ref)
    parameters = [parameter.id for parameter in graph.parameters]
    if node.id not in parameters:
        return None
    if len(parameters) == 1 and len(node.outputs) > 1:
        return index
    slot = parameters.index(node.id) - constants
    return slot if slot >= 0 else None


def origin_of(graph: Graph, ref: ValueRef) -> tuple[Node, int]:
    """The node that computes a value, and which of its results it is."""
    node, index = graph[ref[0]], ref[1]
    while plain_name(node.op) in ("get_tuple_element", "copy") and len(node.inputs) == 1:
        index = node.inputs[0][1]
        node = graph[node.inputs[0][0]]
    return node, index


def _number(graph: Graph, ref: ValueRef) -> int | None:
    node = origin_of(graph, ref)[0]
    return whole_number(node.attrs.get("value")) if node.role == "constant" or plain_name(node.op) == "constant" else None


def constants_of(node: Node, attribute: str) -> int:
    """How many values a loop of a jaxpr hands to its condition or body before the ones that it carries."""
    return whole_number(node.attrs.get(attribute)) or 0
