"""Whether the operands of a consumer changed places: then their positions do not say which replaced which.

A sum may have its operands in any order, and a select with the opposite condition has its branches exchanged. So where several operands
were replaced, each is compared with what is at its own position and at the others: what it is computed from, where it belongs in the
user's program, its type and operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from opscope.ops import facts_of
from opscope.program import Node
from opscope.recording.match.indexed_program import RESULTS, TAGS, Side
from opscope.recording.match.pairs import FREE, Pairs
from opscope.recording.match.values import Values, WorkIndex, passed

_FARTHEST = 32
"""So many nodes are looked at to find what a node is computed from."""
_FEW = 8
"""Of so many operands, all are compared with each other; of more, only those that have something in common."""
_SAME = 1e-9

Operand = tuple[int, int]
"""The position of an operand, and its node."""


def commutes(node: Node) -> bool:
    """Whether an operation may have its operands in any order."""
    facts = facts_of(node.op)
    return facts.unnumbered and facts.category == "elementwise"


class Exchanges:
    """`copies` are {node of b: the node of a that it is a copy of}."""

    def __init__(self, pairs: Pairs, copies: dict[int, int]) -> None:
        self._pairs = pairs
        self._copies = copies
        self._copied = set(copies.values())
        self._values: Values | None = None
        self._passed: dict[int, dict[int, int]] = {}
        self._sources: tuple[dict[int, frozenset[int]], dict[int, frozenset[int]]] = ({}, {})

    def doubtful(self, olds: Sequence[Operand], news: Sequence[Operand], in_any_order: bool) -> set[int]:
        """Which of the operands (by their number in both lists) may have been exchanged with another: those that are more like what is
        now at the other's position; and, if the order has no meaning, those that are equally like both."""
        count = len(olds)
        if count == 1 == len(news):
            return set()
        if [at for at, _ in olds] != [at for at, _ in news]:
            return set(range(count))
        doubtful: set[int] = set()
        likeness: dict[tuple[int, int], float] = {}

        def like(i: int, j: int) -> float:
            if (i, j) not in likeness:
                likeness[i, j] = self._likeness(olds[i][1], news[j][1])
            return likeness[i, j]

        for i, j in self._rivals(olds, news):
            if olds[i][1] == olds[j][1] or news[i][1] == news[j][1]:
                continue
            gain = like(i, j) + like(j, i) - like(i, i) - like(j, j)
            if gain > _SAME or (in_any_order and gain > -_SAME):
                doubtful.update((i, j))
        return doubtful

    def in_order(self, olds: Sequence[Operand], news: list[Operand]) -> list[Operand]:
        """The new operands of a sum in the order of the old ones, if both were exchanged: their places in the user's program say it, or, if
        these say nothing, what each of them is computed from."""
        if len(olds) != 2 or len(news) != 2:
            return news
        place_a, place_b = self._pairs.labels.place
        places = [place_a[x] for _, x in olds], [place_b[y] for _, y in news]
        sources = [self._sources_of(0, x) for _, x in olds], [self._sources_of(1, y) for _, y in news]
        by_place = _is_crossed(*places)
        by_source = _is_crossed(*sources) and (places[0] == places[1][::-1] or not (any(places[0]) and any(places[1])))
        return [(at, y) for (at, _), (_, y) in zip(olds, reversed(news), strict=True)] if by_place or by_source else news

    def _rivals(self, olds: Sequence[Operand], news: Sequence[Operand]) -> Iterator[tuple[int, int]]:
        """Pairs of operands that may have been exchanged."""
        count = len(olds)
        if count <= _FEW:
            yield from ((i, j) for i in range(count) for j in range(i))
            return
        positions: dict[int, list[int]] = defaultdict(list)
        for j, (_, y) in enumerate(news):
            for mark in self._marks(1, y):
                if len(positions[mark]) < _FEW:
                    positions[mark].append(j)
        for i, (_, x) in enumerate(olds):
            yield from ((i, j) for j in dict.fromkeys(j for mark in self._marks(0, x) for j in positions.get(mark, ())) if i != j)

    def _marks(self, which: int, i: int) -> list[int]:
        """What a node has in common with its replacement: values that it is computed from, and its place."""
        place = self._pairs.labels.place[which][i]
        return [*self._sources_of(which, i), *([~place] if place else [])]

    def _likeness(self, x: int, y: int) -> float:
        pairs, labels = self._pairs, self._pairs.labels
        origin = self._origin(y)
        if origin >= 0 and self._has_same_value(x, origin):
            return 4
        before, after = self._sources_of(0, x), self._sources_of(1, y)
        common = len(before & after) / len(before | after) if before or after else 0
        place_a, place_b = labels.place
        same_place = place_a[x] == place_b[y] != 0
        same_type = pairs.a.nodes[x].outputs == pairs.b.nodes[y].outputs
        same_op = labels.of["op"][0][x] == labels.of["op"][1][y]
        return common + same_place - labels.in_other_layers(x, y) + same_type / 2 + same_op / 4

    def _has_same_value(self, x: int, other: int) -> bool:
        """Whether two nodes of a compute the same."""
        if self._values is None:
            work = self._pairs.work or WorkIndex(self._pairs.a, self._pairs.b, self._pairs.labels.of["work"][0])
            self._values = work.a
        return self._values.value[x] == self._values.value[other]

    def _origin(self, y: int) -> int:
        """The node of a that a node of b is, or is a copy of."""
        return self._copies.get(y, self._pairs.counterpart_b[y])

    def _stayed(self, x: int) -> int:
        return x if self._pairs.counterpart_a[x] != FREE or x in self._copied else FREE

    def _sources_of(self, which: int, i: int) -> frozenset[int]:
        """The nodes that stayed, by their numbers in a, from which a node is computed; if it stayed itself, that is all."""
        memo = self._sources[which]
        if i not in memo:
            side, stayed = ((self._pairs.a, self._stayed), (self._pairs.b, self._origin))[which]
            memo[i] = frozenset(self._walk(which, side, stayed, i))
        return memo[i]

    def _walk(self, which: int, side: Side, stayed: Callable[[int], int], start: int) -> Iterator[int]:
        waiting, seen = [(start, -1)], {(start, -1)}
        while waiting and len(seen) <= _FARTHEST:
            i, part = waiting.pop()
            number = stayed(i)
            if number >= 0:
                yield number
                continue
            for before in self._takes(which, side, i, part):
                if before not in seen:
                    seen.add(before)
                    waiting.append(before)

    def _takes(self, which: int, side: Side, i: int, part: int) -> list[tuple[int, int]]:
        """The values (node, and which of its results) that one result of a node is computed from."""
        node, operands = side.nodes[i], [_value(edge) for edge in side.operands[i]]
        if node.is_argument:
            if which not in self._passed:
                self._passed[which] = passed(side)
            return [_value(self._passed[which][i])] if i in self._passed[which] else []
        if part < 0 or len(node.outputs) < 2:
            return operands
        if side.calls[i]:
            g = side.calls[i][0]
            outputs = side.graphs[g].outputs
            if len(side.calls[i]) > 1 or len(outputs) != 1 or not side.members(g):
                return operands
            return [(side.first[g] + side.graphs[g].position[outputs[0][0]], part)]
        each, rest = divmod(len(operands), len(node.outputs))
        return operands if rest else operands[part * each : (part + 1) * each]


def _is_crossed(before: Sequence[object], after: Sequence[object]) -> bool:
    """Whether what is known about two operands is known about the other one now."""
    return before[0] == after[1] and before[1] == after[0] and before[0] != before[1] and all(before)


def _value(edge: int) -> tuple[int, int]:
    return edge // TAGS, edge % RESULTS - 1
