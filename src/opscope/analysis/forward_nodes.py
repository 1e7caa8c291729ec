"""Nodes as linking looks at them. Those of a very large graph are columns, and are not made; and nodes are known by their positions, since
most of the work is looking up operands, and a list is read faster than names are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, islice, repeat
from operator import sub
from typing import Any, NamedTuple, TypeAlias

from opscope.analysis.derivatives import OWN_RESULT
from opscope.analysis.origins import Key, Origin
from opscope.ops import facts_of, plain_name
from opscope.program import ARGUMENT_ROLES, Graph, NodeKey, TensorType


class Row(NamedTuple):
    """A node without its details."""

    position: int
    op: str
    read: tuple[int, ...]
    """The positions of the nodes whose values it reads."""
    outputs: tuple[TensorType, ...]


_row: Callable[[tuple[Any, ...]], Row] = partial(tuple.__new__, Row)


def rows_of(graph: Graph) -> Iterator[Row]:
    """The nodes of a graph."""
    starts, operands = graph.operands
    read = map(tuple, map(islice, repeat(iter(operands)), map(sub, islice(starts, 1, None), starts)))
    return map(_row, zip(range(len(graph)), graph.ops, read, graph.types, strict=True))


class Forward:
    """A forward node with what is looked up of it again and again. It is equal to nothing but itself: comparing it is quick."""

    __slots__ = ("helper", "op", "origin", "outputs", "own_result", "part", "position", "read", "reshapes", "sources", "unit", "values")

    def __init__(self, part: Part, row: Row, origin: Origin, helper: bool) -> None:
        self.part = part
        self.position, self.op, self.read, self.outputs = row
        self.origin = origin
        self.helper = helper
        self.own_result = plain_name(row.op) in OWN_RESULT
        self.reshapes = facts_of(row.op).category == "shape"
        self.unit: tuple[Forward, ...] = ()
        self.sources: list[Forward] | None = None
        self.values: tuple[Value, ...] | None = None

    @property
    def key(self) -> NodeKey:
        return self.part.graph.name, self.part.ids[self.position]

    def users(self) -> list[Forward]:
        """The forward nodes that read it, in its graph."""
        own = self.part.own
        return [user for position in self.part.users[self.position] if (user := own[position])]

    def is_one_with(self, other: Forward) -> bool:
        """Whether two nodes come from one operation of the source."""
        mine, its = self.origin, other.origin
        return mine.place == its.place and mine.primitive == its.primitive


Argument: TypeAlias = tuple[str, int] | tuple[str, int, int]
"""The graph and position of an argument, or of an element of one that is a tuple."""
Value: TypeAlias = Forward | Argument
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
    """A graph with what is known about its nodes so far, by their positions."""

    def __init__(self, graph: Graph, is_entry: bool) -> None:
        self.graph = graph
        self.is_entry = is_entry
        self.ids = list(graph.ids)
        self.ops = list(graph.ops)
        self.types = graph.types
        self.arguments = {position for position, role in enumerate(graph.roles) if role in ARGUMENT_ROLES}
        self.own: list[Forward | None] = [None] * len(self.ids)
        """Forward nodes of this graph."""
        self.forward = self.own.copy()
        """Forward nodes, also where another node is their value: what is recomputed, and what was saved."""
        self.same_argument: dict[int, Argument] = {}
        """Nodes that are an argument of another graph, passed on."""
        self.repeated: set[Forward] = set()
        """Forward nodes that recomputed nodes of this graph repeat."""
        self.steps: list[Step | None] = [None] * len(self.ids)
        """Backward nodes that have been looked up."""
        self.links: dict[int, tuple[Forward, ...]] = {}
        """What was found for backward nodes."""

    @cached_property
    def users(self) -> Sequence[Sequence[int]]:
        """The positions of the nodes that use the values of each, in order, once each."""
        starts, operands = self.graph.operands
        users: list[Sequence[int]] = [()] * len(self.ids)
        counts = map(sub, islice(starts, 1, None), starts)
        for user, operand in zip(chain.from_iterable(map(repeat, range(len(self.ids)), counts)), operands, strict=True):
            by = users[operand]
            if not by:
                users[operand] = [user]
            elif by[-1] != user:  # which may read it twice
                by.append(user)  # type: ignore[attr-defined]
        return users

    def value(self, position: int) -> Value:
        """What a node is the value of: itself, if nothing else is known."""
        return self.forward[position] or self.same_argument.get(position) or (self.graph.name, position)

    def forget(self) -> None:
        """Give the memory back, once nobody asks any more."""
        for forward in filter(None, self.own):
            forward.unit, forward.sources, forward.values = (), None, None
        for known in (self.own, self.forward, self.repeated, self.steps, self.links):
            known.clear()
        vars(self).pop("users", None)
