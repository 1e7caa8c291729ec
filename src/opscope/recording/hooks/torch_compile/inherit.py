"""Nodes that a pattern made know no module and no source line: torch copies neither. They take both from what they replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from opscope.program import Frame, KnownDetails, Node, NodeKey, Path, Program
from opscope.readers.torch.direction import common_scope
from opscope.recording.model import Origin


class Place(NamedTuple):
    scope: Path = ()
    source: tuple[Frame, ...] = ()


class Places:
    """What was inherited, by node name: names outlive the copies and the partition of a graph."""

    def __init__(self) -> None:
        self._known: dict[str, Place] = {}

    def learn(self, origins: Iterable[Origin], old: Program) -> None:
        for origin in origins:
            if origin.evidence == "rewrite" and origin.new:
                place = _common_place([old[graph][id] for graph, id in origin.old])
                if place.scope or place.source:
                    self._known.update((id, place) for _, id in origin.new)

    def applied(self, program: Program) -> Program:
        """The program, with a place for each node that has none of its own and inherited one."""
        if not self._known:
            return program
        graphs = {name: replace(graph, nodes=tuple([self._placed(node) for node in graph.nodes])) for name, graph in program.graphs.items()}
        return replace(program, graphs=MappingProxyType(graphs))

    def _placed(self, node: Node) -> Node:
        place = self._known.get(node.id)
        if place is None or node.role != "op" or node.scope:
            return node
        return node._replace(details=KnownDetails(node.attrs, place.scope, node.source or place.source))


def lowered_places(origins: Sequence[Origin], old: Program) -> Places:
    """Places of the scheduler's nodes: a buffer has that of what it computes, a kernel what its buffers share."""
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
    """The innermost module that holds all of them, as far as they have one, and the lines that most of them came from."""
    scopes = [node.scope for node in nodes if node.scope]
    scope = common_scope(scopes) if 2 * len(scopes) > len(nodes) else ()
    sources = Counter(node.source for node in nodes if node.source)
    return Place(scope, sources.most_common(1)[0][0] if sources else ())
