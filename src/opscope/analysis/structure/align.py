"""Which member of each orbit is in which block.

Most orbits have one member in each block. Some go further: the normalization after the last layer looks like the one that begins each
layer, and the sum before the first layer like the one that ends each. They are placed so that as few values as possible cross from block
to block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations

from opscope.analysis.structure.wiring import Wiring

ABSENT = -1
_MOST_ABSENT = 2
"""An orbit may lack so many blocks: compilers fuse the ends of a chain in other ways than its middle."""

_MOST_CANDIDATES = 3
_MOST_CUTS = 120

Row = list[int]
"""The same node in every block; ABSENT where a block has none."""


def align(wiring: Wiring, orbits: list[list[int]], count: int) -> list[Row]:
    return _Alignment(wiring, [orbit for orbit in orbits if len(orbit) >= max(2, count - _MOST_ABSENT)], count).rows()


class _Alignment:
    def __init__(self, wiring: Wiring, orbits: list[list[int]], count: int) -> None:
        self._wiring = wiring
        self._orbits = orbits
        self._count = count
        self._place = {node: (number, i) for number, orbit in enumerate(orbits) for i, node in enumerate(orbit)}
        self._first: dict[int, int] = {number: 0 for number, orbit in enumerate(orbits) if len(orbit) == count}
        """For each orbit with a place, the block of its first member; it may be before the first block."""

    def rows(self) -> list[Row]:
        for cluster in self._clusters():
            self._settle(cluster)
        rows = []
        for number, first in self._first.items():
            row = [ABSENT] * self._count
            for i, node in enumerate(self._orbits[number], first):
                if 0 <= i < self._count:
                    row[i] = node
            if row.count(ABSENT) <= min(_MOST_ABSENT, self._count - 1):  # of two blocks, it may be in none
                rows.append(row)
        return rows

    def _typical(self, number: int) -> tuple[int, int]:
        """A member that stands for all of an orbit, and its place in it."""
        i = len(self._orbits[number]) // 2
        return self._orbits[number][i], i

    def _neighbours(self, number: int) -> Iterator[tuple[int, int]]:
        """The orbits next to one, each with how much later they have to begin for the value between them not to cross."""
        node, i = self._typical(number)
        around = [source for source, _ in self._wiring.operands[node]]
        around += [user for user, _, _ in self._wiring.users[node]]
        for other in around:
            if other in self._place:
                neighbour, j = self._place[other]
                yield neighbour, i - j

    def _clusters(self) -> list[list[int]]:
        """Connected orbits of one length that have no place yet. Among themselves they begin in the same block."""
        clusters = []
        done: set[int] = set(self._first)
        for start in range(len(self._orbits)):
            if start in done:
                continue
            done.add(start)
            cluster = [start]
            for number in cluster:  # grows while it is read
                for neighbour, _ in self._neighbours(number):
                    if neighbour not in done and len(self._orbits[neighbour]) == len(self._orbits[start]):
                        done.add(neighbour)
                        cluster.append(neighbour)
            clusters.append(cluster)
        return sorted(clusters, key=len, reverse=True)

    def _settle(self, cluster: list[int]) -> None:
        """Place a cluster: its beginning with one neighbour, the rest with the other, cut where the fewest values cross."""
        begins: Counter[int] = Counter()
        for number in cluster:
            for neighbour, later in self._neighbours(number):
                if neighbour in self._first:
                    begins[self._first[neighbour] - later] += 1
        if not begins:
            return
        order = sorted(cluster, key=lambda number: self._typical(number)[0])
        candidates = [begin for begin, _ in begins.most_common(_MOST_CANDIDATES)]
        values = {*cluster, *(neighbour for number in cluster for neighbour, _ in self._neighbours(number))}
        users = {number: self._users(number) for number in values}
        best: tuple[int, dict[int, int]] | None = None
        for early, late in permutations(candidates, 2) if len(candidates) > 1 else [(candidates[0], candidates[0])]:
            for cut in range(len(order) + 1) if len(order) <= _MOST_CUTS else (0, len(order)):
                trial = {number: early if i < cut else late for i, number in enumerate(order)}
                crossing = self._crossing(users, trial)
                if best is None or crossing < best[0]:
                    best = crossing, trial
        assert best is not None
        self._first.update(best[1])

    def _users(self, number: int) -> list[tuple[int, int]]:
        """The orbits that use an orbit's value, each with how much later it has to begin for the value not to cross."""
        node, i = self._typical(number)
        return [(self._place[user][0], i - self._place[user][1]) for user, _, _ in self._wiring.users[node] if user in self._place]

    def _crossing(self, users: dict[int, list[tuple[int, int]]], trial: dict[int, int]) -> int:
        """How many values are used in another block than the one in which they are computed."""
        crossing = 0
        for number, uses in users.items():
            first = trial.get(number, self._first.get(number))
            if first is None:
                continue
            for user, later in uses:
                other = trial.get(user, self._first.get(user))
                if other is not None and other != first + later:
                    crossing += 1
                    break
        return crossing
