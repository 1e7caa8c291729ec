"""Node, Graph and Program: immutable, indexed on demand, and readable as text.

A Graph behaves like a list of its nodes and a Program like a list of its graphs: iteration, `len()`, `[0]`, `[1:3]` and `in`. Both also
support lookup by name: `graph["add.3"]`, `"add.3" in graph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple, overload

from opscope.display import Displayed
from opscope.ellipsis import ellipsize
from opscope.errors import OpscopeError
from opscope.program.call_order import callees_first
from opscope.program.memory_plan import MemoryPlan
from opscope.program.metric import Column, Metric, NodeValues, check_ratio, number
from opscope.program.own_text import OwnText
from opscope.program.values import (
    ARGUMENT_ROLES,
    EMPTY,
    NO_DETAILS,
    PRINTED,
    WHOLE,
    Details,
    Frame,
    Link,
    NodeKey,
    Path,
    Role,
    TensorType,
    ValueRef,
)

_LONGEST_VALUE = 97


class Node(NamedTuple):
    """One operation, parameter, constant or output."""

    id: str
    op: str
    inputs: tuple[ValueRef, ...] = ()
    outputs: tuple[TensorType, ...] = ()
    role: Role = "op"
    calls: tuple[str, ...] = ()
    control: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    details: Details = NO_DETAILS

    @property
    def is_argument(self) -> bool:
        """Whether it is an argument of its graph: a parameter, an input or a buffer."""
        return self.role in ARGUMENT_ROLES

    @property
    def attrs(self) -> Mapping[str, Any]:
        return self.details.attrs

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.details.settings

    @property
    def scope(self) -> Path:
        return self.details.scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return self.details.source

    @property
    def type_text(self) -> str:
        """The output type: "f32[2, 3]", or "(f32[2], s32[])" for several outputs."""
        texts = [str(t) for t in self.outputs]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    @property
    def operands(self) -> list[str]:
        """The inputs as text: "dot.3", "while.7#2" for the third output, "while.7#*" for all outputs together."""
        return [name if index == 0 else f"{name}#{'*' if index == WHOLE else index}" for name, index in self.inputs]

    @property
    def short_text(self) -> str:
        """One line without attributes, except a constant's value and a parameter's number."""
        payload = self.attrs.get("value" if self.role == "constant" else "parameter_number" if self.is_argument else "")
        inner = self.operands if payload is None else [*self.operands, _value_text(payload)]
        return _one_line(f"{self.id}: {self.type_text} = {self.op}({', '.join(inner)})")

    def text(self, *, whole: bool = False) -> str:
        """One line: typed result, op, operands and attributes. Long values are cut, unless it is to be `whole`."""
        operands = self.operands
        operands += [f"{key}={_value_text(value, whole)}" for key, value in self.attrs.items()]
        operands += [f"calls={name}" for name in self.calls] + [f"after={name}" for name in self.control]
        typed = f"{self.id}: {self.type_text}" if self.outputs else self.id
        return _one_line(f"{typed} = {self.op}({', '.join(operands)})")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Node {self.short_text}>"


def _one_line(text: str) -> str:
    lines = text.splitlines()
    return text if len(lines) < 2 else " ".join(line for line in map(str.strip, lines) if line)


def _value_text(value: Any, whole: bool = False) -> str:
    """A value on one line. A long one is cut at its end; a list is cut between two items, and then says how many it has."""
    if isinstance(value, list | tuple) and value and not whole:
        return _list_text(value)
    line = _one_line(value if isinstance(value, str) else repr(value))
    return line if whole else ellipsize(line, _LONGEST_VALUE)


def _list_text(items: Sequence[Any]) -> str:
    opening, closing = "[]" if isinstance(items, list) else "()"
    texts: list[str] = []
    length = 0
    for item in items:
        text = ellipsize(repr(item), _LONGEST_VALUE)
        length += len(text) + len(", ")
        if texts and length > _LONGEST_VALUE:
            texts.append(f"… {len(items):,} in total")
            break
        texts.append(text)
    comma = "," if isinstance(items, tuple) and len(items) == 1 else ""
    return f"{opening}{', '.join(texts)}{comma}{closing}"


@dataclass(frozen=True)
class Graph:
    """Nodes in the order of the source, which is usually topological. Cycles are allowed."""

    name: str
    nodes: tuple[Node, ...]
    outputs: tuple[ValueRef, ...] = ()
    groupings: Mapping[str, Mapping[str, Path]] = field(default_factory=lambda: EMPTY)
    attrs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    metrics: Mapping[str, Column] = field(default_factory=lambda: EMPTY)
    """By metric, the numbers of the nodes that have one. The program's `metrics` define their meaning."""

    @cached_property
    def position(self) -> Mapping[str, int]:
        """The index of each id in `nodes`."""
        return MappingProxyType({node.id: i for i, node in enumerate(self.nodes)})

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """For each node, the ids of the nodes that use its values, in order, once each. Nodes without users are absent."""
        users: dict[str, dict[str, None]] = {}
        for node in self.nodes:
            for name, _ in node.inputs:
                users.setdefault(name, {})[node.id] = None
        return MappingProxyType({name: tuple(by) for name, by in users.items()})

    @cached_property
    def parameters(self) -> tuple[Node, ...]:
        """The arguments of the graph: its parameters, inputs and buffers."""
        return tuple(node for node in self.nodes if node.is_argument)

    @overload
    def __getitem__(self, key: str | int) -> Node: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, key: str | int | slice) -> Node | tuple[Node, ...]:
        """A node by id or index, or several by slice."""
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
            for node in graph:
                for called in node.calls:
                    callers.setdefault(called, []).append((graph.name, node.id))
        return MappingProxyType({name: tuple(by) for name, by in callers.items()})

    def callees_first(self, starts: Iterable[str] | None = None) -> list[Graph]:
        """All graphs, or those named by `starts` and what they call, each after everything that it calls."""
        if starts is None:
            starts = [*(name for name in self.graphs if name not in self.callers and name != self.entry), self.entry, *self.graphs]
        names = callees_first(starts, lambda name: (called for node in self.graphs[name] for called in node.calls))
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
