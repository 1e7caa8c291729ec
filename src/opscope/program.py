"""The model: what every reader makes and everything else looks at.

A Program is a set of named Graphs; a Graph is a list of Nodes; a Node is one operation, parameter, constant or output whose
inputs are *values* (node id, output index). All of it is immutable. The only way to make one is `ProgramBuilder`, which checks
that ids are unique and that every reference leads somewhere, so that nobody after it has to.

Nodes are tuples, and what a node carries beside the data flow (attributes, scope, source frames) sits behind `Details`, which
a reader may decode only when asked: a compiled module has 100,000 nodes with a kilobyte of attributes each, and a person looks
at ten.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import repeat
from math import prod
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from opscope.errors import OpscopeError, SourceError

Role = Literal["op", "parameter", "constant", "output", "gradient", "saved"]
ROLES: tuple[Role, ...] = ("op", "parameter", "constant", "output", "gradient", "saved")

ValueRef: TypeAlias = tuple[str, int]
"""(node id, output index). The index WHOLE means all outputs together: a tuple that is passed on as one value."""
WHOLE = -1

Path: TypeAlias = tuple[str, ...]
"""Group names from the outside in. A name "mlp: LlamaMLP" is the group `mlp` of class `LlamaMLP`."""

EMPTY: Mapping[str, Any] = MappingProxyType({})


class TensorType(NamedTuple):
    """What one output is. Dimensions that are not numbers ("s0", "<=10", "?") are text.

    A type that is no tensor ("token", a nested tuple's text "(f32[2], s32[])") is a dtype without a shape.
    """

    dtype: str
    shape: tuple[int | str, ...] = ()
    layout: str = ""

    def __str__(self) -> str:
        return self.dtype if self.dtype.startswith("(") else f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def elements(self) -> int | None:
        """How many elements, or None while a dimension is not known."""
        known = [d for d in self.shape if isinstance(d, int)]
        return prod(known) if len(known) == len(self.shape) else None

    @property
    def bytes(self) -> int | None:
        """Packed size, or None where the dtype or a dimension is not known."""
        elements, bits = self.elements, dtype_bits(self.dtype)
        return None if elements is None or bits is None else (elements * bits + 7) // 8


@lru_cache(maxsize=512)
def dtype_bits(dtype: str) -> int | None:
    """Bits of one element, for the names that XLA, PyTorch, NumPy and ONNX use; None if unknown."""
    if dtype in ("pred", "bool"):
        return 8
    if dtype == "token":
        return 0
    found = re.fullmatch(r"q?b?(?:f|float|s|i|u|int|uint|c|complex|bits)(\d+)(?:e\d.*|_.*)?", dtype)
    return int(found[1]) if found else None


class Frame(NamedTuple):
    """One line of the user's program. A node's frames run from the innermost outwards."""

    file: str
    line: int = 0
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" {self.function}" if self.function else "")


class Link(NamedTuple):
    """A relation beside the data flow, such as ("backward_of", "dot.2"). `graph` is empty for a node of the same graph."""

    kind: str
    node: str
    graph: str = ""


class Details:
    """Attributes, scope and source frames of a node. Readers of big text subclass this and decode on demand."""

    __slots__ = ()

    @property
    def attrs(self) -> Mapping[str, Any]:
        return EMPTY

    @property
    def scope(self) -> Path:
        return ()

    @property
    def source(self) -> tuple[Frame, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Details):
            return NotImplemented
        if self is other:
            return True
        return self.scope == other.scope and self.source == other.source and dict(self.attrs) == dict(other.attrs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Details(attrs={dict(self.attrs)}, scope={self.scope}, source={self.source})"


class KnownDetails(Details):
    """Details that are already there."""

    __slots__ = ("_attrs", "_scope", "_source")

    def __init__(self, attrs: Mapping[str, Any] = EMPTY, scope: Path = (), source: tuple[Frame, ...] = ()) -> None:
        self._attrs = attrs
        self._scope = scope
        self._source = source

    @property
    def attrs(self) -> Mapping[str, Any]:
        return MappingProxyType(self._attrs) if isinstance(self._attrs, dict) else self._attrs

    @property
    def scope(self) -> Path:
        return self._scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return self._source


NO_DETAILS = Details()


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
    def attrs(self) -> Mapping[str, Any]:
        return self.details.attrs

    @property
    def scope(self) -> Path:
        return self.details.scope

    @property
    def source(self) -> tuple[Frame, ...]:
        return self.details.source

    @property
    def type_text(self) -> str:
        """What it yields: "f32[2, 3]", or "(f32[2], s32[])" for several outputs."""
        texts = [str(t) for t in self.outputs]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    @property
    def operands(self) -> list[str]:
        """What it takes, as text: "dot.3", "while.7#2" for the third output, "while.7#*" for all of them together."""
        return [name if index == 0 else f"{name}#{'*' if index == WHOLE else index}" for name, index in self.inputs]

    @property
    def short_text(self) -> str:
        """One line without attributes, but a constant with its value and a parameter with its number."""
        payload = self.attrs.get({"constant": "value", "parameter": "parameter_number"}.get(self.role, ""))
        inner = self.operands if payload is None else [*self.operands, _short(payload)]
        return f"{self.id}: {self.type_text} = {self.op}({', '.join(inner)})"

    def __str__(self) -> str:
        operands = self.operands
        operands += [f"{key}={_short(value)}" for key, value in self.attrs.items()]
        operands += [f"calls={name}" for name in self.calls] + [f"after={name}" for name in self.control]
        typed = f"{self.id}: {self.type_text}" if self.outputs else self.id
        return f"{typed} = {self.op}({', '.join(operands)})"

    def __repr__(self) -> str:
        return f"<Node {self.short_text}>"


def _short(value: Any, most: int = 96) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"


@dataclass(frozen=True)
class Graph:
    """Nodes in the source's own order, which is topological where the source's is. Cycles are allowed."""

    name: str
    nodes: tuple[Node, ...]
    outputs: tuple[ValueRef, ...] = ()
    groupings: Mapping[str, Mapping[str, Path]] = field(default_factory=lambda: EMPTY)
    attrs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Where each id stands in `nodes`."""
        return MappingProxyType({node.id: i for i, node in enumerate(self.nodes)})

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """Ids of the nodes that take each node's values, in order, once each. Nodes without users are absent."""
        users: dict[str, dict[str, None]] = {}
        for node in self.nodes:
            for name, _ in node.inputs:
                users.setdefault(name, {})[node.id] = None
        return MappingProxyType({name: tuple(by) for name, by in users.items()})

    @cached_property
    def parameters(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.role == "parameter")

    def __getitem__(self, node_id: str) -> Node:
        return self.nodes[self.position[node_id]]

    def __contains__(self, node_id: object) -> bool:
        return node_id in self.position

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def __bool__(self) -> bool:
        return True

    def lines(self) -> Iterator[str]:
        """Readable text, one line per node: typed result, op, operands and attributes."""
        header = ", ".join(f"{node.id}: {node.type_text}" for node in self.parameters)
        yield f"{self.name}({header}):"
        for node in self.nodes:
            if node.role != "parameter" or node.inputs:
                yield f"    {node}"
        yield "    return " + ", ".join(name if index <= 0 else f"{name}#{index}" for name, index in self.outputs)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.nodes)} nodes, {len(self.parameters)} parameters, {len(self.outputs)} outputs>"


@dataclass(frozen=True)
class Program:
    """Named graphs, one of them the entry."""

    name: str
    graphs: Mapping[str, Graph]
    entry: str
    attrs: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def main(self) -> Graph:
        """The entry graph."""
        return self.graphs[self.entry]

    def __getitem__(self, graph_name: str) -> Graph:
        return self.graphs[graph_name]

    def __iter__(self) -> Iterator[Graph]:
        return iter(self.graphs.values())

    def __len__(self) -> int:
        """How many nodes, over all graphs."""
        return sum(len(graph) for graph in self.graphs.values())

    def __bool__(self) -> bool:
        return True

    @cached_property
    def callers(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """For each called graph, who calls it: (graph name, node id)."""
        callers: dict[str, list[tuple[str, str]]] = {}
        for graph in self:
            for node in graph:
                for called in node.calls:
                    callers.setdefault(called, []).append((graph.name, node.id))
        return MappingProxyType({name: tuple(by) for name, by in callers.items()})

    def __str__(self) -> str:
        return "\n\n".join(str(graph) for graph in self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """What a notebook shows."""
        return _display(self) if _display is not None else {"text/plain": repr(self)}

    def _mime_(self) -> tuple[str, str]:
        """The same for marimo, which shows several kinds as tabs and wants one."""
        bundle = self._repr_mimebundle_()
        kind = "text/html" if "text/html" in bundle else "text/plain"
        return kind, bundle[kind]

    def __repr__(self) -> str:
        graphs = "1 graph" if len(self.graphs) == 1 else f"{len(self.graphs)} graphs"
        return f"<Program {self.name}: {len(self)} nodes in {graphs}, entry {self.entry}>"


def _nth(field: str, values: Sequence[Any], value: Any) -> str:
    """Where a value stands in a field, for the path of an error."""
    return f".{field}[{values.index(value)}]"


_display: Callable[[Program], dict[str, Any]] | None = None


def display_with(display: Callable[[Program], dict[str, Any]]) -> None:
    """How notebooks show a Program is for outer layers to say; the model knows none of them."""
    global _display
    _display = display


class GraphBuilder:
    """Collects one graph. `line` is where the node stands in the source, for messages."""

    def __init__(self, name: str, line: int = 0, index: int = 0) -> None:
        self.name = name
        self.line = line
        self.index = index
        self.nodes: list[Node] = []
        self.lines: list[int] = []
        self.outputs: list[ValueRef] = []
        self.groupings: dict[str, dict[str, Path]] = {}
        self.attrs: dict[str, Any] = {}

    def add(self, node: Node, line: int = 0) -> Node:
        self.nodes.append(node)
        self.lines.append(line)
        return node

    def take(self, nodes: Iterable[Node]) -> None:
        """All the nodes at once, of a source that has no lines or keeps them itself."""
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
        calls: Iterable[str] = (),
        control: Iterable[str] = (),
        links: Iterable[Link] = (),
        line: int = 0,
    ) -> Node:
        """Add a node whose details are all known."""
        frames = tuple(source)
        details = KnownDetails(attrs, scope, frames) if attrs or scope or frames else NO_DETAILS
        made = Node(id, op, tuple(inputs), tuple(outputs), role, tuple(calls), tuple(control), tuple(links), details)
        return self.add(made, line)

    def group(self, grouping: str, node_id: str, path: Path) -> None:
        self.groupings.setdefault(grouping, {})[node_id] = path

    def _fail(self, index: int, message: str, part: str = "") -> SourceError:
        return SourceError(message, line=self.lines[index] or self.line, path=f"graphs[{self.index}].nodes[{index}]{part}")

    def _fail_graph(self, message: str, part: str) -> SourceError:
        return SourceError(message, line=self.line, path=f"graphs[{self.index}]{part}")

    def _is_sound(self, counts: dict[str, int]) -> bool:
        """Whether every reference leads somewhere, in one quick pass; what exactly is wrong, `_complain` finds out."""
        if len(counts) != len(self.nodes):
            return False
        for _, _, inputs, _, _, _, control, links, _ in self.nodes:
            for name, index in inputs:
                if not WHOLE <= index < counts.get(name, WHOLE):
                    return False
            if control and not all(name in counts for name in control):
                return False
            if links and not all(link.graph or link.node in counts for link in links):
                return False
        return True

    def _complain(self) -> None:
        """Raise for the first node that is not sound."""
        position: dict[str, int] = {}
        for i, node in enumerate(self.nodes):
            if position.setdefault(node.id, i) != i:
                raise self._fail(i, f"duplicate id {node.id!r} in graph {self.name!r}; ids must be unique within a graph", ".id")
        nodes = self.nodes
        for i, node in enumerate(nodes):
            for name, index in node.inputs:
                at = position.get(name)
                if at is None:
                    message = f"input {name!r} of {node.id!r} names no node of graph {self.name!r}"
                    raise self._fail(i, message, _nth("inputs", node.inputs, (name, index)))
                count = len(nodes[at].outputs)
                if index >= count > 0 or index < WHOLE:
                    message = f"input {name!r} of {node.id!r} asks for output {index}, but it has {count}"
                    raise self._fail(i, message, _nth("inputs", node.inputs, (name, index)))
            for name in node.control:
                if name not in position:
                    raise self._fail(i, f"control edge of {node.id!r} names no node: {name!r}", _nth("control", node.control, name))
            for link in node.links:
                if not link.graph and link.node not in position:
                    message = f"link {link.kind!r} of {node.id!r} names no node: {link.node!r}"
                    raise self._fail(i, message, _nth("links", node.links, link))

    def build(self) -> Graph:
        counts = {node.id: len(node.outputs) or sys.maxsize for node in self.nodes}
        if not self._is_sound(counts):
            self._complain()
        for name, index in self.outputs:
            if not WHOLE <= index < counts.get(name, WHOLE):
                message = f"output {name!r} #{index} of graph {self.name!r} names no value"
                raise self._fail_graph(message, _nth("outputs", self.outputs, (name, index)))
        for grouping, paths in self.groupings.items():
            for name in paths:
                if name not in counts:
                    message = f"grouping {grouping!r} of graph {self.name!r} names no node: {name!r}"
                    raise self._fail_graph(message, f".groupings.{grouping}")
        frozen = {name: MappingProxyType(paths) for name, paths in self.groupings.items()}
        return Graph(self.name, tuple(self.nodes), tuple(self.outputs), MappingProxyType(frozen), MappingProxyType(self.attrs))


class ProgramBuilder:
    """Collects a program graph by graph and checks what only the whole can tell: entry, called graphs, links."""

    def __init__(self, name: str, entry: str = "") -> None:
        self.name = name
        self.entry = entry
        self.attrs: dict[str, Any] = {}
        self._graphs: dict[str, GraphBuilder] = {}

    def graph(self, name: str, line: int = 0) -> GraphBuilder:
        if name in self._graphs:
            message = f"duplicate graph {name!r}; graphs of a program need different names"
            raise SourceError(message, line=line, path=f"graphs[{len(self._graphs)}].name")
        return self._graphs.setdefault(name, GraphBuilder(name, line, len(self._graphs)))

    def __contains__(self, name: str) -> bool:
        return name in self._graphs

    def build(self) -> Program:
        if not self._graphs:
            raise SourceError("no graph in it; nothing to show", path="graphs")
        entry = self.entry or next(reversed(self._graphs))
        if entry not in self._graphs:
            raise SourceError(f"entry {entry!r} names no graph; there are: {', '.join(list(self._graphs)[:8])}", path="entry")
        graphs = {name: builder.build() for name, builder in self._graphs.items()}
        for name, builder in self._graphs.items():
            for i, node in enumerate(builder.nodes):
                for called in node.calls:
                    if called not in graphs:
                        message = f"{node.id!r} in graph {name!r} calls {called!r}, which is no graph of the program"
                        raise builder._fail(i, message, _nth("calls", node.calls, called))
                for link in node.links:
                    if link.graph and (link.graph not in graphs or link.node not in graphs[link.graph]):
                        message = f"link {link.kind!r} of {node.id!r} names no node: {link.graph}/{link.node}"
                        raise builder._fail(i, message, _nth("links", node.links, link))
        return Program(self.name, MappingProxyType(graphs), entry, MappingProxyType(self.attrs))


def select_program(programs: list[Program], name: str | None) -> Program:
    """The one program of a source, or the named one of several."""
    if name is not None:
        for program in programs:
            if program.name == name:
                return program
    elif len(programs) == 1:
        return programs[0]
    names = ", ".join(program.name for program in programs[:12]) + (", …" if len(programs) > 12 else "")
    if name is None:
        raise OpscopeError(f"{len(programs)} modules in it; choose one with --module NAME: {names}")
    raise OpscopeError(f"no module named {name!r}; there are: {names}")
