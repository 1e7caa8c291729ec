"""Blocks that are equal, from the rows of nodes that repeat: connected, convex, and wired alike.

A family of blocks can be drawn as one block only if nothing outside takes from one of them and feeds another: rows for which that is
not so are removed, or belong to a later family (the backward half of a layer, which the loss separates from the layer).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from opscope.analysis.structure.align import ABSENT, Row
from opscope.analysis.structure.wiring import Wiring

_MOST_ROUNDS = 8
_FEWEST_OPS = 2
_FEWEST_OPS_IN_ALL = 12


@dataclass(frozen=True)
class Family:
    """Blocks of the same content."""

    rows: list[Row]
    """Each has one node of every block, in the order of the graph."""
    odd: frozenset[int]
    """Blocks at the ends that differ from the others."""
    after: int = ABSENT
    """A node of the family whose blocks keep most of what these take, if these are of a later stage."""

    @property
    def count(self) -> int:
        return len(self.rows[0])

    @property
    def typical(self) -> int:
        """A block that has what all equal ones have."""
        return next((block for block in range(self.count) if block not in self.odd), 0)

    def nodes(self, block: int) -> list[int]:
        return [row[block] for row in self.rows if row[block] != ABSENT]

    @property
    def worth(self) -> float:
        """How many nodes it explains: those of a block that differs count half."""
        return sum(len(self.nodes(block)) * (0.5 if block in self.odd else 1) for block in range(self.count))


def families(wiring: Wiring, members: list[int], rows: list[Row]) -> list[Family]:
    """The families among the rows: of those that are in every block, or of all, whichever explains more."""
    whole = [row for row in rows if ABSENT not in row]
    best = _Blocks(wiring, members, whole).families()
    if len(whole) < len(rows):
        other = _Blocks(wiring, members, rows).families()
        if sum(family.worth for family in other) > sum(family.worth for family in best):
            best = other
    return best


class _Blocks:
    def __init__(self, wiring: Wiring, members: list[int], rows: list[Row], is_part: bool = False) -> None:
        self._wiring = wiring
        self._members = members
        self._rows = rows
        self._is_part = is_part
        self._count = len(rows[0]) if rows else 0
        self._typical: list[int] = []
        self._place: dict[int, tuple[int, int]] = {}
        """The row and the block of each node."""
        self._stages: list[tuple[int, ...]] = []
        self._stage: list[int] = []
        self._component: list[int] = []
        self._odd: dict[int, set[int]] = {}
        """For each component, its blocks that differ from the others."""

    def families(self) -> list[Family]:
        for _ in range(_MOST_ROUNDS):
            if not self._rows:
                return []
            self._index()
            wrong = self._find_stages()
            runs = self._runs(wrong) if wrong and not self._is_part else []
            if runs:
                return [family for start, end in runs for family in self._part(start, end)]
            self._connect()
            wrong |= self._wired_differently() | self._running_both_ways()
            if not wrong:
                return self._result()
            self._rows = [row for number, row in enumerate(self._rows) if number not in wrong]
        return []

    def _index(self) -> None:
        self._place = {node: (number, block) for number, row in enumerate(self._rows) for block, node in enumerate(row) if node != ABSENT}
        middle = self._count // 2
        self._typical = [row[middle] if row[middle] != ABSENT else next(node for node in row if node != ABSENT) for row in self._rows]

    def _find_stages(self) -> set[int]:
        """A node's stage: how often a path to it has left the blocks and come back. Returns rows whose nodes are not at one stage."""
        operands, place = self._wiring.operands, self._place
        stage: dict[int, int] = {}
        for node in self._members:
            inside = node in place
            latest = 0 if inside else -1
            for source, _ in operands[node]:
                at = stage.get(source, -1)
                if at >= 0:
                    at += not inside and source in place
                    if at > latest:
                        latest = at
            if latest >= 0:
                stage[node] = latest
        self._stages = [tuple(stage.get(node, ABSENT) for node in row) for row in self._rows]
        self._stage = [max(stages) for stages in self._stages]
        wrong = {number for number, stages in enumerate(self._stages) if len({*stages} - {ABSENT}) > 1}
        self._delay_preparation(stage)
        return wrong

    def _runs(self, wrong: set[int]) -> list[tuple[int, int]]:
        """If most rows that are interrupted are so at the same places, the stretches between those places that have several blocks."""
        cuts = Counter(
            tuple(block for block in range(1, self._count) if self._stages[number][block] != self._stages[number][block - 1])
            for number in wrong
        )
        usual, times = cuts.most_common(1)[0]
        starts = (0, *usual, self._count)
        return [run for run in itertools.pairwise(starts) if run[1] - run[0] > 1] if 2 * times > len(wrong) else []

    def _part(self, start: int, end: int) -> list[Family]:
        """The families of some of the blocks alone."""
        return _Blocks(self._wiring, self._members, [row[start:end] for row in self._rows if ABSENT not in row[start:end]], True).families()

    def _delay_preparation(self, reached: Mapping[int, int]) -> None:
        """What is computed from parameters alone belongs to the stage that uses it. `reached` are the nodes after a block."""
        operands, users, place = self._wiring.operands, self._wiring.users, self._place
        order = sorted(range(len(self._rows)), key=lambda number: self._typical[number])
        prepares = [False] * len(self._rows)
        for number in order:
            sources = [source for source, _ in operands[self._typical[number]]]
            prepares[number] = all(prepares[place[source][0]] if source in place else source not in reached for source in sources)
        for number in reversed(order):
            if prepares[number]:
                stages = [self._stage[place[user][0]] if user in place else 0 for user, _, _ in users[self._typical[number]]]
                self._stage[number] = max(self._stage[number], min(stages, default=0))

    def _connect(self) -> None:
        """Rows are connected by values that stay within a block and a stage."""
        leader = list(range(len(self._rows)))

        def find(number: int) -> int:
            while leader[number] != number:
                leader[number] = number = leader[leader[number]]
            return number

        crossing: set[tuple[int, int]] = set()
        sharing: dict[tuple[int, int], int] = {}
        """Rows that take the same value from another block belong together: the gradients of a layer's output and of its last weight."""
        for number, node in enumerate(self._typical):
            block = self._place[node][1]
            for source, _ in self._wiring.operands[node]:
                at = self._place.get(source)
                if at is None or self._stage[at[0]] != self._stage[number]:
                    continue
                if at[1] == block:
                    leader[find(number)] = find(at[0])
                else:
                    crossing.add((at[0], number))
                    other = sharing.setdefault((source, block), number)
                    leader[find(number)] = find(other)
        edges = {(find(source), find(target)) for source, target in crossing}
        for source, target in _in_cycles({(source, target) for source, target in edges if source != target}):
            leader[find(source)] = find(target)
        self._component = [find(number) for number in range(len(self._rows))]

    def _relation(self, number: int, block: int, node: int) -> tuple[tuple[int, int], ...]:
        """How a node is wired: to which row of its own block, to which constant, or to which type outside."""
        kind, kind_of_type, is_constant = self._wiring.kind, self._wiring.type, self._wiring.is_constant
        relation = []
        for source, index in self._wiring.operands[node]:
            at = self._place.get(source)
            if is_constant[source]:
                code = ~kind[source]
            elif at is not None and at[1] == block and self._component[at[0]] == self._component[number]:
                code = at[0]
            else:
                code = ~kind_of_type[source]
            relation.append((code, index))
        return tuple(relation)

    def _wired_differently(self) -> set[int]:
        """Rows whose nodes are not wired alike. If some rows are not in every block, the blocks at the ends may differ instead."""
        ends = {0, 1, self._count - 2, self._count - 1} if any(ABSENT in row for row in self._rows) and self._count > 4 else set[int]()
        self._odd = {}
        wrong = set()
        for number, row in enumerate(self._rows):
            relations = [self._relation(number, block, node) if node != ABSENT else None for block, node in enumerate(row)]
            if relations.count(relations[0]) == self._count:
                continue
            usual = Counter(relations).most_common(1)[0][0]
            differing = {block for block, relation in enumerate(relations) if relation != usual}
            if differing <= ends:
                self._odd.setdefault(self._component[number], set()).update(differing)
            else:
                wrong.add(number)
        return wrong

    def _running_both_ways(self) -> set[int]:
        """Components whose blocks feed earlier and later ones: drawn as groups they would be a cycle."""
        directions: dict[int, set[bool]] = {}
        for number, row in enumerate(self._rows):
            component = self._component[number]
            for block, node in enumerate(row):
                if node == ABSENT:
                    continue
                for source, _ in self._wiring.operands[node]:
                    at = self._place.get(source)
                    if at is not None and at[1] != block and self._component[at[0]] == component:
                        directions.setdefault(component, set()).add(at[1] < block)
        both = {component for component, ways in directions.items() if len(ways) > 1}
        return {number for number, component in enumerate(self._component) if component in both}

    def _result(self) -> list[Family]:
        by_component: dict[int, list[int]] = {}
        for number, component in enumerate(self._component):
            by_component.setdefault(component, []).append(number)
        large = {}
        for component, numbers in by_component.items():
            ops = sum(self._wiring.is_op[self._typical[number]] for number in numbers)
            if ops >= _FEWEST_OPS and ops * self._count >= _FEWEST_OPS_IN_ALL:
                large[component] = numbers
        result = []
        for component, numbers in large.items():
            numbers.sort(key=lambda number: self._typical[number])
            rows = _without_stubs([self._rows[number] for number in numbers])
            if len(rows[0]) < 2:
                continue
            odd = frozenset(self._odd.get(component, ())) | self._differing_interfaces(rows)
            keeper = self._kept_by(numbers)
            result.append(Family(rows, odd, self._typical[large[keeper][0]] if keeper in large else ABSENT))
        return result

    def _kept_by(self, numbers: list[int]) -> int:
        """The component of an earlier stage from which these rows take the most values of the same block; -1 if there is none."""
        kept: Counter[int] = Counter()
        for number in numbers:
            node = self._typical[number]
            for source, _ in self._wiring.operands[node]:
                at = self._place.get(source)
                if at is not None and at[1] == self._place[node][1] and self._stage[at[0]] < self._stage[number]:
                    kept[self._component[at[0]]] += self._wiring.is_op[source]
        return max(kept, key=lambda component: (kept[component], -component), default=-1)

    def _differing_interfaces(self, rows: list[Row]) -> frozenset[int]:
        """Blocks that share values from outside in another way than most, or give other values to the outside."""
        operands, users, outputs = self._wiring.operands, self._wiring.users, self._wiring.outputs
        interfaces = []
        for block in range(len(rows[0])):
            nodes = [row[block] for row in rows]
            inside = set(nodes)
            outside: dict[tuple[int, int], int] = {}
            taken, given = [], []
            for number, node in enumerate(nodes):
                if node == ABSENT:
                    continue
                for value in operands[node]:
                    if value[0] not in inside and not self._wiring.is_constant[value[0]]:
                        taken.append(outside.setdefault(value, len(outside)))
                if node in outputs or any(user not in inside for user, _, _ in users[node]):
                    given.append(number)
            interfaces.append((tuple(taken), tuple(given)))
        usual = Counter(interfaces).most_common(1)[0][0]
        return frozenset(block for block, interface in enumerate(interfaces) if interface != usual)


def _without_stubs(rows: list[Row]) -> list[Row]:
    """The rows without the blocks at the ends that have less than half of them."""
    count = len(rows[0])
    present = [sum(row[block] != ABSENT for row in rows) for block in range(count)]
    full = [block for block in range(count) if 2 * present[block] >= len(rows)]
    return [row[full[0] : full[-1] + 1] for row in rows] if full and len(full) < count else rows


def _in_cycles(edges: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The edges that are left when everything before and after all cycles is removed."""
    left = list(edges)
    for end in (0, 1):
        waiting = Counter(edge[1 - end] for edge in left)
        beyond: dict[int, list[int]] = {}
        for edge in left:
            beyond.setdefault(edge[end], []).append(edge[1 - end])
        done = [node for node in beyond if not waiting[node]]
        for node in done:  # grows while it is read
            for other in beyond.get(node, ()):
                waiting[other] -= 1
                if not waiting[other]:
                    done.append(other)
        removed = set(done)
        left = [edge for edge in left if edge[end] not in removed]
    return left
