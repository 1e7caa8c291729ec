"""One module of a program as a program of its own: what is in it, what goes in, and what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from opscope.analysis.summary import MEASURED
from opscope.errors import OpscopeError
from opscope.limits import MOST_AROUND
from opscope.naming import listed, suggest
from opscope.program import PRINTED, Graph, KnownDetails, Node, Path, Program, ProgramBuilder, ValueRef

Value = TypeVar("Value")

_OUTPUT = "output"


def inside(program: Program, name: str) -> Program:
    """The part of a program that is in a module: "model.layers.0.self_attn", or the end of such a name if only one has it.

    Values from outside are inputs, and those that are used outside are outputs; parameters and constants stay what they are. Called graphs
    come along, and a module in one of them (in the body of a loop) is found too.
    """
    graph, scope = _find(program, name)
    part = _Part(program, graph, scope)
    result = ProgramBuilder(f"{program.name}: {part.title}", graph.name)
    result.attrs.update(part.attrs())
    result.metrics.update(program.metrics)
    outputs = part.results()
    nodes = part.nodes()
    if outputs and any(node.role == "output" for node in graph) and _OUTPUT not in part.ids[graph.name]:
        nodes.append(Node(_OUTPUT, "output", tuple(outputs), role="output"))
    part.copy(graph, nodes, outputs, result)
    for called in part.called:
        part.copy(called, called.nodes, called.outputs, result)
    return result.build()


def _find(program: Program, name: str) -> tuple[Graph, Path]:
    """The module that is meant: in the entry, or else in a graph that is called."""
    wanted = name.replace("/", ".").strip(".")
    titles = _modules(program)
    if wanted in titles:
        return titles[wanted]
    ending = [title for title in titles if title.endswith(f".{wanted}")]
    if len(ending) == 1:
        return titles[ending[0]]
    if ending:
        raise OpscopeError(f"{len(ending)} modules of {program.name} end with {name!r}; choose one: {listed(ending)}")
    if not titles:
        raise OpscopeError(f"{program.name} has no modules, so nothing is inside {name!r}; use around= for a node and its neighbours")
    raise OpscopeError(f"no module {name!r} in {program.name}{suggest(name, titles)}")


def _modules(program: Program) -> dict[str, tuple[Graph, Path]]:
    """The modules of a program by name, those of the entry first."""
    titles: dict[str, tuple[Graph, Path]] = {}
    for graph in (program.main, *(each for each in program if each.name != program.entry)):
        for scope in dict.fromkeys(node.scope for node in graph):
            for depth in range(1, min(len(scope), MOST_AROUND) + 1):
                titles.setdefault(_title(scope[:depth]), (graph, scope[:depth]))
    return titles


def is_module(program: Program, name: str) -> bool:
    """Whether `inside` takes this name."""
    wanted = name.replace("/", ".").strip(".")
    return any(title == wanted or title.endswith(f".{wanted}") for title in _modules(program))


def refuse_without_nodes(program: Program, name: str, names: Iterable[str]) -> None:
    """Raise an error if a model has a module of this name, among `names`, of which nothing is in the program."""
    wanted = name.replace("/", ".").strip(".")
    if wanted not in names or is_module(program, name):
        return
    called = [title for title in _modules(program) if title.startswith(f"{wanted}.")]
    rest = f"; in it are: {listed(called)}" if called else ""
    raise OpscopeError(f"module {name!r} of {program.name} is not called, or has no operations{rest}")


def _title(scope: Path) -> str:
    """ "model.layers.0" for ("model: LlamaModel", "layers.0: LlamaDecoderLayer")."""
    return ".".join(group.partition(": ")[0].replace("/", ".") for group in scope)


class _Part:
    """The nodes of a graph in a scope, what they read from outside, and the graphs that they call."""

    def __init__(self, program: Program, graph: Graph, scope: Path) -> None:
        self.program = program
        self.graph = graph
        self.depth = len(scope)
        self.title = _title(scope)
        self.members = {node.id for node in graph if node.scope[: self.depth] == scope}
        read = {source for node in graph if node.id in self.members for source, _ in node.inputs}
        calls = dict.fromkeys(name for node in graph if node.id in self.members for name in node.calls)
        self.called = [each for each in program.callees_first(calls) if each.name != graph.name]
        self.ids = {graph.name: self.members | read, **{each.name: {*each.position} for each in self.called}}

    def attrs(self) -> dict[str, Any]:
        """The attributes of the program, with the names of modules as they are inside, and without the table of the whole model. Notes
        are about the model, and say so."""
        kept = {key: value for key, value in self.program.attrs.items() if key not in (MEASURED, "modules")}
        if "notes" in kept:
            kept["notes"] = [f"{self.program.name}: {note}" for note in kept["notes"]]
        modules, prefix = self.program.attrs.get("modules"), f"{self.title}."
        if isinstance(modules, Mapping):
            within = {path.removeprefix(prefix): cls for path, cls in modules.items() if path.startswith(prefix)}
            kept |= {"modules": within} if within else {}
        return kept

    def results(self) -> list[ValueRef]:
        """The values of the module that something outside uses, in order."""
        used = [ref for node in self.graph if node.id not in self.members for ref in node.inputs if ref[0] in self.members]
        return list(dict.fromkeys([*used, *(ref for ref in self.graph.outputs if ref[0] in self.members)]))

    def nodes(self) -> list[Node]:
        ids = self.ids[self.graph.name]
        return [self._inner(node) if node.id in self.members else _outer(node) for node in self.graph if node.id in ids]

    def _inner(self, node: Node) -> Node:
        details = KnownDetails(node.attrs, node.scope[self.depth :], node.source)
        return node._replace(details=details, control=tuple(name for name in node.control if name in self.members))

    def copy(self, graph: Graph, nodes: Iterable[Node], outputs: Iterable[ValueRef], result: ProgramBuilder) -> None:
        """A graph with these nodes, and what is said about them."""
        builder = result.graph(graph.name)
        builder.attrs.update((key, value) for key, value in graph.attrs.items() if key != PRINTED)
        for node in nodes:
            builder.add(node._replace(links=tuple(link for link in node.links if link.node in self.ids.get(link.graph or graph.name, ()))))
        builder.outputs = list(outputs)
        ids = self.ids[graph.name]
        builder.groupings = {name: _of(ids, paths) for name, paths in graph.groupings.items()}
        builder.metrics = {name: _of(ids, column) for name, column in graph.metrics.items()}


def _of(ids: set[str], column: Mapping[str, Value]) -> dict[str, Value]:
    return {node: value for node, value in column.items() if node in ids}


def _outer(node: Node) -> Node:
    """A node that the module reads: an argument of the model stays one, and a computed value is an input."""
    if node.is_argument or node.role == "constant":
        return node._replace(details=KnownDetails(node.attrs, (), node.source), control=())
    computed = {"name": node.id, "computed by": " ".join(filter(None, (_title(node.scope), node.op)))}
    return Node(node.id, "input", (), node.outputs, "input", details=KnownDetails(computed))
