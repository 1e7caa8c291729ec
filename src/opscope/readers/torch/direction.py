"""Forward and backward in one fx graph: which half a node is on, and which forward node a backward node belongs to.

AOTAutograd marks nodes with `partitioner_tag` and copies the autograd sequence number of a forward operation onto the operations
of its backward function. Several forward nodes may carry one number: the first of them made the autograd function, the others
are its getitems or made none. Sums of gradients, where a value was used twice, belong to no function: they are linked like the
operation that takes the sum, and stand in the module whose operations use the value that they are the gradient of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opscope.program import Link, Path

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


def sum_scopes(nodes: Iterable[Any], scopes: Mapping[str, Path], links: Mapping[str, tuple[Link, ...]]) -> dict[str, Path]:
    """Where sums of gradients stand: in the innermost module around all forward uses of the value. Torch leaves them without one."""
    by_name: dict[str, Any] = {}
    found: dict[str, Path] = {}
    around: dict[str, Path | None] = {}
    """By value: the scope around its forward uses, None where it has a single one. Looked at once: a value may have many sums."""
    for node in nodes:
        by_name[node.name] = node
        if not node.meta.get("is_gradient_acc") or scopes.get(node.name):
            continue
        for value in _candidates(node, by_name, links):
            if value.name not in around:
                uses = [scopes[user.name] for user in value.users if _gives_gradient(user)]
                around[value.name] = common_scope(uses) if len(uses) > 1 else None
            scope = around[value.name]
            if scope is not None:
                found[node.name] = scope
                break
        else:
            first = node.all_input_nodes[0].name
            found[node.name] = found.get(first, scopes[first])
    return found


def _candidates(total: Any, by_name: Mapping[str, Any], links: Mapping[str, tuple[Link, ...]]) -> Iterator[Any]:
    """Values that a sum may be the gradient of: of its shape, and taken by the forward operations behind its summands.

    The summand that arrives last comes first: it is from a use of the value itself, the others may have come past it through a
    plain addition, which leaves no operation behind.
    """
    shape = getattr(total.meta.get("val"), "shape", None)
    for summand in reversed(total.all_input_nodes):
        if summand.meta.get("is_gradient_acc"):
            continue
        for link in links.get(summand.name, ()):
            for value in by_name[link.node].all_input_nodes:
                if getattr(value.meta.get("val"), "shape", None) == shape:
                    yield value


def _gives_gradient(user: Any) -> bool:
    """A forward use; `detach` only keeps a value for the backward half."""
    return not is_backward(user.meta) and not str(user.target).startswith("aten.detach")


def common_scope(scopes: Sequence[Path]) -> Path:
    """What several scopes begin with: what the first and the last in sorted order do."""
    first, last = min(scopes), max(scopes)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]
