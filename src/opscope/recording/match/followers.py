"""Matching what follows a change between two compilations: operations on a changed value have other types, and are the same operations."""

from __future__ import annotations

from collections.abc import Container

from opscope.recording.match.indexed_program import TAGS, Side
from opscope.recording.match.pairs import FREE, Pairs


def match_followers(pairs: Pairs, copied: Container[int], copies: Container[int]) -> None:
    """Match operations that take a matched value as the same operand, each the only one of its kind to take it, whatever their types are:
    with twice as many heads, all that is computed from the keys has other shapes.

    `copied` nodes of a, and their `copies` in b, have each other. Other operands may differ, unless one of them is matched elsewhere.
    """
    op_a, op_b = pairs.labels.of["op"]
    pairs.current_evidence = "slot"
    waiting = [x for x, y in enumerate(pairs.counterpart_a) if y >= 0]
    for x in waiting:  # grows
        for by_settings in (True, False):  # of the users that are left, the only one may have other attributes
            users_a = _only_users(pairs, pairs.a, x, op_a, pairs.counterpart_a, copied, by_settings)
            if not users_a:
                break
            users_b = _only_users(pairs, pairs.b, pairs.counterpart_a[x], op_b, pairs.counterpart_b, copies, by_settings)
            for key, one in users_a.items():
                other = users_b.get(key, -1)
                if one < 0 or other < 0 or pairs.labels.elsewhere(one, other) or _takes_others(pairs, one, other):
                    continue
                if pairs.pair(one, other):
                    waiting.append(one)
    pairs.current_evidence = "neighbourhood"


def _only_users(
    pairs: Pairs, side: Side, node: int, op: list[int], counterpart: list[int], taken: Container[int], by_settings: bool
) -> dict[tuple[int, int], int]:  # fmt: skip
    """The free users of a node by op and operand, perhaps also by the attributes that affect the result; -1 where there are several."""
    users: dict[tuple[int, int], int] = {}
    for edge in side.users[node]:
        user = edge // TAGS
        if counterpart[user] == FREE and user not in taken:
            key = op[user] * TAGS + edge % TAGS, pairs.labels.settings(side.nodes[user]) if by_settings else 0
            users[key] = -1 if key in users else user
    return users


def _takes_others(pairs: Pairs, x: int, y: int) -> bool:
    """Whether an operand of one is matched with something that is not that operand of the other, which is matched too."""
    operands_a, operands_b = pairs.a.operands[x], pairs.b.operands[y]
    if len(operands_a) != len(operands_b):
        return True
    for edge_a, edge_b in zip(operands_a, operands_b, strict=True):
        a, b = edge_a // TAGS, edge_b // TAGS
        if pairs.counterpart_a[a] >= 0 and pairs.counterpart_b[b] >= 0 and pairs.counterpart_a[a] != b:
            return True
    return False
