"""Which forward node a recomputed node repeats: the same operation at the same place of the source, with the same operands."""

from __future__ import annotations

from opscope.analysis.forward_index import Forward, ForwardIndex, Origin, Part, Value
from opscope.program import Node


def repeated(index: ForwardIndex, part: Part, node: Node, origin: Origin) -> Forward | None:
    """The forward node, or None for what only the derivative needs. Operands must have been looked up before. Of several nodes that could
    be meant (three products on one line), the first that nothing else of the graph repeats is."""
    operands = [_certain(part, name) for name, _ in node.inputs]
    for _, strict, _ in origin.keys:
        best: tuple[int, bool] | None = None
        for each in index.by_key.get((False, strict), ()):
            agreeing = _agreeing(part, node, operands, each)
            if agreeing is None:
                continue
            rank = agreeing, each not in part.repeated
            if best is None or rank > best:
                best, forward = rank, each
        if best is not None:
            part.repeated.add(forward)
            return forward
    return None


def _certain(part: Part, name: str) -> Value | None:
    """The forward node, or the argument, that an operand is; None if that is unknown."""
    is_certain = name in part.forward or name in part.same_argument or (part.is_entry and name in part.arguments)
    return part.value(name) if is_certain else None


def _agreeing(part: Part, node: Node, operands: list[Value | None], repeated: Forward) -> int | None:
    """How many operands are certainly the same as those of a forward node; None if it is another operation, or one operand differs."""
    forward = repeated.node
    if forward.op != node.op or forward.outputs != node.outputs or len(forward.inputs) != len(node.inputs):
        return None
    nodes = repeated.part.nodes
    agreeing = 0
    for (name, _), (forward_name, _), operand in zip(node.inputs, forward.inputs, operands, strict=True):
        ours, theirs = part.nodes[name], nodes[forward_name]
        if "constant" in (ours.role, theirs.role):
            if (ours.role, ours.attrs.get("value")) != (theirs.role, theirs.attrs.get("value")):
                return None
        elif operand is not None and operand != repeated.part.value(forward_name):
            return None
        else:
            agreeing += operand is not None
    return agreeing
