"""Graph and Program: immutable, indexed on demand, and readable as text.

A Graph behaves like a list of its nodes and a Program like a list of its graphs: iteration, `len()`, `[0]`, `[1:3]` and `in`. Both also
support lookup by name: `graph["add.3"]`, `"add.3" in graph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

from opscope.display import Displayed
from opscope.errors import OpscopeError
from opscope.program.call_order import callees_first
from opscope.program.columns import NodeColumns, calling, edges_of, ids_of, operands_of, ops_of, outputs_of, reads_of, roles_of
from opscope.program.memory_plan import MemoryPlan
from opscope.program.metric import Column, Metric, NodeValues, check_ratio, number
from opscope.program.node import Node
from opscope.program.own_text import OwnText
from opscope.program.values import ARGUMENT_ROLES, EMPTY, PRINTED, NodeKey, Path, Role, TensorType, ValueRef

_FEW = 16


@dataclass(frozen=True)
class Graph:
    """Nodes in the order of the source, which is usually topological. Cycles are allowed."""

    name: str
    nodes: Sequence[Node]
    """A tuple. The nodes of a very large graph are columns that behave like one."""
    outputs: tuple[ValueRef, ...] = ()
    groupings: Mapping[str, Mapping[str, Path]] = field(default_factory=lambda: EMPTY)
    attrs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    metrics: Mapping[str, Column] = field(default_factory=lambda: EMPTY)
    """By metric, the numbers of the nodes that have one. The program's `metrics` define their meaning."""

    @property
    def ids(self) -> Iterable[str]:
        """One column of `nodes`, in order, like `ops`, `roles`, `types` and `reads`: much faster than the nodes of a very large graph."""
        return ids_of(self.nodes)

    @property
    def ops(self) -> Iterable[str]:
        return ops_of(self.nodes)

    @property
    def roles(self) -> Iterable[Role]:
        return roles_of(self.nodes)

    @property
    def types(self) -> Sequence[tuple[TensorType, ...]]:
        """The outputs of each node."""
        return outputs_of(self.nodes)

    @property
    def reads(self) -> Iterable[tuple[str, ...]]:
        """The ids of the nodes whose values each node reads."""
        return reads_of(self.nodes)

    def types_of(self, name: str) -> tuple[TensorType, ...]:
        """The outputs of a node."""
        nodes, place = self.nodes, self.position[name]
        return nodes.outputs[place] if isinstance(nodes, NodeColumns) else nodes[place].outputs

    @cached_property
    def calling(self) -> tuple[Node, ...]:
        """The nodes that call graphs."""
        return tuple(calling(self.nodes))

    @cached_property
    def position(self) -> Mapping[str, int]:
        """The index of each id in `nodes`."""
        return MappingProxyType(dict(zip(self.ids, range(len(self.nodes)), strict=True)))

    def places(self, names: Sequence[str]) -> list[int]:
        """The positions of these nodes. For a few of a very large graph, no index is made of all of them."""
        nodes = self.nodes
        if isinstance(nodes, NodeColumns) and len(names) <= _FEW and "position" not in vars(self):
            return list(map(nodes.ids.index, names))
        return list(map(self.position.__getitem__, names))

    @property
    def operands(self) -> tuple[Sequence[int], Sequence[int]]:
        """The positions of what all nodes read, one node after the other: those of node `i` begin at `starts[i]` of (starts, positions)."""
        nodes = self.nodes
        return (nodes.starts, nodes.sources) if isinstance(nodes, NodeColumns) else operands_of(nodes, self.position)

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """For each node, the ids of the nodes that use its values, in order, once each. Nodes without users are absent."""
        users: dict[str, list[str]] = {}
        for user, name in edges_of(self.nodes):
            by = users.get(name)
            if by is None:
                users[name] = [user]
            elif by[-1] != user:  # which may read it twice
                by.append(user)
        return MappingProxyType(dict(zip(users, map(tuple, users.values()), strict=True)))

    @cached_property
    def parameters(self) -> tuple[Node, ...]:
        """The arguments of the graph: its parameters, inputs and buffers."""
        return tuple(self.nodes[i] for i, role in enumerate(self.roles) if role in ARGUMENT_ROLES)

    @overload
    def __getitem__(self, key: str | int) -> Node: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, key: str | int | slice) -> Node | tuple[Node, ...]:
        """A node by id or index, or several by slice."""
        if isinstance(key, slice):
            return tuple(self.nodes[key])
        return self.nodes[self.position[key] if isinstance(key, str) else key]

    def __contains__(self, item: object) -> bool:
        """Whether the graph has a node with this id, or this node."""
        if not isinstance(item, Node):
            return item in self.position
        place = self.position.get(item.id)
        return place is not None and self.nodes[place] == item

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def lines(self, *, whole: bool = False) -> Iterator[str]:
        """Readable text, one line per node: typed result, op, operands and attributes. Long values are cut, unless it is to be `whole`.

        A graph of a framework that prints one line per node itself (hidet) is what that framework prints.
        """
        if PRINTED in self.attrs:
            yield from str(self.attrs[PRINTED]).splitlines()
            return
        header = ", ".join(f"{node.id}: {node.type_text}" for node in self.parameters)
        yield f"{self.name}({header}):"
        for node in self.nodes:
            if not node.is_argument or node.inputs:
                yield f"    {node.text(whole=whole)}"
        yield "    return " + ", ".join(name if index <= 0 else f"{name}#{index}" for name, index in self.outputs)

    def text(self, *, whole: bool = False) -> str:
        """What `print` shows; with `whole`, no value is cut."""
        return "\n".join(self.lines(whole=whole))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.nodes)} nodes, {len(self.parameters)} parameters, {len(self.outputs)} outputs>"


@dataclass(frozen=True)
class Program(Displayed):
    """Named graphs, one of them the entry."""

    name: str
    graphs: Mapping[str, Graph]
    entry: str
    attrs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    metrics: Mapping[str, Metric] = field(default_factory=lambda: EMPTY)
    own_text: OwnText | None = field(default=None, repr=False, compare=False)
    """The text that it was read from, if it was one with a line per node."""
    memory_plan: MemoryPlan | None = field(default=None, repr=False, compare=False)
    """Where its compiler puts its values in memory, if it was captured with that."""

    @property
    def main(self) -> Graph:
        """The entry graph."""
        return self.graphs[self.entry]

    @overload
    def __getitem__(self, key: str | int) -> Graph: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Graph, ...]: ...
    def __getitem__(self, key: str | int | slice) -> Graph | tuple[Graph, ...]:
        """A graph by name or index, or several by slice."""
        return self.graphs[key] if isinstance(key, str) else self._in_order[key]

    def __contains__(self, item: object) -> bool:
        """Whether the program has a graph with this name, or this graph."""
        return self.graphs.get(item.name) == item if isinstance(item, Graph) else item in self.graphs

    def __iter__(self) -> Iterator[Graph]:
        return iter(self.graphs.values())

    def __len__(self) -> int:
        return len(self.graphs)

    @cached_property
    def _in_order(self) -> tuple[Graph, ...]:
        return tuple(self.graphs.values())

    @property
    def node_count(self) -> int:
        """The number of nodes in all graphs."""
        return sum(len(graph) for graph in self)

    @cached_property
    def callers(self) -> Mapping[str, tuple[NodeKey, ...]]:
        """For each called graph, the nodes that call it."""
        callers: dict[str, list[NodeKey]] = {}
        for graph in self:
            for node in graph.calling:
                for called in node.calls:
                    callers.setdefault(called, []).append((graph.name, node.id))
        return MappingProxyType({name: tuple(by) for name, by in callers.items()})

    def callees_first(self, starts: Iterable[str] | None = None) -> list[Graph]:
        """All graphs, or those named by `starts` and what they call, each after everything that it calls."""
        if starts is None:
            starts = [*(name for name in self.graphs if name not in self.callers and name != self.entry), self.entry, *self.graphs]
        names = callees_first(starts, lambda name: (called for node in self.graphs[name].calling for called in node.calls))
        return [self.graphs[name] for name in names]

    def with_metric(self, metric: Metric, values: NodeValues = EMPTY) -> Program:
        """The program with a metric on some of its nodes. It replaces a metric of the same name.

        The keys of `values` are node ids, for nodes of the entry graph, or (graph name, node id).
        """
        columns: dict[str, dict[str, float]] = {}
        for key, value in values.items():
            graph, node = (self.entry, key) if isinstance(key, str) else key
            if graph not in self.graphs or node not in self.graphs[graph]:
                raise OpscopeError(f"metric {metric.name!r} is on {node!r} in graph {graph!r}, which is not a node of the program")
            try:
                columns.setdefault(graph, {})[node] = number(value)
            except ValueError as error:
                raise OpscopeError(f"metric {metric.name!r} of {node!r} {error}") from None
        if columns and metric.ratio:
            raise OpscopeError(f"metric {metric.name!r} is a ratio, which has no numbers of its own; pass no values")
        return self.with_columns({metric: columns})

    def with_columns(self, columns: Mapping[Metric, Mapping[str, Column]]) -> Program:
        """Like `with_metric`, for code that has whole columns by graph and knows that they are valid. They are not copied or checked."""
        defined = {metric.name: metric for metric in columns}
        metrics = {**self.metrics, **defined}
        for metric in metrics.values():
            check_ratio(metric, metrics)
        graphs = {}
        for name, graph in self.graphs.items():
            others = {metric_name: column for metric_name, column in graph.metrics.items() if metric_name not in defined}
            added = {metric.name: MappingProxyType(by_graph[name]) for metric, by_graph in columns.items() if name in by_graph}
            graphs[name] = replace(graph, metrics=MappingProxyType(others | added))
        return replace(self, graphs=MappingProxyType(graphs), metrics=MappingProxyType(metrics))

    def text(self, *, whole: bool = False) -> str:
        """What `print` shows; with `whole`, no value is cut."""
        return "\n\n".join(graph.text(whole=whole) for graph in self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        graphs = "1 graph" if len(self.graphs) == 1 else f"{len(self.graphs)} graphs"
        return f"<Program {self.name}: {self.node_count} nodes in {graphs}, entry {self.entry}>"
