"""What analysis adds to a program, in one place: quantized clusters, halves of a training step and repeated blocks that the source does not
name, links from backward to forward operations, estimated costs.

Code that shows or saves a program calls `enrich` first, so that pictures, pages and JSON agree. Reading, comparing and counting do
without it: on a large program it takes longer than reading. Clusters are quick to find, and people expect them on a program that
was just loaded, so `load` and `capture` add them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opscope.analysis.clusters import with_clusters
from opscope.analysis.cost_metrics import with_costs
from opscope.analysis.gradients import with_backward_links
from opscope.analysis.halves import with_halves
from opscope.analysis.structure import with_structure
from opscope.gc_pause import without_collecting
from opscope.program import NodeColumns, Program

_STEPS = (with_clusters, with_halves, with_structure, with_backward_links, with_costs)
"""None of them replaces what the program already has."""
_STEPS_OF_A_SNAPSHOT = tuple(step for step in _STEPS if step is not with_structure)
_INDEXES = ("position", "users")
"""The cached properties of a graph that do not depend on attributes, links, groupings and metrics."""
_RESULT, _RESULT_OF_A_SNAPSHOT = "_enriched", "_enriched_snapshot"
_STEPS_OF_A_PICTURE = tuple(step for step in _STEPS if step not in (with_backward_links, with_costs))
_RESULT_OF_A_PICTURE = "_enriched_picture"
_ITSELF = object()
"""The result of enriching what is enriched. A program that refers to itself would stay in memory until the garbage collector comes, which
in a server that waits is never."""


def is_enriched(program: Program) -> bool:
    """Whether it is a program that `enrich` returned."""
    return any(vars(program).get(key) is _ITSELF for key in (_RESULT, _RESULT_OF_A_SNAPSHOT))


def enrich(program: Program, *, snapshot: bool = False) -> Program:
    """The program with everything that analysis adds. Computed once and cached on the program, like a cached property.

    A `snapshot` of a recording has no repeated blocks: each pass would have others, with other numbers."""
    key = _RESULT_OF_A_SNAPSHOT if snapshot else _RESULT
    cached = _cached(program, key)
    if cached is not None:
        return cached
    enriched = _after(program, _STEPS_OF_A_SNAPSHOT if snapshot else _STEPS)
    _forget_indexes(program)
    _forget_indexes(enriched)
    vars(program)[key] = enriched
    vars(enriched)[key] = _ITSELF
    return enriched


def enrich_for_picture(program: Program) -> Program:
    """The program with what every picture of it shows: without links and costs, which take most of the time and which only some options
    show."""
    cached = _cached(program, _RESULT) or _cached(program, _RESULT_OF_A_PICTURE)
    if cached is None:
        cached = _after(program, _STEPS_OF_A_PICTURE)
        vars(program)[_RESULT_OF_A_PICTURE] = _ITSELF if cached is program else cached
    return cached


def _cached(program: Program, key: str) -> Program | None:
    cached: Any = vars(program).get(key)
    result: Program | None = program if cached is _ITSELF else cached
    return result


def _after(program: Program, steps: Iterable[Callable[[Program], Program]]) -> Program:
    with without_collecting():
        for step in steps:
            before, program = program, step(program)
            _keep_indexes(before, program)
    return program


def _forget_indexes(program: Program) -> None:
    """Nothing that shows or saves a program asks where all nodes are and who uses their values, and of a large graph these indexes take as
    much memory as the nodes."""
    for graph in program:
        if isinstance(graph.nodes, NodeColumns):
            for index in _INDEXES:
                vars(graph).pop(index, None)


def _keep_indexes(before: Program, after: Program) -> None:
    """Give graphs the indexes of those that they were made from: no step adds nodes, or changes what they read."""
    for name, graph in after.graphs.items():
        known, indexes = vars(before.graphs[name]), vars(graph)
        for index in _INDEXES:
            if index in known:
                indexes.setdefault(index, known[index])
