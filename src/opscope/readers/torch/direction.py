"""Forward and backward in one fx graph: which half a node is in, and which forward node a backward node belongs to.

AOTAutograd marks nodes with `partitioner_tag` and copies the autograd sequence number of a forward operation to the operations of its
backward function. Several forward nodes may share a number: the first of them created the autograd function, the others are its
getitems or created none. An operation in place is one late: it has the number after that of its function. One in place on a view is
one early: autograd makes the function for the whole tensor (CopySlices) after it. A sum of gradients, for a
value that was used twice, belongs to no function: it is linked to the operation that computes the value, or to the parameter or input
that it is (`gradient_sums.py`), and placed in the module whose operations use the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from opscope.program import BACKWARD, BACKWARD_OF, FORWARD, Link, Path
from opscope.readers.torch.gradient_sums import gives_gradient, is_backward, is_sum, shape_text, summed_values

_COPIES = ("aten.clone.", "aten.detach.", "aten.alias.")
_CALLS = ("call_function", "call_method", "call_module")


def directions(nodes: Iterable[Any]) -> dict[str, str]:
    """The half of each operation, by name; empty if nothing is marked backward."""
    calls = [node for node in nodes if node.op in _CALLS]
    if not any(is_backward(node.meta) for node in calls):
        return {}
    return {node.name: BACKWARD if is_backward(node.meta) else FORWARD for node in calls}


def forward_links(nodes: Iterable[Any], same: Mapping[str, str] = MappingProxyType({})) -> dict[str, tuple[Link, ...]]:
    """For each backward operation, a link to the forward operation whose autograd function it is part of. `same` maps a tied placeholder
    to the one that is drawn."""
    nodes = list(nodes)
    owner: dict[int, str] = {}
    in_place: dict[int, str] = {}
    """The first operation with a number that is not a copy: what an operation in place became."""
    last: dict[int, Any] = {}
    functions: dict[str, int] = {}
    for node in nodes:
        number = node.meta.get("seq_nr")
        if node.op not in _CALLS or number is None:
            continue
        if not is_backward(node.meta):
            owner.setdefault(number, node.name)
            last[number] = node
            if not str(node.target).startswith(_COPIES):
                in_place.setdefault(number, node.name)
        elif not is_sum(node.meta):
            functions[node.name] = number
    forward_of = {name: owner[number] for name, number in functions.items() if number in owner}
    numbers, by_name = set(functions.values()), {node.name: node for node in nodes}
    for name, number in functions.items():
        if number not in owner and number + 1 in in_place and number + 1 not in numbers:
            forward_of[name] = in_place[number + 1]
        elif number not in owner and number - 1 in last and _same_line(by_name[name], last[number - 1]):
            forward_of[name] = last[number - 1].name
    forward_of |= {name: value.name for name, value in summed_values(nodes, forward_of).items()}
    return {name: (Link(BACKWARD_OF, same.get(forward, forward)),) for name, forward in forward_of.items()}


def _same_line(node: Any, forward: Any) -> bool:
    """Whether the function of a backward node was made by the call that made a forward node."""
    trace = node.meta.get("stack_trace")
    return trace is not None and trace == forward.meta.get("stack_trace")


def missing_scopes(nodes: Iterable[Any], scopes: Mapping[str, Path], links: Mapping[str, tuple[Link, ...]]) -> dict[str, Path]:
    """Scopes for what torch leaves without one: sums of gradients are in the innermost module around all forward uses of the value,
    and the backward of an operation in place is in its module."""
    by_name: dict[str, Any] = {}
    assigned: dict[str, Path] = {}
    around: dict[str, Path | None] = {}
    """By value: the scope around its forward uses, None if it has only one. Cached, because a value may have many sums."""
    for node in nodes:
        by_name[node.name] = node
        if scopes.get(node.name) or not is_backward(node.meta):
            continue
        if not is_sum(node.meta):
            if node.name in links:
                assigned[node.name] = scopes[links[node.name][0].node]
            continue
        for value in _candidates(node, by_name, links):
            if value.name not in around:
                uses = [scopes[user.name] for user in value.users if gives_gradient(user)]
                around[value.name] = common_scope(uses) if len(uses) > 1 else None
            scope = around[value.name]
            if scope is not None:
                assigned[node.name] = scope
                break
        else:
            first = node.all_input_nodes[0].name
            assigned[node.name] = assigned.get(first, scopes[first])
    return assigned


def _candidates(total: Any, by_name: Mapping[str, Any], links: Mapping[str, tuple[Link, ...]]) -> Iterator[Any]:
    """Values that a sum may be the gradient of: of the same shape, and used by the forward operations behind its summands.

    The last summand comes first: it belongs to a use of the value itself, while the others may come from beyond a plain addition,
    which leaves no backward operation.
    """
    shape = shape_text(total)
    for summand in reversed(total.all_input_nodes):
        if is_sum(summand.meta):
            continue
        for link in links.get(summand.name, ()):
            for value in by_name[link.node].all_input_nodes:
                if shape_text(value) == shape:
                    yield value


def common_scope(scopes: Sequence[Path]) -> Path:
    """The common prefix of several scopes: that of the first and the last in sorted order."""
    first, last = min(scopes), max(scopes)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]
