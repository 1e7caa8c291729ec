"""Nodes as linking looks at them: those of a very large graph are columns, and are not made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from opscope.analysis.derivatives import OWN_RESULT
from opscope.analysis.origins import Origin
from opscope.ops import facts_of, plain_name
from opscope.program import Graph, NodeKey, TensorType

if TYPE_CHECKING:
    from opscope.analysis.forward_index import Part, Value


class Row(NamedTuple):
    """A node without its details."""

    id: str
    op: str
    read: tuple[str, ...]
    """The ids of the nodes whose values it reads."""
    outputs: tuple[TensorType, ...]


_row: Callable[[tuple[Any, ...]], Row] = partial(tuple.__new__, Row)


def rows_of(graph: Graph) -> Iterator[Row]:
    """The nodes of a graph."""
    return map(_row, zip(graph.ids, graph.ops, graph.reads, graph.types, strict=True))


class Forward:
    """A forward node with what is looked up of it again and again. It is equal to nothing but itself: comparing it is quick."""

    __slots__ = ("helper", "id", "op", "origin", "outputs", "own_result", "part", "read", "reshapes", "sources", "unit", "values")

    def __init__(self, part: Part, row: Row, origin: Origin, helper: bool) -> None:
        self.part = part
        self.id, self.op, self.read, self.outputs = row
        self.origin = origin
        self.helper = helper
        self.own_result = plain_name(row.op) in OWN_RESULT
        self.reshapes = facts_of(row.op).category == "shape"
        self.unit: tuple[Forward, ...] = ()
        self.sources: list[Forward] | None = None
        self.values: tuple[Value, ...] | None = None

    @property
    def key(self) -> NodeKey:
        return self.part.graph.name, self.id

    def users(self) -> list[Forward]:
        """The forward nodes that read it, in its graph."""
        own = self.part.own
        return [own[name] for name in self.part.graph.users.get(self.id, ()) if name in own]

    def is_one_with(self, other: Forward) -> bool:
        """Whether two nodes come from one operation of the source."""
        mine, its = self.origin, other.origin
        return mine.place == its.place and mine.primitive == its.primitive
