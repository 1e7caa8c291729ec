"""Which nodes do the same with values of the same types. Layers repeat: a million nodes are a few hundred different ones, and what follows
from operation and types alone needs to be found once for each."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from operator import sub
from typing import TypeAlias

from opscope.program import ROLES, Graph, NodeColumns, TensorType

Alike: TypeAlias = tuple[str, str, int, tuple[int, ...], tuple[int, ...]]
"""Equal for nodes that are alike: operation, role, types of the results, types of what each input refers to, and which output of it
(nothing if every input in a graph is the first output)."""


class TypeNumbers:
    """Numbers lists of types. Nodes of one program share most lists, so that an identity is nearly always enough to find the number."""

    def __init__(self) -> None:
        self._by_identity: dict[int, int] = {}
        self._by_value: dict[tuple[TensorType, ...], int] = {}
        self._kept: list[tuple[TensorType, ...]] = []
        """An identity is that of an object only as long as the object is there."""

    def of(self, lists: Iterable[tuple[TensorType, ...]]) -> array[int]:
        """The number of each list."""
        lists = lists if isinstance(lists, list) else list(lists)
        known, values = self._by_identity, self._by_value
        for identity, types in dict(zip(map(id, lists), lists, strict=True)).items():
            if identity not in known:
                known[identity] = values.setdefault(types, len(values))
                self._kept.append(types)
        return array("I", map(known.__getitem__, map(id, lists)))


def alike_of(graph: Graph, types: TypeNumbers) -> Iterator[Alike]:
    """For each node of a graph, what it is like."""
    numbers, nodes = types.of(graph.types), graph.nodes
    if isinstance(nodes, NodeColumns):
        counts = array("I", map(sub, islice(nodes.starts, 1, None), nodes.starts))
        read = map(tuple, map(islice, repeat(map(numbers.__getitem__, nodes.sources)), counts))
        which: Iterable[tuple[int, ...]] = repeat((), len(nodes))
        if any(nodes.indices):
            which = map(tuple, map(islice, repeat(iter(nodes.indices)), counts))
        return zip(nodes.ops, map(ROLES.__getitem__, nodes.roles), numbers, read, which, strict=True)
    by_id = dict(zip(graph.ids, numbers, strict=True))
    return (
        (op, role, number, tuple([by_id[name] for name, _ in inputs]), tuple([index for _, index in inputs]))
        for (_, op, inputs, _, role, _, _, _, _), number in zip(nodes, numbers, strict=True)
    )
