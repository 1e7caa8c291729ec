"""What linking looks at of nodes, without making those of a very large graph, which are columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from opscope.program import Graph, TensorType


class Row(NamedTuple):
    """A node without its details."""

    id: str
    op: str
    read: tuple[str, ...]
    """The ids of the nodes whose values it reads."""
    outputs: tuple[TensorType, ...]


_row: Callable[[tuple[Any, ...]], Row] = partial(tuple.__new__, Row)


def rows_of(graph: Graph) -> Iterator[Row]:
    """The nodes of a graph."""
    return map(_row, zip(graph.ids, graph.ops, graph.reads, graph.types, strict=True))
