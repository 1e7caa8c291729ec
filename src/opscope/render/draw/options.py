"""What of a Program a picture shows and how: the view options of every command, in one place.

`spec` is the JSON form that the drawing core takes (`ViewSpec` in `web/src/core/program/types.ts`); what is not in it (theme, scale, wrap,
direction) says how the chosen part is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

from opscope.analysis.clusters import with_clusters
from opscope.analysis.groupings import DIRECTION, MODULE, OP, SOURCE_LINE
from opscope.errors import SourceError
from opscope.program import Graph, Program
from opscope.render.draw.styling import NodeData, Style

Theme: TypeAlias = Literal["light", "dark"]
Direction: TypeAlias = Literal["TB", "LR"]
Values: TypeAlias = Literal["edges", "boxes"]
Moment: TypeAlias = Literal["before", "after", "overlay"]


@dataclass(frozen=True)
class ViewOptions:
    """Options of a static picture. The defaults are what a person sees who asks for nothing."""

    graph: str | None = None
    depth: int | None = None
    flatten: bool = False
    around: tuple[str, ...] = ()
    hops: int = 2
    stop_at: tuple[str, ...] = ()
    """Nodes beyond which the neighbourhood does not go."""
    paths: tuple[str, str] | None = None
    limit: int | None = None
    """At most so many nodes between the two ends of `paths`."""
    calls: bool = True
    """Open called graphs (fusions, loops) where `depth` reaches them?"""
    group_by: str | None = None
    theme: Theme = "light"
    scale: float = 1.0
    wrap: bool | None = None
    """Break a very tall picture into columns: yes, no, or (None) when it is taller than 4 : 1."""
    direction: Direction = "TB"
    beside: bool = False
    """Forward and backward next to each other, what belongs together at the same height, where a program has both."""
    operands: bool | None = None
    """Number the operands at the arrow heads where their order matters: yes, no, or (None) in a picture with few of them."""
    names: bool = False
    """Title operations by their ids (`dot.105`) instead of by what they are."""
    values: Values = "edges"
    diff: Moment | None = None
    """Of a pass: the program before it, after it, or both in one, with what it did in colour."""
    style: Style | None = None
    """Rules that colour boxes and edges: a file, a list, or the name of a predefined style."""
    node_data: tuple[NodeData, ...] = ()
    """Files of values by node, which become colours."""

    def __post_init__(self) -> None:
        if not isinstance(self.node_data, (tuple, list)):  # one file is as good as a list of one
            object.__setattr__(self, "node_data", (self.node_data,))

    @property
    def given(self) -> list[str]:
        """Names of the options that differ from their default."""
        return [field.name for field in fields(self) if getattr(self, field.name) != field.default]

    @property
    def spec(self) -> dict[str, Any]:
        """The ViewSpec for the drawing core. Options that were not given are absent."""
        spec: dict[str, Any] = {
            "graph": self.graph,
            "grouping": self.group_by,
            "depth": self.depth,
            "flatten": self.flatten or None,
            "calls": None if self.calls else False,
            "operands": self.operands,
            "names": self.names or None,
            "beside": self.beside or None,
            "values": None if self.values == "edges" else self.values,
        }
        if self.around:
            stops = {"stopAt": list(self.stop_at)} if self.stop_at else {}
            spec["around"] = {"nodes": list(self.around), "hops": self.hops} | stops
        if self.paths is not None:
            limit = {} if self.limit is None else {"limit": self.limit}
            spec["paths"] = {"from": self.paths[0], "to": self.paths[1]} | limit
        return {name: value for name, value in spec.items() if value is not None}

    def check(self, program: Program) -> Graph:
        """The graph to be shown. Names that are not in the program are refused with the closest that are."""
        name = self.graph or program.entry
        if name not in program.graphs:
            raise SourceError(f"no graph named {name!r}{_closest(name, program.graphs)}")
        graph = program.graphs[name]
        for node in (*self.around, *self.stop_at, *(self.paths or ())):
            if node not in graph:
                help = _elsewhere(program, node) or _closest(node, graph.position)
                raise SourceError(f"no node named {node!r} in graph {name!r}{help}")
        if self.group_by is not None:
            own = dict.fromkeys(grouping for each in with_clusters(program) for grouping in each.groupings)
            known = [MODULE, *own, SOURCE_LINE, OP, DIRECTION]
            if self.group_by not in known:
                raise SourceError(f"no grouping named {self.group_by!r}; there are: {', '.join(known)}")
        return graph


def _closest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = [n for n in names if name in n][:3] or get_close_matches(name, names[:20_000], 3, 0.5)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    return f"; there are: {', '.join(names[:5])}{', …' if len(names) > 5 else ''}"


def _elsewhere(program: Program, node: str) -> str:
    """A node of that name in another graph is the likeliest mistake of all."""
    homes = [graph.name for graph in program if node in graph]
    return f"; graph {homes[0]!r} has one: --graph {homes[0]}" if homes else ""
