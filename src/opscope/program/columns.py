"""The nodes of a large graph as columns, which take a third of the memory of objects. `Node` objects are made on access."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, islice, repeat
from operator import sub
from typing import Any, TypeVar, overload

from opscope.program.node import Node
from opscope.program.values import ROLES, Details, Link, Role, TensorType, ValueRef

LARGE = 16 << 20
"""A text of so many characters, which has a hundred thousand nodes, is read into columns. Objects are faster, as long as there are few."""
_PASSES = 8
"""Who goes over the nodes of a graph more often than that gets objects, which stay."""
_BATCH = 4096
_ROLE_NUMBERS = {role: number for number, role in enumerate(ROLES)}
_new: Any = partial(tuple.__new__, Node)

T = TypeVar("T")


class NodeColumns(Sequence[Node]):
    """Behaves like a tuple of nodes. The inputs of node `i` are `starts[i]` … `starts[i+1]-1` of `sources`, which are positions of nodes,
    and of `indices`, which are their outputs. What few nodes have (calls, control predecessors, links) is by position."""

    def __init__(
        self,
        ids: list[str],
        ops: list[str],
        outputs: list[tuple[TensorType, ...]],
        details: list[Details],
        roles: bytes,
        starts: array[int],
        sources: array[int],
        indices: array[int],
        calls: Mapping[int, tuple[str, ...]],
        control: Mapping[int, tuple[str, ...]],
        links: Mapping[int, tuple[Link, ...]],
    ) -> None:
        self.ids = ids
        self.ops = ops
        self.outputs = outputs
        self.details = details
        self.roles = roles
        self.starts = starts
        self.sources = sources
        self.indices = indices
        self.calls = calls
        self.control = control
        self.links = links
        self._uses = 0
        self._objects: tuple[Node, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._objects) if self._objects is not None else chain(self._nodes(), self._counted())

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, index: int | slice) -> Node | tuple[Node, ...]:
        if self._objects is not None:
            return self._objects[index]
        if isinstance(index, slice):
            return tuple([self[i] for i in range(*index.indices(len(self.ids)))])
        ids = self.ids
        i = index + len(ids) if index < 0 else index
        if i < 0:
            raise IndexError("node index out of range")
        start, end = self.starts[i], self.starts[i + 1]
        inputs: tuple[ValueRef, ...] = ()
        if start < end:
            inputs = tuple([(ids[at], output) for at, output in zip(self.sources[start:end], self.indices[start:end], strict=True)])
        flow = self.calls.get(i, ()), self.control.get(i, ()), self.links.get(i, ())
        self._count_uses(1)
        return Node(ids[i], self.ops[i], inputs, self.outputs[i], ROLES[self.roles[i]], *flow, self.details[i])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NodeColumns | tuple):
            return len(self) == len(other) and all(mine == its for mine, its in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def with_links(self, added: Mapping[int, tuple[Link, ...]]) -> NodeColumns:
        """The same nodes, some of them with other links, by their positions."""
        links = {**self.links, **added}
        flow = (self.starts, self.sources, self.indices, self.calls, self.control)
        return NodeColumns(self.ids, self.ops, self.outputs, self.details, self.roles, *flow, links)

    def _nodes(self) -> Iterator[Node]:
        """All nodes, made one after the other without a step in Python."""
        size = len(self.ids)
        values = zip(map(self.ids.__getitem__, self.sources), self.indices, strict=True)
        inputs = map(tuple, map(islice, repeat(values), map(sub, islice(self.starts, 1, None), self.starts)))
        rare = (_filled(column, size) for column in (self.calls, self.control, self.links))
        roles = map(ROLES.__getitem__, self.roles)
        return map(_new, zip(self.ids, self.ops, inputs, self.outputs, roles, *rare, self.details, strict=True))

    def _counted(self) -> Iterator[Node]:
        """Nothing, at the end of a pass, which then counts; one that ended early does not."""
        self._count_uses(len(self.ids))
        return
        yield

    def _count_uses(self, uses: int) -> None:
        """Make the objects when there were as many uses as in several passes."""
        self._uses += uses
        if self._uses > _PASSES * len(self.ids) and self._objects is None:
            self._objects = tuple(self._nodes())


def _filled(column: Mapping[int, tuple[T, ...]], size: int) -> Iterable[tuple[T, ...]]:
    return map(column.get, range(size), repeat(())) if column else repeat((), size)


class GrowingColumns:
    """Collects nodes as columns. `append` takes nodes one by one, `add_ids` and `extend` many of them column by column."""

    def __init__(self) -> None:
        self._batch: list[Node] = []
        self.numbers: dict[str, int] = {}
        """The position of each id."""
        self.ids: list[str] = []
        self.ops: list[str] = []
        self.outputs: list[tuple[TensorType, ...]] = []
        self.details: list[Details] = []
        self.roles = bytearray()
        self.starts = array("I", [0])
        self.sources = array("I")
        self.indices = array("i")
        self.calls: dict[int, tuple[str, ...]] = {}
        self.control: dict[int, tuple[str, ...]] = {}
        self.links: dict[int, tuple[Link, ...]] = {}
        self._later: list[tuple[int, str]] = []
        """Inputs that are defined later: their place in `sources`, and the id."""

    def append(self, node: Node) -> None:
        self._batch.append(node)
        if len(self._batch) == _BATCH:
            self._flush()

    def _flush(self) -> None:
        if not self._batch:
            return
        ids, ops, inputs, outputs, roles, calls, control, links, details = zip(*self._batch, strict=True)
        self._batch.clear()
        first = len(self.ids)
        for column, values in ((self.calls, calls), (self.control, control), (self.links, links)):
            column.update((i, value) for i, value in enumerate(values, first) if value)
        self.add_ids(ids)
        refs: list[ValueRef] = list(chain.from_iterable(inputs))
        self._add_inputs([name for name, _ in refs], map(len, inputs))
        self.indices.extend([index for _, index in refs])
        self._add(ops, roles, outputs, details)

    def extend(
        self,
        ops: Iterable[str],
        sources: Iterable[int],
        counts: Iterable[int],
        indices: Iterable[int],
        outputs: Iterable[tuple[TensorType, ...]],
        roles: Iterable[Role],
        details: Iterable[Details],
    ) -> None:
        """Add the nodes whose ids were added last: the positions of all their inputs, how many each has, and the outputs that they are."""
        self.sources.extend(sources)
        self._add_counts(counts)
        self.indices.extend(indices)
        self._add(ops, roles, outputs, details)

    def add_ids(self, ids: Sequence[str]) -> None:
        """Add the ids of nodes; `extend` adds the rest, or `drop_ids` removes them."""
        self.numbers.update(zip(ids, range(len(self.ids), len(self.ids) + len(ids)), strict=True))
        self.ids.extend(ids)

    def drop_ids(self, first: int) -> None:
        del self.ids[first:]
        self.numbers = dict(zip(self.ids, range(first), strict=True))

    def _add_inputs(self, names: Sequence[str], counts: Iterable[int]) -> None:
        known = len(self.sources)
        try:
            self.sources.extend(map(self.numbers.__getitem__, names))
        except KeyError:
            del self.sources[known:]
            self._later += [(place, name) for place, name in enumerate(names, known) if name not in self.numbers]
            self.sources.extend([self.numbers.get(name, 0) for name in names])
        self._add_counts(counts)

    def _add_counts(self, counts: Iterable[int]) -> None:
        self.starts.extend(islice(accumulate(counts, initial=self.starts[-1]), 1, None))

    def _add(
        self, ops: Iterable[str], roles: Iterable[Role], outputs: Iterable[tuple[TensorType, ...]], details: Iterable[Details]
    ) -> None:
        self.ops.extend(ops)
        self.roles.extend(map(_ROLE_NUMBERS.__getitem__, roles))
        self.outputs.extend(outputs)
        self.details.extend(details)

    def finished(self) -> NodeColumns:
        """The nodes. Raises KeyError or ValueError if ids are not unique or a reference does not resolve."""
        self._flush()
        if len(self.numbers) != len(self.ids):
            raise ValueError("ids are not unique")
        for place, name in self._later:
            self.sources[place] = self.numbers[name]
        outputs, sources = self.outputs, self.sources
        if self.indices and max(self.indices) > 0:
            for place, index in enumerate(self.indices):
                if index > 0 and index >= (len(outputs[sources[place]]) or index + 1):
                    raise ValueError("an output does not exist")
        if self.indices and min(self.indices) < -1:
            raise ValueError("an output does not exist")
        linked = (link.node for each in self.links.values() for link in each if not link.graph)
        names = chain(chain.from_iterable(self.control.values()), linked)
        for name in names:
            if name not in self.numbers:
                raise KeyError(name)
        columns = (self.calls, self.control, self.links)
        return NodeColumns(self.ids, self.ops, outputs, self.details, bytes(self.roles), self.starts, sources, self.indices, *columns)


def ids_of(nodes: Sequence[Node]) -> Iterable[str]:
    return nodes.ids if isinstance(nodes, NodeColumns) else [node.id for node in nodes]


def ops_of(nodes: Sequence[Node]) -> Iterable[str]:
    return nodes.ops if isinstance(nodes, NodeColumns) else [node.op for node in nodes]


def roles_of(nodes: Sequence[Node]) -> Iterable[Role]:
    return map(ROLES.__getitem__, nodes.roles) if isinstance(nodes, NodeColumns) else [node.role for node in nodes]


def outputs_of(nodes: Sequence[Node]) -> Sequence[tuple[TensorType, ...]]:
    return nodes.outputs if isinstance(nodes, NodeColumns) else [node.outputs for node in nodes]


def calling(nodes: Sequence[Node]) -> Iterator[Node]:
    """The nodes that call graphs."""
    return (nodes[i] for i in sorted(nodes.calls)) if isinstance(nodes, NodeColumns) else (node for node in nodes if node.calls)


def inputs_of(nodes: Sequence[Node]) -> tuple[Iterable[int], Iterable[str], Iterable[int]]:
    """How many inputs each node has, and of all of them the ids of what they refer to, and which output of it."""
    if isinstance(nodes, NodeColumns):
        counts = array("I", map(sub, islice(nodes.starts, 1, None), nodes.starts))
        return counts, map(nodes.ids.__getitem__, nodes.sources), nodes.indices
    refs = [ref for node in nodes for ref in node.inputs]
    return [len(node.inputs) for node in nodes], [name for name, _ in refs], [index for _, index in refs]


def reads_of(nodes: Sequence[Node]) -> Iterable[tuple[str, ...]]:
    """For each node, the ids of the nodes that its inputs refer to."""
    if isinstance(nodes, NodeColumns):
        counts = map(sub, islice(nodes.starts, 1, None), nodes.starts)
        return map(tuple, map(islice, repeat(map(nodes.ids.__getitem__, nodes.sources)), counts))
    return [tuple([name for name, _ in node.inputs]) for node in nodes]


def edges_of(nodes: Sequence[Node]) -> Iterator[tuple[str, str]]:
    """For each input of each node, the ids of the node and of what it reads."""
    if isinstance(nodes, NodeColumns):
        counts = map(sub, islice(nodes.starts, 1, None), nodes.starts)
        return zip(chain.from_iterable(map(repeat, nodes.ids, counts)), map(nodes.ids.__getitem__, nodes.sources), strict=True)
    return ((node.id, name) for node in nodes for name, _ in node.inputs)


def operands_of(nodes: Sequence[Node], position: Mapping[str, int]) -> tuple[Sequence[int], Sequence[int]]:
    """Where the inputs of each node begin, and where the last ends, among the positions of all of them."""
    counts = (len(node.inputs) for node in nodes)
    return list(accumulate(counts, initial=0)), [position[name] for node in nodes for name, _ in node.inputs]


def details_of(nodes: Sequence[Node]) -> Sequence[Details]:
    return nodes.details if isinstance(nodes, NodeColumns) else [node.details for node in nodes]


def calls_of(nodes: Sequence[Node]) -> Mapping[int, tuple[str, ...]]:
    """The graphs that nodes call, by their positions. Few nodes do; the same holds for control predecessors."""
    return nodes.calls if isinstance(nodes, NodeColumns) else {i: node.calls for i, node in enumerate(nodes) if node.calls}


def control_of(nodes: Sequence[Node]) -> Mapping[int, tuple[str, ...]]:
    return nodes.control if isinstance(nodes, NodeColumns) else {i: node.control for i, node in enumerate(nodes) if node.control}


def links_of(nodes: Sequence[Node]) -> Mapping[int, tuple[Link, ...]]:
    return nodes.links if isinstance(nodes, NodeColumns) else {i: node.links for i, node in enumerate(nodes) if node.links}


def referring(nodes: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """The nodes that call graphs or have links, with their positions."""
    if isinstance(nodes, NodeColumns):
        return ((i, nodes[i]) for i in sorted({*nodes.calls, *nodes.links}))
    return ((i, node) for i, node in enumerate(nodes) if node.calls or node.links)
