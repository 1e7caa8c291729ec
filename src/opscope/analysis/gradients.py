"""Which forward nodes a backward node of a training step differentiates.

Frameworks record where an operation came from (JAX wraps its scope in `transpose(jvp(…))`, PyTorch keeps the forward node), but not
which forward operation a backward one belongs to. That follows from evidence, in this order: the same scope without the wrappers and
the same source location ("place"), the same scope and line ("line"), a forward node that was called from there ("call"), the same scope
alone ("scope"), the same line alone ("source"), the same operands. Of several forward nodes that share this evidence, data flow decides:
gradients flow against the data, a sum undoes a broadcast, and a product reads what its operation read. A recomputed node stands for the
forward node that it repeats, and a value that another graph passes on for the node that computed it. Helpers that linearization adds to
the forward half for use in the backward half (the -1/2 · y/x of an rsqrt) have the location of their operation too, but they are not
what was differentiated; nor are the insides of reducers. The rule of a custom_vjp has the place of its call. Where something else is
computed at that place (XLA has one for `act(x)` and `act(x).sum()`), data flow decides, or nothing is linked.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, compress, islice, repeat
from operator import le, sub
from types import MappingProxyType
from typing import NamedTuple

from opscope.analysis.called_values import CalledValues
from opscope.analysis.derivatives import REDUCING
from opscope.analysis.forward_index import ForwardIndex
from opscope.analysis.forward_nodes import Forward, Part, rows_of
from opscope.analysis.moved import SLICES
from opscope.analysis.origins import Origin, Origins
from opscope.analysis.recomputed import Repeats
from opscope.ops import plain_name
from opscope.program import (
    BACKWARD,
    BACKWARD_OF,
    FORWARD,
    INFERRED_ATTR,
    RECOMPUTED,
    RECOMPUTES,
    SAVED_FROM,
    Graph,
    Link,
    Node,
    NodeColumns,
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
    links = _linked(program)
    ids = {name: list(graph.ids) for name, graph in program.graphs.items()}
    found = ((graph, ids[graph][at], forward) for graph, nodes in links.backward.items() for at, forward in nodes.items())
    return [BackwardLink(*each, reason) for each, reason in zip(found, links.reasons, strict=True)]


class _Links(NamedTuple):
    """What links the parts of a training step: by graph and position there."""

    backward: dict[str, dict[int, tuple[NodeKey, ...]]]
    """By graph, the forward nodes that each backward node differentiates."""
    reasons: list[str]
    """The evidence for each of them."""
    recomputed: dict[tuple[str, int], NodeKey]
    """By recomputed node, the forward node that it repeats."""
    saved: dict[tuple[str, int], NodeKey]
    """By parameter, or slice of a stack, of a graph in the backward half, the forward node that computed it."""
    prepares: dict[tuple[str, int], tuple[NodeKey, ...]]
    """By recomputed node that repeats nothing (the 2·x of x²), the forward nodes whose derivative it is part of."""


def _linked(program: Program) -> _Links:
    others = _Links({}, [], {}, {}, {})
    if INFERRED_ATTR in program.attrs:
        return others
    reducers = _reducers(program)
    origins = Origins(graph for graph in program if graph.name not in reducers)
    if not any(origins.directions):
        return others
    graph_origins = {graph.name: origins.of(graph) for graph in program if graph.name not in reducers}
    has_recomputed = RECOMPUTED in origins.directions
    index = ForwardIndex(origins.rules, grows=has_recomputed)
    del origins
    for name, origins_here in graph_origins.items():
        graph = program[name]
        part = index.parts[name] = Part(graph, name == program.entry)
        helpers = _helpers(graph, origins_here)
        for row, role, origin, helper in zip(rows_of(graph), graph.roles, origins_here, helpers, strict=True):
            if origin.direction == FORWARD and role != "constant":
                index.add(part, row, origin, helper)
    values = CalledValues(program)
    repeats = Repeats(index, values)
    if has_recomputed:
        for name, origins_here in graph_origins.items():
            repeats.add_unmarked(index.parts[name], origins_here)
    preparing: list[tuple[Part, int, Origin]] = []
    graphs = [graph for graph in reversed(program.callees_first()) if graph.name not in reducers]
    parts_of_step = {graph.name: {origin.direction for origin in graph_origins[graph.name]} for graph in graphs}
    graphs.sort(key=lambda graph: not parts_of_step[graph.name].isdisjoint((RECOMPUTED, BACKWARD)))
    for graph in graphs:
        part, origins_here = index.parts[graph.name], graph_origins[graph.name]
        receives = values.receives(graph) or RECOMPUTED in parts_of_step[graph.name]
        if values.only_indexes(graph) or not (receives or BACKWARD in parts_of_step[graph.name]):
            continue
        for i, (row, role, origin) in enumerate(zip(rows_of(graph), graph.roles, origins_here, strict=True)):
            if role == "constant":
                continue  # StableHLO names them after what they are for; they differentiate and repeat nothing
            if receives and values.passes_on(graph, node := graph.nodes[i]) and _is_passed_on(index, values, part, node, i):
                is_slot = node.is_argument or plain_name(node.op) in SLICES or node.calls
                if is_slot and (saved := part.forward[i]) and origin.direction != FORWARD:
                    others.saved[graph.name, i] = saved.key
            elif origin.direction == RECOMPUTED:
                forward = repeats.find(part, graph.nodes[i], origin)
                if forward:
                    part.forward[i] = forward
                    others.recomputed[graph.name, i] = forward.key
                else:
                    index.add(part, row, origin, True)
                    preparing.append((part, i, origin))
            elif origin.direction == BACKWARD:
                part.links[i], reason = index.find(part, row, origin)
                others.reasons.append(reason)
    for part, row in reversed(index.prepared):
        if prepared := index.prepared_for(part, row):
            part.links[row.position] = prepared
    for part, row, relatives in reversed(index.undecided):
        if continued := index.continued_by(part, row, relatives):
            part.links[row.position] = continued
    prepares: dict[tuple[str, int], tuple[Forward, ...]] = {}
    for part, position, origin in reversed(preparing):
        prepares[part.graph.name, position] = index.prepares(part, position, origin, prepares)
    others.prepares.update((key, tuple([each.key for each in forwards])) for key, forwards in prepares.items())
    keys: dict[tuple[Forward, ...], tuple[NodeKey, ...]] = {}
    for graph in graphs:
        links = index.parts[graph.name].links
        for forwards in links.values():
            if forwards not in keys:
                keys[forwards] = tuple([each.key for each in forwards])
        if links:
            others.backward[graph.name] = {name: keys[forwards] for name, forwards in links.items()}
    for part in index.parts.values():  # they refer to each other, and of a million nodes they take a gigabyte
        part.forget()
    return others


def _is_passed_on(index: ForwardIndex, values: CalledValues, part: Part, node: Node, position: int) -> bool:
    """Whether a node is the value of a forward node, or of an argument of another graph, and not its own."""
    graph, (name, output) = values.source(part.graph, (node.id, 0))
    if (graph, name) == (part.graph.name, node.id) or graph not in index.parts:
        return False
    source = index.parts[graph]
    at = source.graph.position[name]
    if forward := source.forward[at]:
        part.forward[position] = forward
    elif at in source.arguments:
        is_tuple = len(source.types[at]) > 1
        part.same_argument[position] = (graph, at, output) if is_tuple else source.same_argument.get(at, (graph, at))
    else:
        return False
    return True


def _reducers(program: Program) -> set[str]:
    """Graphs that only combine two values; they are not steps of the program."""
    return {name for graph in program for node in graph.calling if plain_name(node.op) in REDUCING for name in node.calls}


def _helpers(graph: Graph, origins: Sequence[Origin]) -> Sequence[bool]:
    """Which forward nodes exist only for the backward half: nothing else reads them, directly or through other helpers."""
    marks = [origin.direction for origin in origins]
    helps = [False] * len(origins)
    if BACKWARD not in marks or FORWARD not in marks:
        return helps
    starts, operands = graph.operands
    readers = bytearray(len(origins))
    """What reads each node: 1 for the backward half and other helpers, 2 for anything else, 3 for both."""
    counts = map(sub, islice(starts, 1, None), starts)
    users = array("I", chain.from_iterable(map(repeat, range(len(origins)), counts)))
    for i, operand in compress(zip(users, operands, strict=True), map(le, users, operands)):  # not in the order of the data
        readers[operand] |= 1 if marks[i] == BACKWARD else 2
    for i in range(len(origins) - 1, -1, -1):
        mark = marks[i]
        if mark == FORWARD:
            helps[i] = readers[i] == 1
        bit = 1 if mark == BACKWARD or helps[i] else 2
        for operand in operands[starts[i] : starts[i + 1]]:
            readers[operand] |= bit
    return helps


def with_backward_links(program: Program) -> Program:
    """The program with links from backward to forward nodes (`backward_of`), from recomputed nodes to what they repeat (`recomputes`), and
    from saved values to what computed them (`saved_from`). A node that already has links of a kind keeps them."""
    links = _linked(program)
    added: dict[str, dict[int, tuple[Link, ...]]] = defaultdict(dict)
    for graph, nodes in links.backward.items():
        shared: dict[int, tuple[Link, ...]] = {}  # several steps of one derivative have the same forward nodes
        of_graph = added[graph]
        for position, keys in nodes.items():
            targets = shared.get(id(keys))
            if targets is None:
                targets = shared[id(keys)] = tuple([_link(BACKWARD_OF, graph, key) for key in keys])
            of_graph[position] = targets
    for kind, pairs in ((RECOMPUTES, links.recomputed), (SAVED_FROM, links.saved)):
        for (graph, position), key in pairs.items():
            added[graph][position] = (_link(kind, graph, key),)
    for (graph, position), keys in links.prepares.items():
        added[graph][position] = tuple([_link(BACKWARD_OF, graph, key) for key in keys])
    if not added:
        return program
    graphs = {name: _with_links(graph, added.get(name, {})) for name, graph in program.graphs.items()}
    return replace(program, graphs=MappingProxyType(graphs))


def _link(kind: str, graph: str, target: NodeKey) -> Link:
    return Link(kind, target[1], "" if target[0] == graph else target[0])


def _with_links(graph: Graph, added: Mapping[int, tuple[Link, ...]]) -> Graph:
    if not any(added.values()):
        return graph

    nodes = graph.nodes
    if isinstance(nodes, NodeColumns):
        if nodes.links:
            added = {position: _joined(nodes.links.get(position, ()), links) for position, links in added.items()}
        return replace(graph, nodes=nodes.with_links(added))

    def linked(position: int, node: Node) -> Node:
        links = _joined(node.links, added.get(position, ()))
        return node if links is node.links else node._replace(links=links)

    return replace(graph, nodes=tuple(map(linked, range(len(nodes)), nodes)))


def _joined(before: tuple[Link, ...], added: tuple[Link, ...]) -> tuple[Link, ...]:
    if not added or any(link.kind == added[0].kind for link in before):
        return before
    return before + added if before else added
