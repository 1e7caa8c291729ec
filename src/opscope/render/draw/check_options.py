"""Checks that a program has what view options name. If not, the error suggests the closest names."""

from __future__ import annotations

from opscope.analysis.enrich import enrich
from opscope.analysis.groupings import DIRECTION, MODULE, OP, SOURCE_LINE
from opscope.errors import OpscopeError, SourceError
from opscope.naming import listed, suggest
from opscope.program import Graph, Program
from opscope.recording.model import Recording
from opscope.view_options import ViewOptions


def check_options(options: ViewOptions, source: Program | Recording) -> None:
    """Refuse options that this source cannot satisfy. A recording is not checked: a name may belong to any of its passes."""
    if isinstance(source, Recording):
        return
    if options.diff is not None:
        raise OpscopeError("--diff shows what a pass did; name a pass of a recording, such as run.opscope@12")
    checked_graph(options, source)


def checked_graph(options: ViewOptions, program: Program) -> Graph:
    """The graph to show, once its nodes and the grouping in the options are checked."""
    name = options.graph or program.entry
    if name not in program.graphs:
        raise SourceError(f"no graph named {name!r}{suggest(name, program.graphs)}")
    graph = program.graphs[name]
    for node in (*options.around, *options.stop_at, *(options.paths or ())):
        if node not in graph:
            help = _elsewhere(program, node) or suggest(node, graph.position)
            raise SourceError(f"no node named {node!r} in graph {name!r}{help}")
    if options.group_by is not None:
        declared = dict.fromkeys(name for graph_ in enrich(program) for name in graph_.groupings)
        groupings = [MODULE, *declared, SOURCE_LINE, OP, DIRECTION]
        if options.group_by not in groupings:
            raise SourceError(f"no grouping named {options.group_by!r}; there are: {listed(groupings)}")
    return graph


def _elsewhere(program: Program, node: str) -> str:
    """A hint if another graph has a node of that name, which is the most likely mistake."""
    homes = [graph.name for graph in program if node in graph]
    return f"; graph {homes[0]!r} has one: --graph {homes[0]}" if homes else ""
