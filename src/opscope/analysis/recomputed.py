"""Which forward node a recomputed node repeats: the same operation at the same place of the source, with the same operands."""

from __future__ import annotations

from opscope.analysis.forward_index import ForwardIndex, Origin, Part
from opscope.program import Node, NodeKey


def repeated(index: ForwardIndex, part: Part, node: Node, origin: Origin) -> NodeKey | None:
    """The forward node, or None for what only the derivative needs. Operands must have been looked up before. Of several nodes that could
    be meant (three products on one line), the first that nothing else of the graph repeats is."""
    operands = [_certain(part, name) for name, _ in node.inputs]
    for _, strict, _ in origin.keys:
        best: tuple[int, bool] | None = None
        for key in index.by_key.get((False, strict), ()):
            agreeing = _agreeing(index, part, node, operands, key)
            if agreeing is None:
                continue
            rank = agreeing, key not in part.repeated
            if best is None or rank > best:
                best, forward = rank, key
        if best is not None:
            part.repeated.add(forward)
            return forward
    return None


def _certain(part: Part, name: str) -> NodeKey | None:
    """The forward node, or the argument, that an operand is; None if that is unknown."""
    is_certain = name in part.forward or name in part.same_argument or (part.is_entry and name in part.arguments)
    return part.value(name) if is_certain else None


def _agreeing(index: ForwardIndex, part: Part, node: Node, operands: list[NodeKey | None], key: NodeKey) -> int | None:
    """How many operands are certainly the same as those of a forward node; None if it is another operation, or one operand differs."""
    forward = index.node[key]
    if forward.op != node.op or forward.outputs != node.outputs or len(forward.inputs) != len(node.inputs):
        return None
    nodes = index.parts[key[0]].nodes
    agreeing = 0
    for (name, _), (forward_name, _), operand in zip(node.inputs, forward.inputs, operands, strict=True):
        ours, theirs = part.nodes[name], nodes[forward_name]
        if "constant" in (ours.role, theirs.role):
            if (ours.role, ours.attrs.get("value")) != (theirs.role, theirs.attrs.get("value")):
                return None
        elif operand is not None and operand != index.parts[key[0]].value(forward_name):
            return None
        else:
            agreeing += operand is not None
    return agreeing
