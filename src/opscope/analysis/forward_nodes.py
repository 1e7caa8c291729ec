"""Nodes as linking looks at them: those of a very large graph are columns, and are not made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from opscope.analysis.derivatives import OWN_RESULT
from opscope.analysis.origins import Key, Origin
from opscope.ops import facts_of, plain_name
from opscope.program import ARGUMENT_ROLES, Graph, NodeColumns, NodeKey, TensorType


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


Value: TypeAlias = Forward | NodeKey
"""What a node is the value of: a forward node, an argument of a graph, or a node of which nothing else is known."""


class Step(NamedTuple):
    """A backward node that has been looked up."""

    place: Key
    forward: tuple[Forward, ...]
    gradient: bool
    """Whether a gradient flows through it; otherwise it only prepares values of the forward half."""
    level: int
    """The level of the evidence."""


class Part:
    """A graph with what is known about its nodes so far, by their ids: most of the work is looking up operands."""

    def __init__(self, graph: Graph, is_entry: bool) -> None:
        self.graph = graph
        self.is_entry = is_entry
        self.arguments = {name for name, role in zip(graph.ids, graph.roles, strict=True) if role in ARGUMENT_ROLES}
        self.own: dict[str, Forward] = {}
        """Forward nodes of this graph."""
        self.forward: dict[str, Forward] = {}
        """Forward nodes, also where another node is their value: what is recomputed, and what was saved."""
        self.same_argument: dict[str, NodeKey] = {}
        """Nodes that are an argument of another graph, passed on."""
        self.repeated: set[Forward] = set()
        """Forward nodes that recomputed nodes of this graph repeat."""
        self.steps: dict[str, Step] = {}
        """Backward nodes that have been looked up."""
        self.links: dict[str, tuple[Forward, ...]] = {}
        """What was found for backward nodes."""

    def value(self, name: str) -> Value:
        """What a node is the value of: itself, if nothing else is known."""
        return self.forward.get(name) or self.same_argument.get(name) or (self.graph.name, name)

    def op_of(self, name: str) -> str:
        """The operation of a node, without making the node: those of a large graph are columns."""
        nodes, place = self.graph.nodes, self.graph.position[name]
        return nodes.ops[place] if isinstance(nodes, NodeColumns) else nodes[place].op

    def forget(self) -> None:
        """Give the memory back, once nobody asks any more."""
        for forward in self.own.values():
            forward.unit, forward.sources, forward.values = (), None, None
        for known in (self.own, self.forward, self.repeated, self.steps, self.links):
            known.clear()
