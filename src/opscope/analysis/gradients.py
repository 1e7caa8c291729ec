"""Which half of a training step a node belongs to, and which forward nodes a backward node differentiates.

Frameworks mark where an operation came from (JAX wraps its scope in `transpose(jvp(…))`, PyTorch keeps the forward node), but
they do not say which forward operation a backward one belongs to. Three kinds of evidence do, in this order: the same scope once
the wrappers are gone, the same line of the program, the same operands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from opscope.program import Graph, Link, Node, Program

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
BACKWARD_OF = "backward_of"
MOST_LINKS = 8
"""More forward candidates than this explain nothing; the nearest are kept."""


def directions(program: Program, known: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """For each graph, the direction of each node: forward, backward, update, or "" throughout where nothing is differentiated.

    `known` holds the nodes' own `direction` attributes where the caller has read them already.
    """
    if known is None:
        known = {graph.name: [str(node.attrs.get("direction", "")) for node in graph] for graph in program}
    if not any(BACKWARD in marks for marks in known.values()):
        return {name: [""] * len(marks) for name, marks in known.items()}
    for graph in _callers_first(program):
        marks = known[graph.name]
        callers = program.callers.get(graph.name, ())
        inherited = ""
        if callers:
            caller_graph, caller = callers[0]
            inherited = known[caller_graph][program[caller_graph].position[caller]]
        _spread(graph, marks, inherited)
    return known


def _callers_first(program: Program) -> Iterator[Graph]:
    seen: set[str] = {program.entry}
    waiting = [program.entry]
    while waiting:
        graph = program[waiting.pop()]
        yield graph
        for node in graph:
            for called in node.calls:
                if called not in seen:
                    seen.add(called)
                    waiting.append(called)
    for name in program.graphs:
        if name not in seen:
            yield program[name]


def _spread(graph: Graph, marks: list[str], inherited: str) -> None:
    """Nodes without a mark take it from their operands, and those that no marked one reaches (parameters, constants and what is
    made of them alone) from their users. A named operation after the backward half is the optimizer's."""
    position = graph.position
    if inherited and not any(marks):
        marks[:] = [inherited] * len(marks)
        return
    sources: list[int] = []
    for i, node in enumerate(graph.nodes):
        if marks[i]:
            continue
        arriving = {marks[position[name]] for name, _ in node.inputs if position[name] < i}
        if UPDATE in arriving or (BACKWARD in arriving and node.scope):
            marks[i] = UPDATE
        elif BACKWARD in arriving:
            marks[i] = BACKWARD
        elif FORWARD in arriving:
            marks[i] = FORWARD
        else:
            sources.append(i)
    for i in reversed(sources):
        leaving = {marks[position[user]] for user in graph.users.get(graph.nodes[i].id, ())}
        marks[i] = next((mark for mark in (FORWARD, BACKWARD, UPDATE) if mark in leaving), inherited or FORWARD)


class BackwardLink(NamedTuple):
    """A backward node, the forward nodes it differentiates, and what says so: scope, source or operands."""

    graph: str
    node: str
    forward: tuple[tuple[str, str], ...]
    evidence: str


def backward_links(program: Program) -> list[BackwardLink]:
    """Every node that is marked backward, with its forward nodes. Unlinked ones have none, and the evidence "none"."""
    index = _ForwardIndex()
    waiting = []
    for graph in program:
        for node in graph:
            attrs = node.attrs
            if attrs.get("direction") == FORWARD:
                index.add(graph, node, _keys(node, attrs))
            elif attrs.get("direction") == BACKWARD:
                waiting.append((graph, node, _keys(node, attrs)))
    return [BackwardLink(graph.name, node.id, *index.find(graph, node, keys)) for graph, node, keys in waiting]


def with_backward_links(program: Program) -> Program:
    """The same program with the links written on its nodes (as `backward_of`)."""
    added: dict[str, dict[str, tuple[Link, ...]]] = defaultdict(dict)
    for link in backward_links(program):
        targets = (Link(BACKWARD_OF, node, "" if graph == link.graph else graph) for graph, node in link.forward)
        added[link.graph][link.node] = tuple(targets)
    if not added:
        return program
    graphs = {name: _with_links(graph, added.get(name, {})) for name, graph in program.graphs.items()}
    return replace(program, graphs=MappingProxyType(graphs))


def _with_links(graph: Graph, added: Mapping[str, tuple[Link, ...]]) -> Graph:
    if not any(added.values()):
        return graph
    nodes = (node._replace(links=node.links + added[node.id]) if added.get(node.id) else node for node in graph)
    return replace(graph, nodes=tuple(nodes))


class _ForwardIndex:
    """Forward nodes by what they share with their backward nodes, from the surest key to the loosest."""

    def __init__(self) -> None:
        self.by_key: dict[_Key, list[tuple[str, str]]] = defaultdict(list)
        self.node: dict[tuple[str, str], Node] = {}

    def add(self, graph: Graph, node: Node, keys: list[tuple[str, _Key]]) -> None:
        self.node[graph.name, node.id] = node
        for _, key in keys:
            self.by_key[key].append((graph.name, node.id))

    def find(self, graph: Graph, node: Node, keys: list[tuple[str, _Key]]) -> tuple[tuple[tuple[str, str], ...], str]:
        for evidence, key in keys:
            if found := self.by_key.get(key):
                return self._nearest(node, found[:_MOST_COMPARED]), evidence
        operands = [(graph.name, name) for name, _ in node.inputs if (graph.name, name) in self.node]
        return tuple(operands[:MOST_LINKS]), "operands" if operands else "none"

    def _nearest(self, node: Node, candidates: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """Those that the backward node reads, or shares an operand with, if there are any."""
        operands = {name for name, _ in node.inputs}
        near = [key for key in candidates if key[1] in operands or any(name in operands for name, _ in self.node[key].inputs)]
        return tuple((near or candidates)[:MOST_LINKS])


_Key: TypeAlias = tuple[object, ...]
_MOST_COMPARED = 64


def _keys(node: Node, attrs: Mapping[str, Any]) -> list[tuple[str, _Key]]:
    """From the surest to the loosest, each with the evidence that it is."""
    scope, frames = node.scope, node.source
    name = str(attrs.get("metadata.op_name") or attrs.get("op_name") or node.op)
    primitive = name.partition(";")[0].rpartition("/")[2]
    keys: list[tuple[str, _Key]] = [
        ("scope", (scope, frames, primitive)),
        ("scope", (scope, frames)),
        ("scope", (scope, primitive)),
        ("scope", (scope,)),
    ]
    return [*keys, ("source", frames)] if frames else keys


class Kept(NamedTuple):
    """A value of the forward half that the backward half uses: what keeps memory alive between them."""

    graph: str
    node: str
    output: int
    bytes: int | None
    users: tuple[str, ...]


def kept_for_backward(program: Program) -> list[Kept]:
    """Every forward value with a backward user, the biggest first (sizes that are not known come last)."""
    found: dict[tuple[str, str, int], list[str]] = defaultdict(list)
    marks = directions(program)
    for graph in program:
        direction = marks[graph.name]
        for i, node in enumerate(graph.nodes):
            if direction[i] != BACKWARD:
                continue
            for name, output in node.inputs:
                at = graph.position[name]
                if direction[at] == FORWARD and graph.nodes[at].role == "op":
                    found[graph.name, name, output].append(node.id)
    kept = []
    for (graph_name, name, output), users in found.items():
        types = program[graph_name][name].outputs
        sizes = [t.bytes for t in (types if output < 0 else types[output : output + 1])]
        known = [size for size in sizes if size is not None]
        kept.append(Kept(graph_name, name, output, sum(known) if len(known) == len(sizes) else None, tuple(dict.fromkeys(users))))
    return sorted(kept, key=lambda k: (-1 if k.bytes is None else k.bytes), reverse=True)
