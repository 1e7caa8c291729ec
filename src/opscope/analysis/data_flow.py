"""What forward and backward nodes read, feed and undo (see gradients.py)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from opscope.analysis.derivatives import rule_for
from opscope.analysis.forward_nodes import Forward, Part, Row, Value
from opscope.analysis.origins import Origin
from opscope.ops import plain_name

MOST_LINKS = 8
"""More forward candidates than this explain nothing; only the nearest are linked."""
MOST_COMPARED = 24
_SIGNS, _DIFFERENCES = frozenset({"neg", "negate"}), frozenset({"sub", "subtract"})
_PRODUCTS, _QUOTIENTS = frozenset({"mul", "multiply"}), frozenset({"div", "divide"})

Shape: TypeAlias = tuple[int | str, ...]


def touches(value: Value, nodes: Iterable[Forward]) -> bool:
    """Whether one of these nodes computes a value or reads it."""
    return any(each is value or value in (each.values or _forward_values(each)) for each in nodes)


def passes_on(op: str) -> bool:
    """Whether the gradients of the operands of an operation are that of its result, as those of a sum are."""
    rule = rule_for(op)
    return rule is not None and set(rule.vjp.values()) == {"dy"}


def computing(forward: Forward) -> Sequence[Forward]:
    """Instead of a node that only changes the shape of an operand, what its operation computes with that, if anything: no product or
    quotient is part of the derivative of a broadcast."""
    waiting, computing = [forward], []
    for each in waiting:  # grows while it is walked
        if not each.reshapes:
            computing.append(each)
        elif len(waiting) < MOST_LINKS:
            waiting += [user for user in each.users() if user not in waiting and forward.is_one_with(user)]
    return computing or (forward,)


def is_numerator(part: Part, node: Row, result: Forward) -> bool:
    """Whether a node goes on with a product of the derivative of a division by b, db = -dy / b² · a, and the result is a."""
    for operand in node.read:
        step = part.steps[operand]
        if step and plain_name(part.ops[operand]) in _PRODUCTS:
            quotients = (each for each in step.forward if plain_name(each.op) in _QUOTIENTS)
            if any(each.read[:1] == (result.position,) for each in quotients):
                return True
    return False


def first_of(steps: Sequence[tuple[Forward, ...]]) -> tuple[Forward, ...]:
    """The forward nodes of the step that is furthest back: where gradients meet, that is where they flow on."""
    if len(steps) < 2:
        return steps[0] if steps else ()
    return min((step for step in steps if step), key=lambda step: min([each.position for each in step]), default=())


def readers_of(nodes: Iterable[Forward], values: set[Value]) -> list[Forward]:
    """Those that read one of these values."""
    if not values:
        return []
    return [each for each in nodes if not values.isdisjoint(each.values or _forward_values(each))]


def _forward_values(forward: Forward) -> tuple[Value, ...]:
    """The values that a forward node reads, which are compared again and again. What its operands are is known by then: callers are
    looked at before the graphs that they call, and operands before their users."""
    values = forward.values = tuple(map(forward.part.value, forward.read))
    return values


def unit_of(forward: Forward) -> tuple[Forward, ...]:
    """The nodes that one operation of the source became, which are connected: a division with the broadcasts of its operands."""
    nodes = [forward]
    own, users_of = forward.part.own, forward.part.users
    for each in nodes:  # grows while it is walked
        for position in (*each.read, *users_of[each.position]):
            if len(nodes) < MOST_LINKS and (other := own[position]) and forward.is_one_with(other) and other not in nodes:
                nodes.append(other)
    forward.unit = tuple(nodes)
    return forward.unit


def feeding(units: tuple[Forward, ...]) -> list[Forward]:
    """The forward nodes that feed these, the nearest first."""
    waiting = list(units)
    room = MOST_COMPARED
    reached = set(units)
    for each in waiting:  # grows while it is walked
        sources = each.sources
        for other in sources_of(each) if sources is None else sources:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
                room -= 1
                if not room:
                    return waiting[len(units) :]
    return waiting[len(units) :]


def sources_of(forward: Forward) -> list[Forward]:
    """The forward nodes that one reads."""
    own = forward.part.own
    sources = forward.sources = [source for position in forward.read if (source := own[position])]
    return sources


def shapes_lost(part: Part, node: Row) -> list[Shape]:
    """The shapes of the gradients that arrive at a node and leave it with another shape."""
    if not node.outputs:
        return []
    leaving = node.outputs[0].shape
    arriving = [part.types[operand] for operand in node.read if part.forward[operand] is None]
    return [outputs[0].shape for outputs in arriving if outputs and outputs[0].shape != leaving]


def is_transposed(node: Row, reshaped: Sequence[Shape], forward: Forward) -> bool:
    """Whether a backward node undoes the change of shape of a forward node: a sum that of a broadcast. Gradients of the shapes
    `reshaped` get another shape in it."""
    results = forward.outputs
    if not results or results[0].shape not in reshaped:
        return False
    shape = node.outputs[0].shape
    operands = map(forward.part.types.__getitem__, forward.read)
    return any(bool(outputs) and outputs[0].shape == shape for outputs in operands)


def alike(part: Part, node: Row, origin: Origin, feeding: Iterable[Forward]) -> list[Forward]:
    """The nearest forward node that did to a value of its shape what a node does to a gradient; a negation is of a difference."""
    negates = plain_name(node.op) in _SIGNS
    shapes: list[Shape] | None = None
    primitive = origin.primitive
    for each in feeding:
        if each.origin.primitive == primitive or (negates and plain_name(each.op) in _DIFFERENCES):
            if shapes is None:
                arriving = [part.types[operand] for operand in node.read if part.steps[operand]]
                shapes = [outputs[0].shape for outputs in arriving if outputs]
            if each.outputs and each.outputs[0].shape in shapes:
                return [each]
    return []


def values_read(part: Part, node: Row) -> set[Value]:
    """The forward values that a backward node reads, through the helpers that prepare them."""
    values: set[Value] = set()
    waiting: list[Row | Forward] = [node]
    forward, arguments, same_argument = part.forward, part.arguments, part.same_argument
    for reader in waiting:  # grows while it is walked
        for operand in reader.read:
            value: Value | None = forward[operand]
            if value is None:
                value = same_argument.get(operand) or ((part.graph.name, operand) if operand in arguments else None)
            if value is None or value in values or len(values) >= MOST_COMPARED:
                continue
            values.add(value)
            if isinstance(value, Forward) and value.helper and value.part is part:
                waiting.append(value)
    return values
