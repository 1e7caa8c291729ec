"""Matching by name, if names are stable."""

from __future__ import annotations

import re
from collections import Counter

from opscope.recording.match.indexed_program import TAGS, Side
from opscope.recording.match.pairs import FREE, Pairs

_CLONE = re.compile(r"\.clone(?:\.\d+)?$")
_ENOUGH = 0.5
_SAMPLES = 5000


def match_names(pairs: Pairs, evidence: str) -> None:
    """Match nodes with the same id and op: in graphs of the same name, then anywhere if the id occurs once in each program."""
    a, b = pairs.a, pairs.b
    for name, ga in a.graph_number.items():
        gb = b.graph_number.get(name)
        if gb is None:
            continue
        position, base = b.graphs[gb].position, b.first[gb]
        before = len(pairs.fresh)
        for x in a.members(ga):
            at = position.get(a.nodes[x].id)
            if at is not None:
                _pair_if_same_op(pairs, x, base + at, evidence)
        if len(pairs.fresh) > before or not (a.graphs[ga].nodes and b.graphs[gb].nodes):
            pairs.pair_graphs(ga, gb)
    elsewhere = _once([(node.id, y) for y, node in enumerate(b.nodes)])
    for id, x in _once([(node.id, x) for x, node in enumerate(a.nodes)]).items():
        if id in elsewhere:
            _pair_if_same_op(pairs, x, elsewhere[id], evidence)


def match_clones(pairs: Pairs, evidence: str) -> None:
    """Match nodes that are gone with their only clone, by the name that XLA gives to clones. A node that is still there was copied."""
    a, b = pairs.a, pairs.b
    work_a, work_b = pairs.labels.of["work"]
    clones = [(_CLONE.sub("", b.nodes[y].id), y) for y in pairs.free_b(range(len(b))) if ".clone" in b.nodes[y].id]
    free = _once([(a.nodes[x].id, x) for x in pairs.free_a(range(len(a)))]) if clones else {}
    for id, y in _once(clones).items():
        x = free.get(id)
        if x is not None and work_a[x] == work_b[y]:
            pairs.pair(x, y, evidence)


def match_outputs(pairs: Pairs) -> None:
    """Match nodes that compute a value of the same name, whatever their op: a fused op computes the value of its last part."""
    names_a, names_b = pairs.labels.output_names
    outputs_b = _once([(name, y) for y, name in names_b.items() if pairs.counterpart_b[y] == FREE])
    for name, x in _once([(name, x) for x, name in names_a.items() if pairs.counterpart_a[x] == FREE]).items():
        if name in outputs_b:
            pairs.pair(x, outputs_b[name], "output")


def names_are_stable(pairs: Pairs) -> bool:
    """Whether nodes with the same name are the same node: most of them must be of one kind and have operands of the same names.

    If a compiler renumbers its nodes in every pass, names refer to other nodes, which disagree.
    """
    a, b = pairs.a, pairs.b
    kind_a, kind_b = pairs.labels.of["kind"]
    in_b = {(b.graphs[b.graph[y]].name, node.id): y for y, node in enumerate(b.nodes)}
    step = max(1, len(a) // _SAMPLES)
    both = agreed = sum(len(a.program[name]) for name in a.same) // step
    for x in range(0, len(a), step):
        node = a.nodes[x]
        y = in_b.get((a.graphs[a.graph[x]].name, node.id))
        if y is None or not node.inputs:
            continue
        both += 1
        agreed += kind_a[x] == kind_b[y] and _operand_names(a, x) == _operand_names(b, y)
    return agreed >= both * _ENOUGH


def contradictions(pairs: Pairs) -> int:
    """How many nodes matched by name count as changed in any diff by these names, whatever else it matches.

    They have another type, or an operand whose name belongs to another node.
    """
    kind_a, kind_b = pairs.labels.of["kind"]
    count = 0
    for x, y in enumerate(pairs.counterpart_a):
        if y >= 0:
            count += kind_a[x] != kind_b[y] or _operands_contradict(pairs, pairs.a.operands[x], pairs.b.operands[y])
    return count


def _operands_contradict(pairs: Pairs, edges_a: list[int], edges_b: list[int]) -> bool:
    """Whether operands cannot be each other's counterparts. A free operand can still become a counterpart or a copy."""
    if len(edges_a) != len(edges_b):
        return True
    for edge_a, edge_b in zip(edges_a, edges_b, strict=True):
        counterpart = pairs.counterpart_b[edge_b // TAGS]
        if edge_a % TAGS != edge_b % TAGS or (counterpart >= 0 and counterpart != edge_a // TAGS):
            return True
    return False


def _operand_names(side: Side, i: int) -> list[str]:
    return [side.nodes[edge // TAGS].id for edge in side.operands[i]]


def _pair_if_same_op(pairs: Pairs, x: int, y: int, evidence: str) -> None:
    first, second = pairs.a.nodes[x], pairs.b.nodes[y]
    if first.op == second.op and first.role == second.role:
        pairs.pair(x, y, evidence)


def _once(named: list[tuple[str, int]]) -> dict[str, int]:
    """The names that occur once, with their numbers."""
    counts = Counter(name for name, _ in named)
    return {name: i for name, i in named if counts[name] == 1}
