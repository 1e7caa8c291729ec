"""Finds copies: nodes of b that compute the value of a node of a, in addition to its counterpart.

Fusing and inlining copy nodes into other graphs. A copy is recognized by its value: the same operation on the same values. A constant has
no operands, and many are equal: it is a copy only of one from the graph that it was taken from.
"""

from __future__ import annotations

from collections.abc import Sequence

from opscope.recording.match.pairs import FREE, Pairs
from opscope.recording.match.values import Work, WorkIndex

_MOST_CANDIDATES = 64
"""Of this many equal nodes of a, the first that is still free is used."""
_FARTHEST = 16
"""Through so many callers, the graph is looked for that a new graph was taken from."""


def derive(pairs: Pairs) -> dict[int, int]:
    """{node of b: node of a} for free nodes of b."""
    b = pairs.b
    if FREE not in pairs.counterpart_b:
        return {}
    if pairs.work is None:
        pairs.work = WorkIndex(pairs.a, b, pairs.labels.of["work"][0])
    work_b = pairs.labels.of["work"][1]
    values_a, values_b, by_work = pairs.work.a, pairs.work.b, pairs.work.by_work
    values_b.forget()
    constants = _Constants(pairs)
    copies: dict[int, int] = {}
    used: set[int] = set()
    same: list[int]
    for y in values_b.in_order:
        x, same = pairs.counterpart_b[y], []
        if x == FREE and not b.nodes[y].is_argument:
            work = work_b[y], values_b.operands(y)
            same = by_work.get(work, [])
            if work[1] or not same:
                free = (x for x in same[:_MOST_CANDIDATES] if pairs.counterpart_a[x] == FREE and x not in used)
                x = next(free, same[0] if same else FREE)
            else:
                x = constants.origin(y, work, same)
            if x != FREE:
                copies[y] = x
                used.add(x)
        # An equal constant has the same value, wherever it is from.
        values_b.set(y, values_a.value[x] if x >= 0 else values_a.value[same[0]] if same else FREE)
    return copies


class _Constants:
    """Where a new constant was taken from: the same place of an equal graph, the graph around a fusion, or a graph that was inlined."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._twins: dict[int, int] = {}
        for g, content in enumerate(pairs.labels.content[0]):
            self._twins.setdefault(content, g)
        self._by_graph: dict[Work, dict[int, list[int]]] = {}
        self._waiting: dict[tuple[Work, int, bool], list[int]] = {}
        self._by_place: dict[tuple[Work, int], dict[int, int]] = {}

    def origin(self, y: int, work: Work, same: Sequence[int]) -> int:
        """An equal constant of a; FREE if there is none that it can be taken from."""
        a, b, pairs = self._pairs.a, self._pairs.b, self._pairs
        graphs = self._by_graph.get(work)
        if graphs is None:
            graphs = self._by_graph[work] = {}
            for x in same:
                graphs.setdefault(a.graph[x], []).append(x)
        gb = b.graph[y]
        twin = self._twins.get(pairs.labels.content[1][gb], FREE)
        if twin in graphs:
            x = a.first[twin] + y - b.first[gb]
            if pairs.labels.of["work"][0][x] == work[0]:
                return x
        home, stays = self._around(gb), pairs.graph_b[gb] != FREE
        place_a, place_b = pairs.labels.place
        waiting = self._waiting.get((work, home, stays))
        if waiting is None:
            among = [*graphs.get(home, ()), *(x for g, xs in graphs.items() if stays and self._goes_to(g, home) for x in xs)]
            waiting = self._waiting[work, home, stays] = pairs.free_a(among)[::-1]
        if waiting:
            last = len(waiting) - 1
            at = next((i for i in range(last, max(-1, last - _MOST_CANDIDATES), -1) if place_a[waiting[i]] == place_b[y]), last)
            return waiting.pop(at)
        if stays:  # beside one that stays in the same graph, an equal constant is a new one
            return FREE
        here = graphs.get(home, [])
        by_place = self._by_place.get((work, home))
        if by_place is None:
            by_place = self._by_place[work, home] = {place_a[x]: x for x in reversed(here)}
        return by_place.get(place_b[y], here[0] if len(here) == 1 else FREE)

    def _goes_to(self, ga: int, home: int) -> bool:
        """Whether a graph is gone that the other one called, perhaps through others: it was inlined."""
        for _ in range(_FARTHEST):
            callers = self._pairs.a.callers[ga]
            if ga == home or self._pairs.graph_a[ga] != FREE or not callers:
                break
            ga = self._pairs.a.graph[callers[0]]
            if ga == home:
                return True
        return False

    def _around(self, gb: int) -> int:
        """The graph of a whose counterpart is the graph of b, or the nearest one that leads to it."""
        for _ in range(_FARTHEST):
            callers = self._pairs.b.callers[gb]
            if self._pairs.graph_b[gb] != FREE or not callers:
                break
            gb = self._pairs.b.graph[callers[0]]
        return self._pairs.graph_b[gb]
