"""Checks that a program has what view options name. If not, the error suggests the closest names."""

from __future__ import annotations

from opscope.analysis.enrich import enrich, enrich_for_picture
from opscope.analysis.groupings import DIRECTION, MODULE, OP, SOURCE_LINE
from opscope.errors import OpscopeError, SourceError
from opscope.naming import suggest
from opscope.program import Graph, Program
from opscope.recording.model import Recording
from opscope.view_options import ViewOptions

ATTRIBUTE = "attr:"
"""What precedes the name of an attribute in --colour-by."""
COUNTED = ("output bytes", "inputs", "users")
"""Metrics that the drawing core counts itself (`web/src/core/metrics/counted.ts`)."""


def check_options(options: ViewOptions, source: Program | Recording) -> None:
    """Refuse options that this source cannot satisfy. A recording is not checked: a name may belong to any of its passes."""
    if isinstance(source, Recording):
        return
    if options.diff is not None:
        raise OpscopeError(f"{options.spelled('diff')} shows what a pass did; name a pass of a recording, such as run.opscope@12")
    checked_graph(options, source)


def checked_graph(options: ViewOptions, program: Program) -> Graph:
    """The graph to show, once its nodes and the grouping in the options are checked."""
    name = options.graph or program.entry
    if name not in program.graphs:
        raise SourceError(f"no graph named {name!r}{_module(program, name, options) or suggest(name, program.graphs)}")
    graph = program.graphs[name]
    for node in (*options.around, *options.stop_at, *(options.paths or ())):
        if node not in graph:
            help = _elsewhere(program, node, options) or _module(program, node, options) or suggest(node, graph.position)
            raise SourceError(f"no node named {node!r} in graph {name!r}{help}")
    if options.group_by is not None:
        declared = dict.fromkeys(name for graph_ in enrich_for_picture(program) for name in graph_.groupings)
        groupings = [MODULE, *declared, SOURCE_LINE, OP, DIRECTION]
        if options.group_by not in groupings:
            raise SourceError(f"no grouping named {options.group_by!r}{suggest(options.group_by, groupings)}")
    if options.colour_by is not None and options.colour_by.startswith(ATTRIBUTE):
        attribute = options.colour_by.removeprefix(ATTRIBUTE)
        attributes = _attributes(program)
        if attribute not in attributes:
            help = suggest(attribute, attributes) if attributes else ""
            raise SourceError(f"no node has an attribute {attribute!r} to colour by{help}")
    if options.size_by is not None:
        metrics = [*COUNTED, *enrich(program).metrics]
        if options.size_by not in metrics:
            raise SourceError(f"no metric named {options.size_by!r} to size boxes by{suggest(options.size_by, metrics)}")
    if options.label:
        labels = [*COUNTED, *enrich(program).metrics, *_attributes(program)]
        for label in options.label:
            if label not in labels:
                raise SourceError(f"no node has an attribute or metric {label!r} to write on its box{suggest(label, labels)}")
    return graph


def _attributes(program: Program) -> list[str]:
    return list(dict.fromkeys(key for graph in program for node in graph for key in node.attrs))


def _module(program: Program, name: str, options: ViewOptions) -> str:
    """A hint if a module has that name."""
    from opscope.analysis.inside import is_module

    return f"; it is a module: {options.spelled('inside', name)}" if is_module(program, name) else ""


def _elsewhere(program: Program, node: str, options: ViewOptions) -> str:
    """A hint if another graph has a node of that name, which is the most likely mistake."""
    homes = [graph.name for graph in program if node in graph]
    return f"; graph {homes[0]!r} has one: {options.spelled('graph', homes[0])}" if homes else ""
