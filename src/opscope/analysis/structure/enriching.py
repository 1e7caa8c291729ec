"""Which programs get the grouping "structure": those that nobody grouped, and of named ones the update."""

from __future__ import annotations

from opscope.analysis.structure.find import add_structure
from opscope.analysis.structure.update import with_update_blocks
from opscope.program import Graph, Program, details_of


def with_structure(program: Program) -> Program:
    """The program with the grouping "structure" on its graphs with repeated blocks, if it has no other grouping. If it has modules, only
    the operations of its update are searched for blocks."""
    if any(graph.groupings for graph in program):
        return program
    return with_update_blocks(program) if any(map(_has_scopes, program)) else add_structure(program)


def _has_scopes(graph: Graph) -> bool:
    """Whether an operation has one. Nodes share details, so that few have to be asked."""
    asked: set[int] = set()
    for details, role in zip(details_of(graph.nodes), graph.roles, strict=True):
        if role == "op" and id(details) not in asked:
            if details.scope:
                return True
            asked.add(id(details))
    return False
