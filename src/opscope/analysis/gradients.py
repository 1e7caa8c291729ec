"""Which half of a training step a node belongs to, and which forward nodes a backward node differentiates.

Frameworks record where an operation came from (JAX wraps its scope in `transpose(jvp(…))`, PyTorch keeps the forward node), but not
which forward operation a backward one belongs to. That follows from evidence, in this order: the same scope without the wrappers and
the same source location ("place"), the same scope alone ("scope"), the same line alone ("source"), the same operands. Helpers that
linearization adds to the forward half for use in the backward half (the -1/2 · y/x of an rsqrt) have the location of their operation
too, but they are not what was differentiated; nor are the insides of reducers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from opscope.analysis.derivatives import REDUCING
from opscope.ops import plain_name
from opscope.program import BACKWARD, BACKWARD_OF, DIRECTION_ATTR, FORWARD, UPDATE, Details, Graph, Link, Node, NodeKey, Program

MOST_LINKS = 8
"""More forward candidates than this explain nothing; only the nearest are linked."""
OWN_RESULT = frozenset({"exp", "exp2", "exponential", "logistic", "rsqrt", "sigmoid", "sqrt", "tanh"})
"""Operations whose derivative is expressed by their own result."""


def directions(program: Program, attribute_directions: dict[str, list[str]] | None = None) -> dict[str, list[str]]:
    """For each graph, the direction of each node: forward, backward or update; all "" if nothing is differentiated.

    `attribute_directions` has the directions in the nodes' attributes, if the caller has already read them.
    """
    if attribute_directions is None:
        attribute_directions = {graph.name: [str(node.attrs.get(DIRECTION_ATTR, "")) for node in graph] for graph in program}
    if not any(BACKWARD in marks for marks in attribute_directions.values()):
        return {name: [""] * len(marks) for name, marks in attribute_directions.items()}
    for graph in reversed(program.callees_first()):
        marks = attribute_directions[graph.name]
        callers = program.callers.get(graph.name, ())
        inherited = ""
        if callers:
            caller_graph, caller = callers[0]
            inherited = attribute_directions[caller_graph][program[caller_graph].position[caller]]
        _spread(graph, marks, inherited)
    return attribute_directions


def _spread(graph: Graph, marks: list[str], inherited: str) -> None:
    """Give unmarked nodes the mark of their operands, and those that no marked node reaches (parameters, constants and what is computed
    from them alone) the mark of their users. An operation with a scope after the backward half belongs to the optimizer."""
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
    """A backward node, the forward nodes it differentiates, and the evidence: place, scope, source or operands."""

    graph: str
    node: str
    forward: tuple[tuple[str, str], ...]
    evidence: str


def backward_links(program: Program) -> list[BackwardLink]:
    """Every node that is marked backward, with its forward nodes. A node without any has the evidence "none"."""
    index = _ForwardIndex()
    origins: dict[int, _Origin] = {}  # nodes share details, and a compiled module has few different ones
    waiting = []
    reducers = _reducers(program)
    for graph in program:
        if graph.name in reducers:
            continue
        graph_origins = []
        for node in graph:
            details = node.details
            origin = origins.get(id(details))
            if origin is None:
                origin = origins[id(details)] = _origin(node)
            graph_origins.append(origin)
        helpers = _helpers(graph, graph_origins)
        for node, origin, helper in zip(graph, graph_origins, helpers, strict=True):
            if origin.direction == FORWARD:
                index.add(graph, node, origin, helper)
            elif origin.direction == BACKWARD:
                waiting.append((graph, node, origin))
    return [BackwardLink(graph.name, node.id, *index.find(graph, node, origin)) for graph, node, origin in waiting]


def _reducers(program: Program) -> set[str]:
    """Graphs that only combine two values; they are not steps of the program."""
    return {name for graph in program for node in graph if node.calls and plain_name(node.op) in REDUCING for name in node.calls}


def _helpers(graph: Graph, origins: Sequence[_Origin]) -> list[bool]:
    """Which forward nodes exist only for the backward half: nothing else reads them, directly or through other helpers."""
    helps = [False] * len(origins)
    users, position = graph.users, graph.position
    for i in range(len(origins) - 1, -1, -1):
        if origins[i].direction == FORWARD:
            readers = users.get(graph.nodes[i].id, ())
            helps[i] = bool(readers) and all(helps[position[name]] or origins[position[name]].direction == BACKWARD for name in readers)
    return helps


def with_backward_links(program: Program) -> Program:
    """The program with links from backward to forward nodes (`backward_of`). A node that already has such links keeps them."""
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
    """Where a node comes from, according to its details: keys to find related nodes by, from the strongest to the weakest.

    Each kind of evidence has a key with the primitive and one without: the derivative of a multiply is a multiply.
    """

    direction: str
    keys: tuple[tuple[str, _Key, _Key], ...]
    details: Details


def _origin(node: Node) -> _Origin:
    attrs, scope, frames = node.attrs, node.scope, node.source
    name = str(attrs.get("metadata.op_name") or attrs.get("op_name") or node.op)
    primitive = name.partition(";")[0].rpartition("/")[2]
    stack = attrs.get("metadata.stack_frame_id")  # XLA's frames include columns, so they separate `(x - m) * rsqrt(v)`
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
    """Forward nodes, and the evidence that relates a backward node to them."""

    nodes: tuple[NodeKey, ...]
    evidence: str
    same_primitive: bool
    """Whether the primitive is the same too."""


class _ForwardIndex:
    """Forward nodes by what they share with their backward nodes."""

    def __init__(self) -> None:
        self.by_key: dict[_Key, list[NodeKey]] = {}
        self.node: dict[NodeKey, Node] = {}
        self.place: dict[NodeKey, _Key] = {}
        self._rows: dict[tuple[int, bool], list[list[NodeKey]]] = {}
        self._relatives: dict[int, _Relatives] = {}
        self._linked: dict[NodeKey, tuple[_Key, tuple[NodeKey, ...]]] = {}

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
        """Forward nodes and evidence for a backward node. Its backward operands must have been looked up before it."""
        relatives = self._relatives.get(id(origin))
        if relatives is None:
            relatives = self._relatives[id(origin)] = self._related(origin)
        if not relatives.nodes:
            operands = [(graph.name, name) for name, _ in node.inputs if (graph.name, name) in self.node]
            return tuple(operands[:MOST_LINKS]), "operands" if operands else "none"
        place = origin.keys[0][2]
        forward = self._results_read(graph, node, place)
        if relatives.same_primitive or not forward:
            others = () if relatives.same_primitive else self._continued(graph, node, place)
            forward += others or self._nearest(node, relatives.nodes)
            forward = tuple(dict.fromkeys(forward))[:MOST_LINKS]
        self._linked[graph.name, node.id] = place, forward
        return forward, relatives.evidence

    def _related(self, origin: _Origin) -> _Relatives:
        """Forward nodes by the strongest evidence there is; helpers only if that evidence leads to nothing else."""
        for evidence, strict, loose in origin.keys:
            for helper in (False, True):
                for key in (strict, loose):
                    nodes = self.by_key.get((helper, key))
                    if nodes:
                        return _Relatives(tuple(nodes[:_MOST_COMPARED]), evidence, key is strict)
        return _Relatives((), "", False)

    def _continued(self, graph: Graph, node: Node, place: _Key) -> tuple[NodeKey, ...]:
        """The forward nodes of the step before: a second step of one derivative (the sum after the product, for a broadcast operand)
        differentiates what the first one did."""
        steps = (self._linked.get((graph.name, name)) for name, _ in node.inputs)
        return tuple(dict.fromkeys(key for step in steps if step and step[0] == place for key in step[1]))[:MOST_LINKS]

    def _results_read(self, graph: Graph, node: Node, place: _Key) -> tuple[NodeKey, ...]:
        """Operations at this place whose derivative uses their own result, which the node reads: dx = dy ⊙ exp(x)."""
        read = dict.fromkeys((graph.name, name) for name, _ in node.inputs)
        return tuple([key for key in read if self.place.get(key) == place and plain_name(self.node[key].op) in OWN_RESULT])

    def _nearest(self, node: Node, candidates: tuple[NodeKey, ...]) -> tuple[NodeKey, ...]:
        """The candidates that the backward node reads or shares an operand with, if any; otherwise those with the same operation."""
        if len(candidates) == 1:
            return candidates
        operands = {name for name, _ in node.inputs}
        near = [key for key in candidates if key[1] in operands or any(name in operands for name, _ in self.node[key].inputs)]
        near = near or [key for key in candidates if self.node[key].op == node.op]
        return tuple((near or candidates)[:MOST_LINKS])
