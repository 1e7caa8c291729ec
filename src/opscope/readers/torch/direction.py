"""Forward and backward in one fx graph: which half a node is on, and which forward node a backward node belongs to.

AOTAutograd marks nodes with `partitioner_tag` and copies the autograd sequence number of a forward operation onto the operations
of its backward function. Several forward nodes may carry one number: the first of them made the autograd function, the others
are its getitems or made none. Sums of gradients, where a value was used twice, belong to no function: they are linked like the
operation that takes the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opscope.program import Link

BACKWARD_OF = "backward_of"
FORWARD, BACKWARD = "forward", "backward"
_CALLS = ("call_function", "call_method", "call_module")


def is_backward(meta: Mapping[str, Any]) -> bool:
    return meta.get("partitioner_tag") == "is_backward" or bool(meta.get("autograd_backward"))


def directions(nodes: Iterable[Any]) -> dict[str, str]:
    """The half of each operation, by name; empty where nothing is known to be backward."""
    calls = [node for node in nodes if node.op in _CALLS]
    if not any(is_backward(node.meta) for node in calls):
        return {}
    return {node.name: BACKWARD if is_backward(node.meta) else FORWARD for node in calls}


def forward_links(nodes: Iterable[Any]) -> dict[str, tuple[Link, ...]]:
    """For each backward operation, a link to the forward operation whose autograd function it is part of."""
    owner: dict[int, str] = {}
    found: dict[str, str] = {}
    sums: list[Any] = []
    for node in nodes:
        number = node.meta.get("seq_nr")
        if node.op not in _CALLS or number is None:
            continue
        if not is_backward(node.meta):
            owner.setdefault(number, node.name)
        elif node.meta.get("is_gradient_acc"):
            sums.append(node)
        elif number in owner:
            found[node.name] = owner[number]
    for node in reversed(sums):
        near = (*node.users, *node.all_input_nodes)
        forward = next((found[other.name] for other in near if other.name in found), None)
        if forward is not None:
            found[node.name] = forward
    return {name: (Link(BACKWARD_OF, forward),) for name, forward in found.items()}
