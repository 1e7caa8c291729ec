"""Nodes that were merged into another: a bias add into its matmul, a transpose into its dot.

The node is gone, its only user is still there, and that user now has the node's operands, of which it did not have one before. Then both
nodes became the one that is left.
"""

from __future__ import annotations

from opscope.recording.match.indexed_program import TAGS
from opscope.recording.match.pairs import FREE, Pairs


def absorbed(pairs: Pairs) -> dict[int, int]:
    """{node of a that is gone: node of b that it was merged into}."""
    merged: dict[int, int] = {}
    a, b = pairs.a, pairs.b
    for x in range(len(a) - 1, -1, -1):
        if pairs.counterpart_a[x] != FREE or not a.operands[x]:
            continue
        users = {edge // TAGS for edge in a.users[x]}
        into = {merged.get(user, pairs.counterpart_a[user]) for user in users}
        if len(into) != 1 or (y := into.pop()) < 0:
            continue
        operands = {edge // TAGS for edge in b.operands[y]}
        gained = operands - {pairs.counterpart_a[edge // TAGS] for edge in a.operands[pairs.counterpart_b[y]]}
        counterparts = {pairs.counterpart_a[edge // TAGS] for edge in a.operands[x]}
        if gained & counterparts and all(counterpart in operands or counterpart == FREE for counterpart in counterparts):
            merged[x] = y
    return merged
