"""Index and mask computations of a model: positions, causal masks, shapes. They fill half of a picture and are rarely the question."""

from __future__ import annotations

from collections import Counter

from opscope.program import Graph, Node, Path, dtype_kind

POSITION_AND_MASK = "position and mask"
_FEWEST = 6
"""Fewer of them are seen at a glance."""
_INDEX = ("integer", "boolean")


def index_ops(graph: Graph) -> frozenset[str]:
    """Operations that depend on nothing but integer and boolean inputs and constants, where a module has several of them.

    With each of them come all operations before it, so that drawing those of a module as one box makes no cycle.
    """
    members: dict[str, Path] = {}
    for node in graph:
        if node.role != "op" or node.calls or not node.outputs:
            continue
        if all(source in members or _gives_index(graph[source]) for source, _ in node.inputs) and _is_index_op(node):
            members[node.id] = node.scope
    crossing = {scope for node_id, scope in members.items() for scope in _between(graph, node_id, members)}
    counts = Counter(members.values())
    return frozenset(node_id for node_id, scope in members.items() if counts[scope] >= _FEWEST and scope not in crossing)


def _gives_index(node: Node) -> bool:
    """Whether an argument or a constant may take part: weights may not."""
    return node.role == "constant" or (node.is_argument and all(dtype_kind(kind.dtype) in _INDEX for kind in node.outputs))


def _is_index_op(node: Node) -> bool:
    """An operation on indices, the mask of numbers that they are turned into at the end, or one number that it needs."""
    return bool(node.inputs) or all(dtype_kind(kind.dtype) in _INDEX or kind.elements == 1 for kind in node.outputs)


def _between(graph: Graph, node_id: str, members: dict[str, Path]) -> set[Path]:
    """Modules whose index operations take from those of another module: a box of them might be before and after it."""
    scope = members[node_id]
    return {scope for source, _ in graph[node_id].inputs if members.get(source, scope) != scope}
