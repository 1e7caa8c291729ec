"""Sequences of numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable


def longest_increasing(numbers: Iterable[int]) -> list[int]:
    """Positions of a longest increasing subsequence (patience sorting)."""
    tails: list[int] = []
    tail_at: list[int] = []
    before: list[int] = []
    for i, number in enumerate(numbers):
        at = bisect_left(tails, number)
        before.append(tail_at[at - 1] if at else -1)
        if at == len(tails):
            tails.append(number)
            tail_at.append(i)
        else:
            tails[at] = number
            tail_at[at] = i
    positions: list[int] = []
    i = tail_at[-1] if tail_at else -1
    while i >= 0:
        positions.append(i)
        i = before[i]
    return positions[::-1]
