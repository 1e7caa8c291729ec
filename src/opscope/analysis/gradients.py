"""Which forward nodes a backward node of a training step differentiates.

Frameworks record where an operation came from (JAX wraps its scope in `transpose(jvp(…))`, PyTorch keeps the forward node), but not
which forward operation a backward one belongs to. That follows from evidence, in this order: the same scope without the wrappers and
the same source location ("place"), the same scope alone ("scope"), the same line alone ("source"), the same operands. Of several forward
nodes that share this evidence, data flow decides: gradients flow against the data, a sum undoes a broadcast, and a product reads what its
operation read. Helpers that linearization adds to the forward half for use in the backward half (the -1/2 · y/x of an rsqrt) have the
location of their operation too, but they are not what was differentiated; nor are the insides of reducers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from opscope.analysis.derivatives import REDUCING
from opscope.analysis.forward_index import Evidence, ForwardIndex, Key, Origin, Part, origin_of
from opscope.ops import plain_name
from opscope.program import (
    BACKWARD,
    BACKWARD_OF,
    FORWARD,
    INFERRED_ATTR,
    Graph,
    Link,
    Node,
    NodeKey,
    Program,
)


class BackwardLink(NamedTuple):
    """A backward node, the forward nodes it differentiates, and the evidence: place, scope, source or operands."""

    graph: str
    node: str
    forward: tuple[tuple[str, str], ...]
    evidence: str


def backward_links(program: Program) -> list[BackwardLink]:
    """Every node that is marked backward, with its forward nodes. A node without any has the evidence "none".

    Inferred directions come with the links that follow from them; without scopes and source lines, there is no other evidence.
    """
    if INFERRED_ATTR in program.attrs:
        return []
    index = ForwardIndex()
    origins: dict[int, Origin] = {}  # nodes share details, and a compiled module has few different ones
    evidence: dict[Evidence, Key] = {}
    waiting = []
    reducers = _reducers(program)
    for graph in program:
        if graph.name in reducers:
            continue
        part = Part(graph)
        graph_origins = []
        for node in graph:
            details = node.details
            origin = origins.get(id(details))
            if origin is None:
                origin = origins[id(details)] = origin_of(node, evidence)
            graph_origins.append(origin)
        helpers = _helpers(graph, graph_origins)
        for node, origin, helper in zip(graph, graph_origins, helpers, strict=True):
            if origin.direction == FORWARD:
                index.add(part, node, origin, helper)
            elif origin.direction == BACKWARD:
                waiting.append((part, node, origin))
    links: dict[NodeKey, tuple[NodeKey, ...]] = {}
    reasons: list[str] = []
    for part, node, origin in waiting:
        links[part.graph.name, node.id], reason = index.find(part, node, origin)
        reasons.append(reason)
    for part, node in reversed(index.prepared):
        if forward := index.prepared_for(part, node, links):
            links[part.graph.name, node.id] = forward
    return [BackwardLink(*key, forward, reason) for (key, forward), reason in zip(links.items(), reasons, strict=True)]


def _reducers(program: Program) -> set[str]:
    """Graphs that only combine two values; they are not steps of the program."""
    return {name for graph in program for node in graph if node.calls and plain_name(node.op) in REDUCING for name in node.calls}


def _helpers(graph: Graph, origins: Sequence[Origin]) -> list[bool]:
    """Which forward nodes exist only for the backward half: nothing else reads them, directly or through other helpers."""
    helps = [False] * len(origins)
    if not any(origin.direction == BACKWARD for origin in origins):
        return helps
    users, position = graph.users, graph.position
    for i in range(len(origins) - 1, -1, -1):
        if origins[i].direction == FORWARD:
            readers = users.get(graph.nodes[i].id, ())
            helps[i] = bool(readers) and all(helps[position[name]] or origins[position[name]].direction == BACKWARD for name in readers)
    return helps


def with_backward_links(program: Program) -> Program:
    """The program with links from backward to forward nodes (`backward_of`). A node that already has such links keeps them."""
    added: dict[str, dict[str, tuple[Link, ...]]] = defaultdict(dict)
    shared: dict[tuple[str, tuple[NodeKey, ...]], tuple[Link, ...]] = {}  # several steps of one derivative have the same forward nodes
    for link in backward_links(program):
        targets = shared.get((link.graph, link.forward))
        if targets is None:
            each = (Link(BACKWARD_OF, node, "" if graph == link.graph else graph) for graph, node in link.forward)
            targets = shared[link.graph, link.forward] = tuple(each)
        added[link.graph][link.node] = targets
    if not added:
        return program
    graphs = {name: _with_links(graph, added.get(name, {})) for name, graph in program.graphs.items()}
    return replace(program, graphs=MappingProxyType(graphs))


def _with_links(graph: Graph, added: Mapping[str, tuple[Link, ...]]) -> Graph:
    if not any(added.values()):
        return graph

    def linked(node: Node) -> Node:
        links = added.get(node.id, ())
        if not links or any(link.kind == BACKWARD_OF for link in node.links):
            return node
        return node._replace(links=node.links + links if node.links else links)

    return replace(graph, nodes=tuple(map(linked, graph.nodes)))
