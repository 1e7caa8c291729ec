"""The map that shifts each repeat onto the next, and its orbits: the same node in every repeat.

Operations that look alike with what is around them, equally often, are the start: the k-th is mapped to the k+1-th. From there the map
grows along operands and users wherever kind and place agree, so that it reaches the first and the last repeat, whose surroundings
differ. It does not read names, and it takes time linear in the edges that it passes.
"""

from __future__ import annotations

import itertools
from collections import Counter, deque
from collections.abc import Iterable, Mapping

from opscope.analysis.structure.wiring import Wiring

_HUB = 64
"""The map does not grow from a value to its users if there are more than this."""
_MOST_LENGTHS = 2

Classes = dict[int, list[list[int]]]
"""By count, the classes with so many operations that look alike."""


def classes_by_count(wiring: Wiring, label: Mapping[int, int], members: Iterable[int]) -> Classes:
    alike: dict[int, list[int]] = {}
    for node in members:
        if node in label:
            alike.setdefault(label[node], []).append(node)
    classes: Classes = {}
    for nodes in alike.values():
        if len(nodes) > 1:
            nodes.sort(key=lambda node: (wiring.depth[node], node))
            classes.setdefault(len(nodes), []).append(nodes)
    return classes


def _evenness(wiring: Wiring, nodes: list[int]) -> tuple[int, int]:
    """Sorts classes: first those whose members follow each other at equal distances, which are surely in the order of the repeats."""
    depths = [wiring.depth[node] for node in nodes]
    gaps = {after - before for before, after in itertools.pairwise(depths)}
    return (0 if len(gaps) == 1 and 0 not in gaps else 1 if 0 not in gaps else 2, nodes[0])


class Shift:
    """The map, grown from the classes of one count within the `free` nodes."""

    def __init__(self, wiring: Wiring, label: Mapping[int, int], free: bytearray) -> None:
        self._wiring = wiring
        self._label = label
        self._free = free
        self._next: dict[int, int] = {}
        self._previous: dict[int, int] = {}
        self.work = 0

    def grow(self, classes: list[list[int]]) -> None:
        """Grow from one class after the other, so that orders that contradict each other are not mixed."""
        for nodes in sorted(classes, key=lambda nodes: _evenness(self._wiring, nodes)):
            if any(node in self._next or node in self._previous for node in nodes):
                continue
            queue: deque[tuple[int, int]] = deque()
            for pair in itertools.pairwise(nodes):
                self._pair(*pair, queue)
            while queue:
                self._grow_from(*queue.popleft(), queue)

    def _pair(self, node: int, following: int, queue: deque[tuple[int, int]]) -> None:
        if node == following or node in self._next or following in self._previous:
            return
        kind = self._wiring.kind
        if kind[node] != kind[following] or not (self._free[node] and self._free[following]) or self._next.get(following) == node:
            return
        self._next[node] = following
        self._previous[following] = node
        queue.append((node, following))

    def _grow_from(self, node: int, following: int, queue: deque[tuple[int, int]]) -> None:
        operands, users = self._wiring.operands, self._wiring.users
        for (source, index), (other, other_index) in zip(operands[node], operands[following], strict=True):
            if index == other_index:
                self._pair(source, other, queue)
        mine, others = users[node], users[following]
        self.work += len(mine) + len(others) + len(operands[node])
        if len(mine) > _HUB or len(others) > _HUB:
            return
        if len(mine) == 1 and len(others) == 1:
            if mine[0][1:] == others[0][1:]:
                self._pair(mine[0][0], others[0][0], queue)
            return
        for key in (self._by_surroundings, self._by_kind):
            sides = (key(mine), key(others))
            for place, candidates in sides[0].items():
                counterparts = sides[1].get(place, ())
                if len(candidates) == len(counterparts) == 1:
                    self._pair(candidates[0], counterparts[0], queue)

    def _by_surroundings(self, users: list[tuple[int, int, int]]) -> dict[tuple[int, int, int], list[int]]:
        sides: dict[tuple[int, int, int], list[int]] = {}
        for user, slot, index in users:
            if user in self._label:
                sides.setdefault((self._label[user], slot, index), []).append(user)
        return sides

    def _by_kind(self, users: list[tuple[int, int, int]]) -> dict[tuple[int, int, int], list[int]]:
        sides: dict[tuple[int, int, int], list[int]] = {}
        for user, slot, index in users:
            sides.setdefault((self._wiring.kind[user], slot, index), []).append(user)
        return sides

    def orbits(self) -> list[list[int]]:
        """Nodes that the map leads through, one after the other."""
        orbits = []
        for start in self._next:
            if start in self._previous:
                continue
            orbit = [start]
            while (following := self._next.get(orbit[-1])) is not None:
                orbit.append(following)
            orbits.append(orbit)
        return orbits


def usual_lengths(wiring: Wiring, orbits: list[list[int]]) -> list[int]:
    """The lengths of the orbits with the most operations. The ends of a chain make some orbits longer than there are repeats."""
    nodes: Counter[int] = Counter()
    for orbit in orbits:
        if wiring.is_op[orbit[0]]:
            nodes[len(orbit)] += len(orbit)
    return [length for length, _ in nodes.most_common(_MOST_LENGTHS)]
