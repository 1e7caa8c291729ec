"""Finds copies: nodes of b that compute the value of a node of a, in addition to its counterpart.

Fusing and inlining copy nodes into other graphs. A copy is recognized by its value: the same operation on the same values.
"""

from __future__ import annotations

from opscope.recording.match.pairs import FREE, Pairs
from opscope.recording.match.values import WorkIndex

_MOST_CANDIDATES = 64
"""Of this many equal nodes of a, the first that is still free is used."""


def derive(pairs: Pairs) -> dict[int, int]:
    """{node of b: node of a} for free nodes of b."""
    a, b = pairs.a, pairs.b
    if FREE not in pairs.counterpart_b:
        return {}
    if pairs.work is None:
        pairs.work = WorkIndex(a, b, pairs.labels.of["work"][0])
    work_b = pairs.labels.of["work"][1]
    values_a, values_b, by_work = pairs.work.a, pairs.work.b, pairs.work.by_work
    values_b.forget()
    copies: dict[int, int] = {}
    used: set[int] = set()
    for y in values_b.in_order:
        x = pairs.counterpart_b[y]
        if x == FREE and not b.nodes[y].is_argument:
            same = by_work.get((work_b[y], values_b.operands(y)), [])
            x = next((x for x in same[:_MOST_CANDIDATES] if pairs.counterpart_a[x] == FREE and x not in used), same[0] if same else FREE)
            if x != FREE:
                copies[y] = x
                used.add(x)
        values_b.set(y, values_a.value[x] if x >= 0 else FREE)
    return copies
