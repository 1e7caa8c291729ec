"""The pairs matched so far, and two ways to match more: equal nodes in order, and scores from matched neighbours."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from opscope.recording.match.indexed_program import RESULTS, TAGS, Labels, Side
from opscope.recording.match.passing import is_element, is_rearranged, is_view
from opscope.recording.match.values import Sources, WorkIndex

FREE = -1
GROUPED = -2
"""The counterpart of a node in a group: it is not free, and not part of a pair."""
_MOST_CANDIDATES = 16
_SURE = 4
_MOST_VALUATIONS = 4
_MOST_USERS = 32
"""Of nodes with more users, it is not asked who these are."""
DEEPEST_VIEW = 8
CERTAIN = frozenset(("rewrite", "identity", "name"))
"""The evidence of pairs that nothing contradicts."""

K = TypeVar("K")


class Pairs:
    """Nodes (by number) and graphs of side a, with their counterparts on side b."""

    def __init__(self, a: Side, b: Side, labels: Labels, keeps_places: bool = False) -> None:
        self.a, self.b, self.labels = a, b, labels
        self._keeps_places = keeps_places
        """Whether a node of one layer or operation of the user's program is never one of another, unless names or the compiler say so."""
        self.counterpart_a = [FREE] * len(a)
        self.counterpart_b = [FREE] * len(b)
        self.name_a = [FREE] * len(a)
        self.name_b = [FREE] * len(b)
        """A common number for both nodes of a pair."""
        self.evidence: list[str] = [""] * len(a)
        self.graph_a = [FREE] * len(a.graphs)
        self.graph_b = [FREE] * len(b.graphs)
        self.work: WorkIndex | None = None
        """What no match changes in the search for copies: made once, dropped after matching."""
        self.valuations = _MOST_VALUATIONS
        """How often values can still be computed over whole programs."""
        self.across = False
        """Whether nodes can match across matched graphs; only after nothing more can be matched inside them."""
        self.current_evidence = "neighbourhood"
        self.rules: dict[int, str] = {}
        self.fresh: list[int] = []
        """Pairs whose neighbours have not been scored yet."""
        self._heap: list[tuple[int, int, int]] = []
        self._scores: dict[int, dict[int, int]] = {}
        self._candidates: dict[int, list[int]] = {}
        self._marked_by_user: set[int] = set()
        self._computed: tuple[Sources, Sources] | None = None

    def pair(self, x: int, y: int, evidence: str = "") -> int:
        """Match two nodes if both are free. Returns the number of new pairs, 0 or 1."""
        if self.counterpart_a[x] != FREE or self.counterpart_b[y] != FREE or not (evidence or self.may_be_same(x, y)):
            return 0
        self.counterpart_a[x], self.counterpart_b[y] = y, x
        self.name_a[x] = self.name_b[y] = x
        self.evidence[x] = evidence or self.current_evidence
        self.fresh.append(x)
        return 1

    def part(self, x: int, y: int) -> None:
        """Take back a match."""
        self.counterpart_a[x] = self.counterpart_b[y] = self.name_a[x] = self.name_b[y] = FREE
        self.evidence[x] = ""

    def may_be_same(self, x: int, y: int) -> bool:
        """A node of one compilation stays where it is. What was dead is not used again. Of parts of a value that has more or fewer of them
        now, only users know which is which."""
        if self.are_parts_of_others(x, y):
            return False
        if not self._keeps_places:
            return True
        others = self._takes_others(x, y) or self._is_for_others(x, y) or self._is_moved_view(x, y)
        return not (others or self.labels.elsewhere(x, y) or (self.a.is_dead(x) and not self.b.is_dead(y)))

    def are_parts_of_others(self, x: int, y: int) -> bool:
        """Whether two nodes are parts of values with another number of parts: the state of a loop to which something was added."""
        if not is_element(self.a.nodes[x].op):
            return False
        wholes = [[len(side.nodes[edge // TAGS].outputs) for edge in side.operands[i]] for side, i in ((self.a, x), (self.b, y))]
        return wholes[0] != wholes[1]

    def _takes_others(self, x: int, y: int) -> bool:
        """Whether all operands of both nodes surely stayed, and none is common: then one cannot be the other made anew. What is behind an
        operand that only rearranges a value counts too, because passes fold and insert such."""
        before = self._stayed(self.a, x, self.name_a)
        return bool(before) and bool(after := self._stayed(self.b, y, self.name_b)) and before.isdisjoint(after)

    def _is_moved_view(self, x: int, y: int) -> bool:
        """Whether a view took a value that surely stayed, and another takes something else, for other users: a pass that moves a reshape
        from before a sum to after it makes a new one, which has the value of the sum."""
        if not is_rearranged(self.a.nodes[x].op) or not (before := self._stayed(self.a, x, self.name_a)):
            return False
        users = {edge // TAGS for edge in self.b.users[y]}
        return before.isdisjoint(self._stayed(self.b, y, self.name_b)) and not any(
            self.counterpart_a[edge // TAGS] in users for edge in self.a.users[x]
        )

    def _is_for_others(self, x: int, y: int) -> bool:
        """Whether all users of both nodes surely stayed, and none is common: if one were the other made anew, they would take it."""
        before, after = self.a.users[x], self.b.users[y]
        if not before or not after or len(before) + len(after) > _MOST_USERS:
            return False
        users = {self.name_a[edge // TAGS] for edge in before}, {self.name_b[edge // TAGS] for edge in after}
        return users[0].isdisjoint(users[1]) and all(name != FREE and self.evidence[name] in CERTAIN for each in users for name in each)

    def _stayed(self, side: Side, i: int, name: Sequence[int]) -> set[int]:
        """The operands of a node, as common numbers of pairs, if all of them surely stayed, or rearrange what did; else an empty set."""
        stayed: set[int] = set()
        for edge in side.operands[i]:
            operand, known = edge // TAGS, False
            for _ in range(DEEPEST_VIEW):
                if name[operand] != FREE and self.evidence[name[operand]] in CERTAIN:
                    stayed.add(name[operand])
                    known = True
                elif self.across and side.nodes[operand].is_argument:  # a parameter of a new fusion is what its caller passes
                    passed = self._sources_of(side).of(operand * TAGS) // TAGS
                    if passed != operand:
                        operand = passed
                        continue
                if len(side.operands[operand]) != 1 or not is_view(side.nodes[operand].op):
                    break
                operand = side.operands[operand][0] // TAGS
            if not known:
                return set()
        return stayed

    def pair_graphs(self, ga: int, gb: int) -> bool:
        if self.graph_a[ga] != FREE or self.graph_b[gb] != FREE:
            return False
        self.graph_a[ga], self.graph_b[gb] = gb, ga
        return True

    @cached_property
    def uncalled(self) -> dict[int, list[int]]:
        """{content: graphs of b without callers}."""
        uncalled: dict[int, list[int]] = defaultdict(list)
        for g, callers in enumerate(self.b.callers):
            if not callers and self.b.graphs[g].name != self.b.program.entry:
                uncalled[self.labels.content[1][g]].append(g)
        return uncalled

    @cached_property
    def _duplicates(self) -> tuple[list[int], list[int]]:
        deep = self.labels.of["deep"]
        return _duplicates(self.a, deep[0]), _duplicates(self.b, deep[1])

    @cached_property
    def by_content(self) -> dict[int, list[int]]:
        """{content: graphs of a}."""
        by_content: dict[int, list[int]] = defaultdict(list)
        for g, content in enumerate(self.labels.content[0]):
            by_content[content].append(g)
        return by_content

    def free_a(self, among: Iterable[int]) -> list[int]:
        return [x for x in among if self.counterpart_a[x] == FREE]

    def free_b(self, among: Iterable[int]) -> list[int]:
        return [y for y in among if self.counterpart_b[y] == FREE]

    def by_class(
        self,
        xs: Sequence[int],
        keys_a: Sequence[K],
        ys: Sequence[int],
        keys_b: Sequence[K],
        most: int = 1 << 30,
        some: bool = False,
    ) -> int:
        """Match free nodes with equal keys, in order, if equally many nodes have the key on both sides.

        With `some`, also if fewer have it on side b: of several merged nodes, the first survives.
        """
        classes: dict[K, list[int]] = defaultdict(list)
        for x, key in zip(xs, keys_a, strict=True):
            if self.counterpart_a[x] == FREE:
                classes[key].append(x)
        members_b: dict[K, list[int]] = defaultdict(list)
        for y, key in zip(ys, keys_b, strict=True):
            if self.counterpart_b[y] == FREE and key in classes:
                members_b[key].append(y)
        new_pairs = 0
        for key, members in members_b.items():
            counterparts = classes[key]
            if len(counterparts) == len(members) <= most or (some and len(counterparts) > len(members)):
                for x, y in zip(counterparts, members, strict=False):
                    new_pairs += self.pair(x, y)
        return new_pairs

    def percolate(self, least: int = _SURE) -> int:
        """Let pairs propose pairs: every match raises the scores of its neighbours, and the best candidates are matched first.

        A candidate with a rival of equal score waits; those that are still waiting at the end are left to other phases.
        """
        new_pairs = 0
        waiting: list[tuple[int, int, int]] = []
        while True:
            self._spread()
            if not self._heap:
                break
            while self._heap and not self.fresh:
                entry = heapq.heappop(self._heap)
                score, x, y = -entry[0], entry[1], entry[2]
                if self.counterpart_a[x] != FREE or self.counterpart_b[y] != FREE or self._scores[x][y] != score:
                    continue
                if score < least or self._has_rival(x, y, score):
                    waiting.append(entry)
                else:
                    new_pairs += self.pair(x, y)
        self._heap = waiting
        heapq.heapify(self._heap)
        return new_pairs

    def _has_rival(self, x: int, y: int, score: int) -> bool:
        """Whether another candidate has the same score, or x is one of several equal nodes of which fewer are left. Users do not show which
        of them was removed, because they moved to another node."""
        duplicates_a, duplicates_b = self._duplicates
        if duplicates_a[x] > duplicates_b[y]:
            return True
        counterpart_a, counterpart_b, scores = self.counterpart_a, self.counterpart_b, self._scores
        if any(counterpart_b[z] == FREE and z != y and rival >= score for z, rival in scores[x].items()):
            return True
        return any(counterpart_a[z] == FREE and z != x and scores[z][y] >= score for z in self._candidates[y])

    def _mark(self, x: int, y: int, by_user: bool = False) -> None:
        """Raise the score of a pair because of one more matched neighbour.

        A rewrite moves the users of a node to another node. So users count only once, however many there are, and they are never enough
        to match a changed node.
        """
        if self.counterpart_a[x] != FREE or self.counterpart_b[y] != FREE:
            return
        labels = self.labels.of
        if labels["op"][0][x] != labels["op"][1][y]:
            return
        if not self.across and self.graph_a[self.a.graph[x]] != self.b.graph[y]:
            return
        if not self.may_be_same(x, y):
            return
        scores = self._scores.setdefault(x, {})
        if y not in scores:
            same_kind = labels["kind"][0][x] == labels["kind"][1][y]
            alike = sum(labels[level][0][x] == labels[level][1][y] for level in ("deep", "strict", "meant"))
            scores[y] = alike if same_kind else -2
            self._candidates.setdefault(y, []).append(x)
        if not by_user:
            scores[y] += 3
        elif x * len(self.b) + y in self._marked_by_user:
            return
        else:
            self._marked_by_user.add(x * len(self.b) + y)
            same = labels["strict"][0][x] == labels["strict"][1][y]
            scores[y] = scores[y] + 2 if same else max(scores[y], min(scores[y] + 1, _SURE - 1))
        heapq.heappush(self._heap, (-scores[y], x, y))

    def _spread(self) -> None:
        fresh, self.fresh = self.fresh, []
        for x in fresh:
            y = self.counterpart_a[x]
            operands_a, operands_b = self.a.operands[x], self.b.operands[y]
            if len(operands_a) == len(operands_b):
                for edge_a, edge_b in zip(operands_a, operands_b, strict=True):
                    if edge_a % TAGS == edge_b % TAGS:
                        self._mark(edge_a // TAGS, edge_b // TAGS, by_user=True)
                    if self.across:
                        self._mark_computed(edge_a, edge_b)
            self._spread_to_users(self.a.users[x], self.b.users[y])

    def _mark_computed(self, edge_a: int, edge_b: int) -> None:
        """Raise the score of what computes two operands, in other graphs: behind parameters, and inside calls."""
        one, other = self._sources_of(self.a).of(edge_a), self._sources_of(self.b).of(edge_b)
        if (one, other) != (edge_a, edge_b) and one % RESULTS == other % RESULTS:
            self._mark(one // TAGS, other // TAGS, by_user=True)

    def _sources_of(self, side: Side) -> Sources:
        if self._computed is None:
            self._computed = Sources(self.a), Sources(self.b)
        return self._computed[0 if side is self.a else 1]

    def _spread_to_users(self, users_a: list[int], users_b: list[int]) -> None:
        if not users_a or not users_b:
            return
        kind_a, kind_b = self.labels.of["op"]
        places: dict[int, tuple[list[int], list[int]]] = {}
        for edge in users_a:
            user = edge // TAGS
            if self.counterpart_a[user] == FREE:
                places.setdefault(kind_a[user] * TAGS + edge % TAGS, ([], []))[0].append(user)
        for edge in users_b:
            user = edge // TAGS
            if self.counterpart_b[user] == FREE:
                at = places.get(kind_b[user] * TAGS + edge % TAGS)
                if at is not None:
                    at[1].append(user)
        for xs, ys in places.values():
            self._mark_all(xs, ys)

    def _mark_all(self, xs: list[int], ys: list[int]) -> None:
        """Raise the scores of candidates from two sets: all combinations if there are few, otherwise those with equal strict labels."""
        if len(xs) * len(ys) <= _MOST_CANDIDATES:
            for x in xs:
                for y in ys:
                    self._mark(x, y)
            return
        strict_a, strict_b = self.labels.of["strict"]
        alike: dict[int, tuple[list[int], list[int]]] = {}
        for x in xs:
            alike.setdefault(strict_a[x], ([], []))[0].append(x)
        for y in ys:
            if strict_b[y] in alike:
                alike[strict_b[y]][1].append(y)
        for few_a, few_b in alike.values():
            if len(few_a) * len(few_b) <= _MOST_CANDIDATES:
                for x in few_a:
                    for y in few_b:
                        self._mark(x, y)


def _duplicates(side: Side, label: list[int]) -> list[int]:
    """For each node, how many nodes of its graph are the same on the same operands, including itself."""
    times = Counter(label)
    keys = {i: (side.graph[i], each, *side.operands[i]) for i, each in enumerate(label) if times[each] > 1}
    counts = Counter(keys.values())
    return [counts[keys[i]] if i in keys else 1 for i in range(len(side))]
