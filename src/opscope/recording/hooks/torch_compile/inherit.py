"""Gives the nodes that a pattern creates the module and source line of the nodes that they replace; torch copies neither."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from opscope.analysis.contributing import own_lines
from opscope.program import LINES_ATTR, Frame, KnownDetails, Node, NodeKey, Path, Program
from opscope.readers.torch.direction import common_scope
from opscope.recording.model import Origin


class Place(NamedTuple):
    scope: Path = ()
    source: tuple[Frame, ...] = ()
    lines: tuple[Frame, ...] = ()
    """The lines of all nodes, if they come from several."""


class Places:
    """Inherited places by node name, because names survive copying and partitioning a graph."""

    def __init__(self) -> None:
        self._by_name: dict[str, Place] = {}

    def learn(self, origins: Iterable[Origin], old: Program) -> None:
        for origin in origins:
            if origin.evidence == "rewrite" and origin.new:
                place = _common_place([old[graph][id] for graph, id in origin.old])
                if place.scope or place.source:
                    self._by_name.update((id, place) for _, id in origin.new)

    def applied(self, program: Program) -> Program:
        """The program, with inherited places for the nodes that have none of their own."""
        if not self._by_name:
            return program
        graphs = {name: replace(graph, nodes=tuple([self._placed(node) for node in graph.nodes])) for name, graph in program.graphs.items()}
        return replace(program, graphs=MappingProxyType(graphs))

    def _placed(self, node: Node) -> Node:
        place = self._by_name.get(node.id)
        if place is None or node.role != "op" or node.scope:
            return node
        attrs = {**node.attrs, LINES_ATTR: [list(line) for line in place.lines]} if place.lines else node.attrs
        return node._replace(details=KnownDetails(attrs, place.scope, node.source or place.source))


def lowered_places(origins: Sequence[Origin], old: Program) -> Places:
    """Places of the scheduler's nodes: a buffer has the place of the nodes that it computes, a kernel the place that its buffers share."""
    places = Places()
    places.learn(origins, old)
    kernels: dict[NodeKey, list[NodeKey]] = {}
    for origin in origins:
        for graph, id in origin.new:
            if graph != old.entry:
                kernels.setdefault((old.entry, graph), []).extend(origin.old)
                kernels.setdefault((graph, id), []).extend(origin.old)
    unfused = [(old.entry, node.id) for node in old.main if node.role == "op"]
    kernels.update((key, [key]) for key in unfused)
    places.learn([Origin(tuple(members), (key,), "rewrite") for key, members in kernels.items()], old)
    return places


def _common_place(nodes: Sequence[Node]) -> Place:
    """The innermost module that contains all nodes that have one, and the most frequent source lines."""
    scopes = [node.scope for node in nodes if node.scope]
    scope = common_scope(scopes) if 2 * len(scopes) > len(nodes) else ()
    sources = Counter(node.source for node in nodes if node.source)
    lines = tuple(dict.fromkeys(line for node in nodes for line in own_lines(node)))
    return Place(scope, sources.most_common(1)[0][0] if sources else (), lines if len(lines) > 1 else ())
