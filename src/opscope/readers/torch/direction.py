"""Forward and backward in one fx graph: which side a node is on, and which forward node a backward node belongs to.

AOTAutograd marks nodes with `partitioner_tag` and copies the autograd sequence number of a forward operation onto the operations
of its backward function. Several forward operations may share a number when one of them made the autograd node: all are linked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opscope.program import Link

BACKWARD_OF = "backward_of"


def is_backward(meta: Mapping[str, Any]) -> bool:
    return meta.get("partitioner_tag") == "is_backward" or bool(meta.get("autograd_backward"))


def directions(nodes: Iterable[Any]) -> dict[str, str]:
    """Either "forward" or "backward" by node name; empty where nothing is known to be backward."""
    nodes = [node for node in nodes if node.op not in ("placeholder", "output")]
    if not any(is_backward(node.meta) for node in nodes):
        return {}
    return {node.name: "backward" if is_backward(node.meta) else "forward" for node in nodes}


def forward_links(nodes: Iterable[Any]) -> dict[str, tuple[Link, ...]]:
    """For each backward node, links to the forward nodes with the same sequence number."""
    forward: dict[int, list[str]] = {}
    backward: list[tuple[str, int]] = []
    for node in nodes:
        number = node.meta.get("seq_nr")
        if node.op not in ("call_function", "call_method", "call_module") or number is None:
            continue
        if is_backward(node.meta):
            backward.append((node.name, number))
        else:
            forward.setdefault(number, []).append(node.name)
    return {name: tuple(Link(BACKWARD_OF, other) for other in forward[number]) for name, number in backward if number in forward}
