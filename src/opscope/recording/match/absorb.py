"""Nodes that were merged into another: a bias add into its matmul, a transpose into its dot.

The node is gone, its only user is still there, and that user now has the node's operands, of which it did not have one before. Then both
nodes became the one that is left. Users that do the same count as one, because passes merge them. If a new node does the same at the same
place of the user's program, the node rather became that one. If the user does exactly what it did before, the node was left out: it did
nothing, or nothing more.
"""

from __future__ import annotations

from opscope.recording.match.indexed_program import TAGS
from opscope.recording.match.pairs import FREE, Pairs


def absorbed(pairs: Pairs) -> dict[int, int]:
    """{node of a that is gone: node of b that it was merged into}."""
    merged: dict[int, int] = {}
    a, b = pairs.a, pairs.b
    op_a, op_b = pairs.labels.of["op"]
    work_a, work_b = pairs.labels.of["work"]
    place_a, place_b = pairs.labels.place
    name_a, name_b = pairs.labels.op_name
    new = pairs.free_b(range(len(b)))
    made_anew = {(op_b[y], place_b[y]) for y in new if place_b[y]}
    named_anew = {(op_b[y], name_b[y]) for y in new if name_b[y]}
    for x in range(len(a) - 1, -1, -1):
        if pairs.counterpart_a[x] != FREE or not a.operands[x]:
            continue
        if (op_a[x], place_a[x]) in made_anew or (op_a[x], name_a[x]) in named_anew:
            continue
        users = {edge // TAGS for edge in a.users[x]}
        stay = {(work_a[user], *a.operands[user]): user for user in users if pairs.counterpart_a[user] >= 0}
        same = {stay.get((work_a[user], *a.operands[user]), user) for user in users}
        into = {merged.get(user, pairs.counterpart_a[user]) for user in same}
        if len(into) != 1 or (y := into.pop()) < 0 or work_a[pairs.counterpart_b[y]] == work_b[y]:
            continue
        operands = {edge // TAGS for edge in b.operands[y]}
        gained = operands - {pairs.counterpart_a[edge // TAGS] for edge in a.operands[pairs.counterpart_b[y]]}
        counterparts = {pairs.counterpart_a[edge // TAGS] for edge in a.operands[x]}
        if gained & counterparts and all(counterpart in operands or counterpart == FREE for counterpart in counterparts):
            merged[x] = y
    return merged
