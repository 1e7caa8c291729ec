"""Blocks that may begin in the middle of a layer.

A chain of layers a m a m … can be cut before every a or before every m. If a compiler fuses the first a with the embedding and the last m
with the loss, the blocks that are left are m a, m a, …: each has parts of two layers. Then something like the end of a block is before
the first one, and something like its beginning after the last. Nothing says which halves belong together, so no blocks are better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from opscope.analysis.structure.blocks import Family
from opscope.analysis.structure.wiring import Wiring

_FEWEST = 3
_LEAST_SHARE = 0.2
"""Of the operations of a block, so many are like some before the first one."""
_REACH = 4
"""How many nodes around the blocks are read, for each node of one."""


def is_rotated(wiring: Wiring, family: Family) -> bool:
    """Whether blocks could as well be cut at another place, so that each of them may have parts of two layers."""
    kinds = [wiring.kind[node] for node in family.nodes(family.typical) if wiring.is_op[node]]
    before = _kinds_beyond(wiring, family, 0, lambda node: [source for source, _ in wiring.operands[node]])
    ends = sum(kind in before for kind in kinds)
    if ends < max(_FEWEST, _LEAST_SHARE * len(kinds)):
        return False
    after = _kinds_beyond(wiring, family, family.count - 1, lambda node: [user for user, _, _ in wiring.users[node]])
    return sum(kind in after and kind not in before for kind in kinds) >= _FEWEST


def _kinds_beyond(wiring: Wiring, family: Family, block: int, neighbours: Callable[[int], Iterable[int]]) -> set[int]:
    """What the operations are that lead to a block, or that it leads to, as many as are near."""
    inside = {node for row in family.rows for node in row}
    beyond = dict.fromkeys(other for node in family.nodes(block) for other in neighbours(node) if other not in inside)
    found = list(beyond)
    for node in found:  # grows while it is read
        if len(found) >= _REACH * len(family.rows):
            break
        for other in neighbours(node):
            if other not in inside and other not in beyond:
                beyond[other] = None
                found.append(other)
    return {wiring.kind[node] for node in found if wiring.is_op[node]}
