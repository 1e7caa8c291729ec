"""How readers create a Program. The builder checks that the parts of nodes are what the model says, that ids are unique and that every
reference resolves, and reports where not."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import repeat
from types import MappingProxyType
from typing import Any, TypeVar

from opscope.errors import OpscopeError, SourceError
from opscope.program.checks import MOST_OUTPUTS, shown, wrong_part, wrong_type
from opscope.program.columns import GrowingColumns, referring
from opscope.program.metric import Metric, check_ratio, number
from opscope.program.model import Graph, Program
from opscope.program.node import Node
from opscope.program.values import EMPTY, NO_DETAILS, WHOLE, ColumnDetails, Frame, KnownDetails, Link, Path, Role, TensorType, ValueRef

T = TypeVar("T")

builtin_id = id
"""The built-in `id`; here, an id is that of a node."""


class GraphBuilder:
    """Collects one graph. `line` is the line of a node in the source, for error messages."""

    def __init__(self, name: str, line: int = 0, index: int = 0) -> None:
        self.name = name
        self.line = line
        self.index = index
        self.nodes: list[Node] = []
        self.columns: GrowingColumns | None = None
        """The nodes of a large graph, instead of `nodes`."""
        self.lines: list[int] = []
        self.outputs: list[ValueRef] = []
        self.groupings: dict[str, dict[str, Path]] = {}
        self.metrics: dict[str, dict[str, float]] = {}
        self.attrs: dict[str, Any] = {}

    def add(self, node: Node, line: int = 0) -> Node:
        """Add a node from a source that has checked its parts."""
        self.nodes.append(node)
        self.lines.append(line)
        return node

    def take(self, nodes: Iterable[Node]) -> None:
        """Add many nodes at once, from a source that has checked their parts and has no lines or tracks them itself."""
        self.nodes.extend(nodes)
        self.lines.extend(repeat(0, len(self.nodes) - len(self.lines)))

    def node(
        self,
        id: str,
        op: str,
        inputs: Iterable[ValueRef] = (),
        outputs: Iterable[TensorType] = (),
        *,
        role: Role = "op",
        attrs: Mapping[str, Any] = EMPTY,
        scope: Path = (),
        source: Iterable[Frame] = (),
        columns: Iterable[str] = (),
        calls: Iterable[str] = (),
        control: Iterable[str] = (),
        links: Iterable[Link] = (),
        line: int = 0,
    ) -> Node:
        """Add a node with its details, after checking them."""
        frames = tuple(source)
        details = KnownDetails(attrs, scope, frames) if attrs or scope or frames else NO_DETAILS
        if places := tuple(columns):
            details = ColumnDetails(attrs, scope, frames, places)
        node = Node(id, op, tuple(inputs), tuple(outputs), role, tuple(calls), tuple(control), tuple(links), details)
        self.add(node, line)
        field, problem = wrong_part(node)
        if field:
            raise self._fail(len(self.nodes) - 1, f"{field} of {shown(id)} {problem}", f".{field}")
        return node

    def group(self, grouping: str, node_id: str, path: Path) -> None:
        self.groupings.setdefault(grouping, {})[node_id] = path

    def measure(self, metric: str, node_id: str, value: float) -> None:
        """Set a node's number for a metric that the program defines."""
        self.metrics.setdefault(metric, {})[node_id] = value

    def _fail(self, index: int, message: str, part: str = "") -> SourceError:
        line = self.lines[index] if index < len(self.lines) else 0
        return SourceError(message, line=line or self.line, path=f"graphs[{self.index}].nodes[{index}]{part}")

    def _fail_graph(self, message: str, part: str) -> SourceError:
        return SourceError(message, line=self.line, path=f"graphs[{self.index}]{part}")

    def _is_valid(self, counts: dict[str, int]) -> bool:
        """Whether every reference resolves, in one quick pass. If not, `_raise_first_error` finds out what is wrong."""
        if len(counts) != len(self.nodes):
            return False
        count_of = counts.get
        for _, _, inputs, _, _, _, control, links, _ in self.nodes:
            for name, index in inputs:
                if not WHOLE <= index < count_of(name, WHOLE):
                    return False
            if (control or links) and not (
                all(name in counts for name in control) and all(link.graph or link.node in counts for link in links)
            ):
                return False
        return True

    def _raise_first_error(self) -> None:
        """Raise an error for the first node that is not valid."""
        position: dict[str, int] = {}
        for i, node in enumerate(self.nodes):
            if position.setdefault(node.id, i) != i:
                raise self._fail(i, f"duplicate id {node.id!r} in graph {self.name!r}; ids must be unique within a graph", ".id")
        nodes = self.nodes
        for i, node in enumerate(nodes):
            for name, index in node.inputs:
                at = position.get(name)
                if at is None:
                    message = f"input {name!r} of {node.id!r} is not a node of graph {self.name!r}"
                    raise self._fail(i, message, _nth("inputs", node.inputs, (name, index)))
                count = len(nodes[at].outputs)
                if not WHOLE <= index < (count or MOST_OUTPUTS):
                    message = f"{node.id!r} uses output {index} of {name!r}, which has {count or 'fewer'}"
                    raise self._fail(i, message, _nth("inputs", node.inputs, (name, index)))
            for name in node.control:
                if name not in position:
                    message = f"control predecessor {name!r} of {node.id!r} is not a node of graph {self.name!r}"
                    raise self._fail(i, message, _nth("control", node.control, name))
            for link in node.links:
                if not link.graph and link.node not in position:
                    message = f"link {link.kind!r} of {node.id!r} leads to {link.node!r}, which is not a node of graph {self.name!r}"
                    raise self._fail(i, message, _nth("links", node.links, link))

    def build(self, checked: set[int] | None = None) -> Graph:
        """`checked` has the ids of lists of types that other graphs of the program have, too."""
        if self.columns is not None:
            return self._build_columns(self.columns)
        self._check_types([node.outputs for node in self.nodes], set() if checked is None else checked)
        counts = {node.id: len(node.outputs) or MOST_OUTPUTS for node in self.nodes}
        if not self._is_valid(counts):
            self._raise_first_error()
        return self._build(tuple(self.nodes), counts, lambda name: counts.get(name, WHOLE))

    def _build_columns(self, columns: GrowingColumns) -> Graph:
        try:
            nodes = columns.finished()
        except (KeyError, ValueError) as error:  # readers that report errors read such a source once more, as nodes
            raise SourceError(f"graph {self.name!r} is not valid: {error}", path=f"graphs[{self.index}].nodes") from None
        self._check_types(nodes.outputs, set())
        numbers = columns.numbers
        return self._build(nodes, numbers, lambda name: (len(nodes.outputs[numbers[name]]) or MOST_OUTPUTS) if name in numbers else WHOLE)

    def _build(self, nodes: Sequence[Node], ids: Container[str], output_count: Callable[[str], int]) -> Graph:
        """`output_count` returns how many outputs a node has, and WHOLE if there is none of that id."""
        for name, index in self.outputs:
            if not WHOLE <= index < output_count(name):
                message = f"output {name!r} #{index} of graph {self.name!r} is not a value of the graph"
                raise self._fail_graph(message, _nth("outputs", self.outputs, (name, index)))
        for grouping, paths in self.groupings.items():
            for name, path in paths.items():
                if name not in ids:
                    message = f"grouping {grouping!r} contains {name!r}, which is not a node of graph {self.name!r}"
                    raise self._fail_graph(message, f".groupings.{grouping}")
                if not all(isinstance(group, str) for group in path):
                    message = f"grouping {grouping!r} of {name!r} must be names of groups, not {shown(path)}"
                    raise self._fail_graph(message, f".groupings.{grouping}")
        return Graph(
            self.name,
            nodes,
            tuple(self.outputs),
            _frozen(self.groupings),
            MappingProxyType(self.attrs),
            _frozen({metric: self._column(metric, values, ids) for metric, values in self.metrics.items()}),
        )

    def _check_types(self, outputs: Sequence[tuple[TensorType, ...]], checked: set[int]) -> None:
        """Check each type once: nodes share them."""
        if checked.issuperset(map(builtin_id, outputs)):
            return
        lists = {key: types for types in outputs if (key := builtin_id(types)) not in checked}
        types = {builtin_id(each): each for types in lists.values() for each in types}
        wrong = {key: problem for key, each in types.items() if (problem := wrong_type(each))}
        checked.update(lists)
        if wrong:
            i, key = next((i, key) for i, types in enumerate(outputs) for each in types if (key := builtin_id(each)) in wrong)
            name = self.columns.ids[i] if self.columns is not None else self.nodes[i].id
            raise self._fail(i, f"type of {name!r}: {wrong[key]}", ".outputs")

    def _column(self, metric: str, values: Mapping[str, float], ids: Container[str]) -> dict[str, float]:
        column = {}
        for name, value in values.items():
            if name not in ids:
                message = f"metric {metric!r} is on {name!r}, which is not a node of graph {self.name!r}"
                raise self._fail_graph(message, f".metrics.{metric}")
            try:
                column[name] = number(value)
            except ValueError as error:
                raise self._fail_graph(f"metric {metric!r} of {name!r} {error}", f".metrics.{metric}.{name}") from None
        return column


class ProgramBuilder:
    """Collects a program graph by graph, and checks what needs the whole program: the entry, called graphs, links between graphs."""

    def __init__(self, name: str, entry: str = "") -> None:
        self.name = name
        self.entry = entry
        self.attrs: dict[str, Any] = {}
        self.metrics: dict[str, Metric] = {}
        self._graphs: dict[str, GraphBuilder] = {}

    def graph(self, name: str, line: int = 0) -> GraphBuilder:
        if name in self._graphs:
            message = f"duplicate graph {name!r}; each graph of a program needs its own name"
            raise SourceError(message, line=line, path=f"graphs[{len(self._graphs)}].name")
        return self._graphs.setdefault(name, GraphBuilder(name, line, len(self._graphs)))

    def __contains__(self, name: str) -> bool:
        return name in self._graphs

    def metric(self, metric: Metric) -> None:
        """Define a metric; graphs set its numbers with `measure`."""
        if metric.name in self.metrics:
            raise SourceError(f"duplicate metric {metric.name!r}; a program defines each metric once", path=f"metrics.{metric.name}")
        self.metrics[metric.name] = metric

    def build(self) -> Program:
        if not self._graphs:
            raise SourceError("contains no graph; a program needs at least one", path="graphs")
        entry = self.entry or next(reversed(self._graphs))
        if entry not in self._graphs:
            raise SourceError(
                f"entry {entry!r} is not a graph of the program; there are: {', '.join(list(self._graphs)[:8])}", path="entry"
            )
        checked: set[int] = set()
        graphs = {name: builder.build(checked) for name, builder in self._graphs.items()}
        for name, builder in self._graphs.items():
            for i, node in referring(graphs[name].nodes):
                for called in node.calls:
                    if called not in graphs:
                        message = f"{node.id!r} in graph {name!r} calls {called!r}, which is not a graph of the program"
                        raise builder._fail(i, message, _nth("calls", node.calls, called))
                for link in node.links:
                    if link.graph and (link.graph not in graphs or link.node not in graphs[link.graph]):
                        message = f"link {link.kind!r} of {node.id!r} leads to {link.graph}/{link.node}, which is not a node of the program"
                        raise builder._fail(i, message, _nth("links", node.links, link))
        self._check_metrics()
        return Program(self.name, MappingProxyType(graphs), entry, MappingProxyType(self.attrs), MappingProxyType(self.metrics))

    def _check_metrics(self) -> None:
        for metric in self.metrics.values():
            try:
                check_ratio(metric, self.metrics)
            except OpscopeError as error:
                raise SourceError(str(error), path=f"metrics.{metric.name}.combine") from None
        for builder in self._graphs.values():
            for name in builder.metrics:
                if name not in self.metrics:
                    message = f"{name!r} in graph {builder.name!r} is not a metric of the program; define it first"
                    raise builder._fail_graph(message, f".metrics.{name}")
                if self.metrics[name].ratio:
                    message = f"metric {name!r} is a ratio, which has no numbers of its own; leave them out"
                    raise builder._fail_graph(message, f".metrics.{name}")


def _frozen(columns: Mapping[str, dict[str, T]]) -> Mapping[str, Mapping[str, T]]:
    return MappingProxyType({name: MappingProxyType(column) for name, column in columns.items()}) if columns else EMPTY


def _nth(field: str, values: Sequence[Any], value: Any) -> str:
    """The position of a value in a field, for the path of an error."""
    return f".{field}[{values.index(value)}]"
