"""Which half of a training step a node belongs to, and which forward nodes a backward node differentiates.

Frameworks mark where an operation came from (JAX wraps its scope in `transpose(jvp(…))`, PyTorch keeps the forward node), but
they do not say which forward operation a backward one belongs to. Evidence does, in this order: the same scope once the wrappers
are gone and the same place in the program ("place"), the same scope alone ("scope"), the same line alone ("source"), the same
operands. What linearization adds to the forward half for the sake of the backward half (the -1/2 · y/x of an rsqrt) carries the
place of its operation too, but is not what was differentiated; nor are the insides of reducers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from opscope.analysis.derivatives import REDUCING
from opscope.ops import plain_name
from opscope.program import DIRECTION_ATTR, Details, Graph, Link, Node, NodeKey, Program

FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
BACKWARD_OF = "backward_of"
MOST_LINKS = 8
"""More forward candidates than this explain nothing; the nearest are kept."""
OWN_RESULT = frozenset({"exp", "exp2", "exponential", "logistic", "rsqrt", "sigmoid", "sqrt", "tanh"})
"""Operations whose derivative is written with their own result."""


def directions(program: Program, known: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """For each graph, the direction of each node: forward, backward, update, or "" throughout where nothing is differentiated.

    `known` holds what the nodes' own attributes say where the caller has read them already.
    """
    if known is None:
        known = {graph.name: [str(node.attrs.get(DIRECTION_ATTR, "")) for node in graph] for graph in program}
    if not any(BACKWARD in marks for marks in known.values()):
        return {name: [""] * len(marks) for name, marks in known.items()}
    for graph in reversed(program.callees_first()):
        marks = known[graph.name]
        callers = program.callers.get(graph.name, ())
        inherited = ""
        if callers:
            caller_graph, caller = callers[0]
            inherited = known[caller_graph][program[caller_graph].position[caller]]
        _spread(graph, marks, inherited)
    return known


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
    """A backward node, the forward nodes it differentiates, and what says so: place, scope, source or operands."""

    graph: str
    node: str
    forward: tuple[tuple[str, str], ...]
    evidence: str


def backward_links(program: Program) -> list[BackwardLink]:
    """Every node that is marked backward, with its forward nodes. Unlinked ones have none, and the evidence "none"."""
    index = _ForwardIndex()
    origins: dict[int, _Origin] = {}  # nodes share their details, and a compiled module has few different ones
    waiting = []
    reducers = _reducers(program)
    for graph in program:
        if graph.name in reducers:
            continue
        own = []
        for node in graph:
            details = node.details
            origin = origins.get(id(details))
            if origin is None:
                origin = origins[id(details)] = _origin(node)
            own.append(origin)
        helpers = _helpers(graph, own)
        for node, origin, helper in zip(graph, own, helpers, strict=True):
            if origin.direction == FORWARD:
                index.add(graph, node, origin, helper)
            elif origin.direction == BACKWARD:
                waiting.append((graph, node, origin))
    return [BackwardLink(graph.name, node.id, *index.find(graph, node, origin)) for graph, node, origin in waiting]


def _reducers(program: Program) -> set[str]:
    """Graphs that say how two values are combined: no steps of the program."""
    return {name for graph in program for node in graph if node.calls and plain_name(node.op) in REDUCING for name in node.calls}


def _helpers(graph: Graph, origins: Sequence[_Origin]) -> list[bool]:
    """Which forward nodes exist for the backward half alone: nothing else reads them, directly or through others of the kind."""
    helps = [False] * len(origins)
    users, position = graph.users, graph.position
    for i in range(len(origins) - 1, -1, -1):
        if origins[i].direction == FORWARD:
            readers = users.get(graph.nodes[i].id, ())
            helps[i] = bool(readers) and all(helps[position[name]] or origins[position[name]].direction == BACKWARD for name in readers)
    return helps


def with_backward_links(program: Program) -> Program:
    """The same program with the links written on its nodes (as `backward_of`). Nodes that have such a link keep theirs."""
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

    def linked(node: Node) -> Node:
        links = () if any(link.kind == BACKWARD_OF for link in node.links) else added.get(node.id, ())
        return node._replace(links=node.links + links) if links else node

    return replace(graph, nodes=tuple(map(linked, graph.nodes)))


_Key: TypeAlias = tuple[object, ...]
_MOST_COMPARED = 24


class _Origin(NamedTuple):
    """What a node's details say of where it comes from: keys to find relatives by, from the surest to the loosest.

    Each kind of evidence has a key that includes the primitive and one that does not: a multiply's derivative multiplies.
    """

    direction: str
    keys: tuple[tuple[str, _Key, _Key], ...]
    details: Details


def _origin(node: Node) -> _Origin:
    attrs, scope, frames = node.attrs, node.scope, node.source
    name = str(attrs.get("metadata.op_name") or attrs.get("op_name") or node.op)
    primitive = name.partition(";")[0].rpartition("/")[2]
    stack = attrs.get("metadata.stack_frame_id")  # XLA's numbers know columns too, so they part `(x - m) * rsqrt(v)`
    places: list[tuple[str, _Key]] = []
    if stack:
        places.append(("place", (scope, stack)))
    if frames:
        places.append(("place", (scope, frames)))
    places.append(("scope", (scope,)))
    if frames:
        places.append(("source", (frames,)))
    keys = tuple((evidence, (*key, primitive), key) for evidence, key in places)
    return _Origin(str(attrs.get(DIRECTION_ATTR, "")), keys, node.details)


class _Relatives(NamedTuple):
    """Forward nodes, and what relates a backward node to them. `told` says whether the primitive does too."""

    nodes: tuple[NodeKey, ...]
    evidence: str
    told: bool


class _ForwardIndex:
    """Forward nodes by what they share with their backward nodes."""

    def __init__(self) -> None:
        self.by_key: dict[_Key, list[NodeKey]] = {}
        self.node: dict[NodeKey, Node] = {}
        self.place: dict[NodeKey, _Key] = {}
        self._rows: dict[tuple[int, bool], list[list[NodeKey]]] = {}
        self._relatives: dict[int, _Relatives] = {}
        self._found: dict[NodeKey, tuple[_Key, tuple[NodeKey, ...]]] = {}

    def add(self, graph: Graph, node: Node, origin: _Origin, helper: bool) -> None:
        place = (graph.name, node.id)
        self.node[place] = node
        self.place[place] = origin.keys[0][2]
        rows = self._rows.get((id(origin), helper))
        if rows is None:
            keys = (key for _, *pair in origin.keys for key in pair)
            rows = self._rows[id(origin), helper] = [self.by_key.setdefault((helper, key), []) for key in keys]
        for row in rows:
            row.append(place)

    def find(self, graph: Graph, node: Node, origin: _Origin) -> tuple[tuple[NodeKey, ...], str]:
        """For a backward node whose backward operands were asked for before it."""
        relatives = self._relatives.get(id(origin))
        if relatives is None:
            relatives = self._relatives[id(origin)] = self._related(origin)
        if not relatives.nodes:
            operands = [(graph.name, name) for name, _ in node.inputs if (graph.name, name) in self.node]
            return tuple(operands[:MOST_LINKS]), "operands" if operands else "none"
        place = origin.keys[0][2]
        found = self._results_read(graph, node, place)
        if relatives.told or not found:
            others = () if relatives.told else self._continued(graph, node, place)
            found += others or self._nearest(node, relatives.nodes)
            found = tuple(dict.fromkeys(found))[:MOST_LINKS]
        self._found[graph.name, node.id] = place, found
        return found, relatives.evidence

    def _related(self, origin: _Origin) -> _Relatives:
        """By the surest evidence there is; helpers only where that evidence names nothing else."""
        for evidence, sure, loose in origin.keys:
            for helper in (False, True):
                for key in (sure, loose):
                    nodes = self.by_key.get((helper, key))
                    if nodes:
                        return _Relatives(tuple(nodes[:_MOST_COMPARED]), evidence, key is sure)
        return _Relatives((), "", False)

    def _continued(self, graph: Graph, node: Node, place: _Key) -> tuple[NodeKey, ...]:
        """A second step of one derivative (the sum after the product, for a broadcast operand) differentiates what the first did."""
        steps = (self._found.get((graph.name, name)) for name, _ in node.inputs)
        return tuple(dict.fromkeys(key for step in steps if step and step[0] == place for key in step[1]))[:MOST_LINKS]

    def _results_read(self, graph: Graph, node: Node, place: _Key) -> tuple[NodeKey, ...]:
        """Operations of this place that are differentiated by their own result, which the node reads: dx = dy ⊙ exp(x)."""
        read = dict.fromkeys((graph.name, name) for name, _ in node.inputs)
        return tuple([key for key in read if self.place.get(key) == place and plain_name(self.node[key].op) in OWN_RESULT])

    def _nearest(self, node: Node, candidates: tuple[NodeKey, ...]) -> tuple[NodeKey, ...]:
        """Those that the backward node reads, or shares an operand with, if there are any; else those that do the same work."""
        if len(candidates) == 1:
            return candidates
        operands = {name for name, _ in node.inputs}
        near = [key for key in candidates if key[1] in operands or any(name in operands for name, _ in self.node[key].inputs)]
        near = near or [key for key in candidates if self.node[key].op == node.op]
        return tuple((near or candidates)[:MOST_LINKS])
