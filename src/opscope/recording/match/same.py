"""Finds the graphs that no pass touched, which are most of a large program. They match as a whole, without comparing nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from opscope.program import Graph, Program
from opscope.recording.model import Origin


def untouched(a: Program, b: Program, origins: Iterable[Origin]) -> frozenset[str]:
    """Names of graphs that are the same object in both programs (a recording decodes equal graphs once), with everything that they call.

    Excluded are graphs with other callers than before, because their nodes may have moved into a former caller, graphs that a new one
    looks like, because it may be a copy, and graphs with recorded origins.
    """
    with_origins = {graph for origin in origins for graph, _ in (*origin.old, *origin.new)}
    same = {name for name, graph in a.graphs.items() if name not in with_origins and b.graphs.get(name) is graph}
    called_a, called_b = (_called_by(program[name] for name in program.graphs if name not in same) for program in (a, b))
    callers: dict[str, list[str]] = defaultdict(list)
    dropped = [name for name in same if called_a.get(name) != called_b.get(name)]
    looks = {_look(graph) for name, graph in b.graphs.items() if name not in a.graphs}
    dropped += [name for name in same if _look(a[name]) in looks] if looks else []
    for name in same:
        for node in a[name].nodes:
            for called in node.calls:
                callers[called].append(name)
    dropped += [name for called, names in callers.items() if called not in same for name in names]
    while dropped:
        name = dropped.pop()
        if name in same:
            same.remove(name)
            dropped += callers[name]
    return frozenset(same)


def _look(graph: Graph) -> tuple[int, str, str]:
    """What equal graphs have in common, seen quickly."""
    return len(graph), graph.nodes[0].op if graph.nodes else "", graph.nodes[-1].op if graph.nodes else ""


def _called_by(graphs: Iterable[Graph]) -> dict[str, set[tuple[str, str]]]:
    """{called graph: the nodes that call it}."""
    called: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for graph in graphs:
        for node in graph.nodes:
            for name in node.calls:
                called[name].add((graph.name, node.id))
    return called
