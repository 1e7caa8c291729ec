"""Aligns two sequences of labels: the kernels that ran, and the launches that the schedule expects. Near-linear in their length.

A label that occurs equally often in both is paired in order; the longest chain of such pairs that does not cross is kept. What lies
between two of them is short, and is aligned by the least cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from opscope.sequences import longest_increasing

_SKIP_LAUNCH, _SKIP_KERNEL, _WRONG = 1.2, 1.6, 9.0
_LARGEST_GAP = 1 << 20
"""The largest table for the least cost; a larger gap stays unaligned."""


def align(kernels: Sequence[str], launches: Sequence[str]) -> list[int | None]:
    """For each kernel, the index of its launch, or None. An empty label fits nothing."""
    placed: list[int | None] = [None] * len(kernels)
    anchors = [(-1, -1), *_anchors(kernels, launches), (len(kernels), len(launches))]
    for kernel, launch in anchors[1:-1]:
        placed[kernel] = launch
    for (first_kernel, first_launch), (last_kernel, last_launch) in pairwise(anchors):
        _fill(kernels, launches, (first_kernel + 1, last_kernel), (first_launch + 1, last_launch), placed)
    return placed


def _anchors(kernels: Sequence[str], launches: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs (kernel, launch), both increasing."""
    places: dict[str, tuple[list[int], list[int]]] = {}
    for side, labels in enumerate((kernels, launches)):
        for i, label in enumerate(labels):
            if label:
                places.setdefault(label, ([], []))[side].append(i)
    pairs = sorted(pair for mine, theirs in places.values() if len(mine) == len(theirs) for pair in zip(mine, theirs, strict=True))
    return [pairs[i] for i in longest_increasing(launch for _, launch in pairs)]


def _fill(
    kernels: Sequence[str], launches: Sequence[str], mine: tuple[int, int], theirs: tuple[int, int], placed: list[int | None]
) -> None:
    """Align what lies between two anchors."""
    (first, last), (start, stop) = mine, theirs
    rows, columns = stop - start, last - first
    if not rows or not columns or rows * columns > _LARGEST_GAP:
        return
    best = [[j * _SKIP_KERNEL for j in range(columns + 1)]]
    for i in range(1, rows + 1):
        above = best[-1]
        row = [i * _SKIP_LAUNCH]
        label = launches[start + i - 1]
        for j in range(1, columns + 1):
            price = 0.0 if kernels[first + j - 1] == label else _WRONG
            row.append(min(above[j - 1] + price, above[j] + _SKIP_LAUNCH, row[j - 1] + _SKIP_KERNEL))
        best.append(row)
    i, j = rows, columns
    while i and j:
        if best[i][j] == best[i][j - 1] + _SKIP_KERNEL:  # of two that fit, the first is meant
            j -= 1
        elif kernels[first + j - 1] == launches[start + i - 1] and best[i][j] == best[i - 1][j - 1]:
            i, j = i - 1, j - 1
            placed[first + j] = start + i
        else:
            i -= 1
