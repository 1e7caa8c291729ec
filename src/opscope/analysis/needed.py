"""What a fusion has to read and compute at least. A gather or a slice in its body may need few elements of what the body computes.

XLA computes only these, but counts the whole: its bytes and operations are those of every value in the body. They are right for what
the fusion is charged with elsewhere, and too many for a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

from opscope.analysis.moved import SLICES, by_number, bytes_of, fused_bytes, size_of
from opscope.ops import CATEGORIES, category_of, plain_name
from opscope.program import Graph, Node

_ELEMENT_BY_ELEMENT = frozenset(["bitcast", "reshape", "transpose", "broadcast", "copy", "convert", "reverse", "concatenate", "pad"])
_SAME_COUNT = frozenset(["bitcast", "reshape"])
"""Operations that may split an element into several, or join several."""


class Needed(NamedTuple):
    saved: int
    """Bytes that are counted as read, but are not needed."""
    shares: dict[str, float]
    """Of the nodes of the body of which not all elements are needed: which part is."""


def needed_by(body: Graph) -> Needed | None:
    """What is needed of the values of a fusion's body; None if it is all of them."""
    parameters = {node.id for node in body.parameters}
    if not any(plain_name(node.op) in SLICES and node.inputs and node.inputs[0][0] not in parameters for node in body):
        return None
    sizes = {node.id: _elements(node) for node in body}
    needs: dict[str, int | None] = {name: None for name, _ in body.outputs}  # None: all
    for node in reversed(body.nodes):
        mine = needs.get(node.id)
        need = sizes[node.id] if mine is None else mine
        for position, (operand, _) in enumerate(node.inputs):
            part = need if need is not None and _takes_parts(node, position, sizes[operand] == sizes[node.id]) else None
            before = needs.get(operand, 0)
            needs[operand] = None if part is None or before is None else before + part
    shares = {}
    for name, need in needs.items():
        size = sizes[name]
        if need is not None and size and need < size:
            shares[name] = need / size
    counted = fused_bytes(body).read
    saved = 0
    for i, parameter in enumerate(by_number(body.parameters)):
        whole = bytes_of(parameter.outputs)
        if whole is not None and parameter.id in shares:
            saved += max(0, counted.get(i, whole) - round(whole * shares[parameter.id]))
    return Needed(saved, shares) if shares else None


def _elements(node: Node) -> int | None:
    return size_of(node.outputs[0])[0] if len(node.outputs) == 1 else None


def _takes_parts(node: Node, position: int, is_same_count: bool) -> bool:
    """Whether a part of a node's result needs no more elements of an operand than it has itself."""
    name = plain_name(node.op)
    if name in SLICES:
        return position == 0
    if name in _ELEMENT_BY_ELEMENT:
        return name not in _SAME_COUNT or is_same_count
    return CATEGORIES[category_of(node.op)] == "elementwise"
