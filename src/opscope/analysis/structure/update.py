"""Repeated blocks of an optimizer's update in a program whose modules are named: the update is one module, or none, and flat."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from types import MappingProxyType

from opscope.analysis.directions import directions
from opscope.analysis.structure.find import SEEN_WHOLE, STRUCTURE, structure_of
from opscope.analysis.structure.wiring import Kinds
from opscope.program import UPDATE, Graph, KnownDetails, Node, Path, Program, TensorType, ValueRef, details_of

_NUMBER, _LETTERS = re.compile(r" \d+$"), re.compile(r" [A-Z]+$")
_FEWEST = 4
"""Smaller blocks hide operations for nothing."""


def with_update_blocks(program: Program) -> Program:
    """The program with the grouping "structure" on the operations of its update that are directly in one module, or in none."""
    graph = program.main
    ids = list(graph.ids)
    scopes = [details.scope for details in details_of(graph.nodes)]
    direct = Counter(scope for scope, role in zip(scopes, graph.roles, strict=True) if role == "op")
    if max(direct.values(), default=0) < SEEN_WHOLE:
        return program
    marks = directions(program, graphs=[graph.name])[graph.name]
    update = [i for i, (mark, role) in enumerate(zip(marks, graph.roles, strict=True)) if mark == UPDATE and role == "op"]
    usual = Counter(scopes[i] for i in update if scopes[i]).most_common(1)
    if not usual or usual[0][1] < SEEN_WHOLE:
        return program
    found = structure_of(_part(graph, update), Kinds(program), program)
    families: dict[str, list[int]] = {}
    for i in update:
        if ids[i] in found:
            families.setdefault(_NUMBER.sub("", found[ids[i]][0]), []).append(i)
    paths: dict[str, Path] = {}
    for family, nodes in families.items():
        blocks = {found[ids[i]][0] for i in nodes}
        if len(nodes) >= _FEWEST * len(blocks) and all(scopes[i] in ((), usual[0][0]) for i in nodes):
            outer = f"{_LETTERS.sub('', family)}s"
            paths.update((ids[i], (outer, *found[ids[i]])) for i in nodes)
    if not paths:
        return program
    grouped = replace(graph, groupings=MappingProxyType({STRUCTURE: MappingProxyType(paths)}))
    return replace(program, graphs=MappingProxyType({**program.graphs, graph.name: grouped}))


def _part(graph: Graph, members: list[int]) -> Graph:
    """These nodes as a graph. Each value that they take from elsewhere is a parameter, what is taken from them elsewhere a result."""
    ids = list(graph.ids)
    inside = {ids[i] for i in members}
    values: dict[ValueRef, ValueRef] = {}
    around: list[Node] = []
    nodes: list[Node] = []
    for node in (graph.nodes[i] for i in members):
        for value in node.inputs:
            if value[0] not in inside and value not in values:
                values[value] = (f"\0{len(values)}", 0)
                around.append(_outer(graph[value[0]], value[1], values[value][0]))
        inputs = tuple([values.get(value, value) for value in node.inputs])
        nodes.append(node._replace(inputs=inputs, outputs=tuple(map(_of_any_size, node.outputs)), control=(), links=()))
    returned = {name for name, _ in graph.outputs}
    outputs = [(node.id, 0) for node in nodes if node.id in returned or any(user not in inside for user in graph.users.get(node.id, ()))]
    return Graph(graph.name, (*around, *nodes), tuple(outputs))


def _outer(node: Node, index: int, name: str) -> Node:
    """A value of a node that is elsewhere."""
    if node.role == "constant":
        return node._replace(id=name, inputs=(), outputs=tuple(map(_of_any_size, node.outputs)), control=(), links=())
    outputs = (_of_any_size(node.outputs[index]),)
    return Node(name, "parameter", (), outputs, role="parameter", details=KnownDetails({}))


def _of_any_size(kind: TensorType) -> TensorType:
    """A tensor or a scalar: the updates of a matrix and of a vector are the same operations."""
    return TensorType(kind.dtype, (0,) if kind.shape else ())
