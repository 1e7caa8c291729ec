"""Sums of gradients in a joint fx graph: of which forward value each of them is the gradient.

A value that is used twice receives a gradient along each use. Each summand comes from the backward operation of a use, or passed
operations that have none, because they pass a gradient on as it is (an addition). The value is what all summands can be the gradient of.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MOST_VALUES = 64
_ADDITIONS = ("aten.add.", "aten.add_.")
_PASS_ON = ("aten.sub.", "aten.expand.", "aten.view.", "aten.clone.", "aten.alias.")
"""Their first operand gets the gradient as it is."""


def is_backward(meta: Mapping[str, Any]) -> bool:
    return meta.get("partitioner_tag") == "is_backward" or bool(meta.get("autograd_backward"))


def is_sum(meta: Mapping[str, Any]) -> bool:
    return bool(meta.get("is_gradient_acc"))


def gives_gradient(user: Any) -> bool:
    """Whether this is a forward use; `detach` only saves a value for backward."""
    return not is_backward(user.meta) and not str(user.target).startswith("aten.detach")


def summed_values(nodes: Sequence[Any], forward_of: Mapping[str, str]) -> dict[str, Any]:
    """For each sum of gradients, the forward node whose value it is the gradient of, if there is only one possible. `forward_of` has the
    forward operation of every other backward operation."""
    by_name = {node.name: node for node in nodes}
    results = [value for node in nodes if node.op == "output" for value in node.all_input_nodes if not is_backward(value.meta)]
    values: dict[str, Any] = {}
    gradient_of: dict[str, dict[Any, None]] = {}
    """By backward node: the forward values that it can be the gradient of, or a part of it."""
    for node in nodes:
        if is_sum(node.meta):
            summands = [gradient_of.get(name.name, {}) for name in node.all_input_nodes]
            common = [value for value in summands[0] if all(value in others for others in summands[1:]) and _uses(value) > 1]
            if len(common) == 1:
                values[node.name] = common[0]
                gradient_of[node.name] = {common[0]: None, **_passed(_same_gradient(common[0]))}
        elif node.name in forward_of:
            gradient_of[node.name] = _passed(_operands_of_gradient(node, by_name[forward_of[node.name]]))
        elif node.op == "placeholder" and "tangent" in node.name:
            shape = shape_text(node)
            gradient_of[node.name] = _passed(value for value in results if shape_text(value) == shape)
    return values


def _operands_of_gradient(node: Any, forward: Any) -> list[Any]:
    """The operands of a forward operation that a gradient can belong to, by its shape. A backward operation with several results has them
    in the order of the operands: those of a norm's weight and bias have the same shape. Of a concatenation, each operand gets its slice."""
    operands: Sequence[Any] = forward.all_input_nodes
    if str(forward.target).startswith("aten.cat.") and str(node.target).startswith("aten.slice."):
        operands = _concatenated_at(forward, node) or operands
    shape = shape_text(node)
    possible = [value for value in operands if shape_text(value) == shape]
    place = node.args[1] if node.target is operator.getitem else None
    if isinstance(place, int) and place < len(operands) and operands[place] in possible:
        return [operands[place]]
    return possible


def _concatenated_at(concatenation: Any, part: Any) -> list[Any]:
    """The operand of a concatenation that begins where a slice does. torch leaves out empty operands of one dimension (caches that are
    empty yet), which need not have this dimension."""
    dim = concatenation.args[1] if len(concatenation.args) > 1 else 0
    start = part.args[2] if len(part.args) > 2 else 0
    at: Any = 0
    for value in concatenation.args[0]:
        if isinstance(at, int) and at == start and shape_text(value) == shape_text(part):
            return [value]
        shape = value.meta["val"].shape
        at += shape[dim] if len(shape) == len(part.meta["val"].shape) else 0
    return []


def _passed(values: Iterable[Any]) -> dict[Any, None]:
    """These values, and what those of them that nothing else uses pass the same gradient to."""
    reached = dict.fromkeys(values)
    waiting = list(reached)
    for value in waiting:  # grows while it is walked
        if _uses(value) < 2:
            for operand in _same_gradient(value):
                if operand not in reached and len(waiting) < _MOST_VALUES and shape_text(operand) == shape_text(value):
                    reached[operand] = None
                    waiting.append(operand)
    return reached


def _same_gradient(value: Any) -> list[Any]:
    """The operands whose gradient is that of the value itself, without a backward operation if they have its shape."""
    target = str(value.target)
    if value.op != "call_function" or not target.startswith((*_ADDITIONS, *_PASS_ON)):
        return []
    adds = target.startswith(_ADDITIONS) and value.kwargs.get("alpha", 1) == 1
    return list(value.all_input_nodes[: None if adds else 1])


def _uses(value: Any) -> int:
    return sum(map(gives_gradient, value.users))


def shape_text(node: Any) -> str:
    """The shape of a node's value, to be compared: symbolic sizes that depend on data cannot be."""
    return str(getattr(node.meta.get("val"), "shape", None))
