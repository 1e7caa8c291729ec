"""Nodes that took the place of others: a consumer that stays had the operand A and has the operand B, so B replaced A.

This ties nodes that have nothing else in common: a fusion and the library call that computes it now, five all-reduces and the one that
combines them, two dots and the slices of a larger one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from opscope.recording.match.exchanges import Exchanges, commutes
from opscope.recording.match.indexed_program import TAGS, Side
from opscope.recording.match.pairs import CERTAIN, FREE, Pairs
from opscope.recording.match.parts_of_groups import told_apart
from opscope.recording.match.passing import is_element, is_part, is_rearranged, may_change_nothing
from opscope.recording.match.shared_sets import NONE, Nodes, SharedSets
from opscope.recording.match.values import passed

_CALLS = frozenset(("fusion", "call"))
"""Operations whose operands are the parameters of what they call."""
_ANYTHING = _CALLS | {"custom-call"}
"""Operations that may do whatever others did."""
_SUMS = frozenset(("all-reduce", "all-reduce-start", "all-reduce-done"))
_FARTHEST = 16
"""Through so many nodes that are gone, a node is looked for that was bypassed."""
_LONGEST_CHAIN = 256
"""So many nodes that only pass a value on are followed."""
_GUESSED = "similarity"
"""A consumer that was matched by similarity alone is not a witness."""


class _Witness(NamedTuple):
    """A consumer that stays."""

    before: list[int]
    """Its operands."""
    after: list[int]
    in_any_order: bool = False
    is_same: bool = False
    """Whether it does to them what it did."""


class Replacement(NamedTuple):
    """Nodes of a that are gone or were made anew, and the nodes of b in their place; if it is not decided which of them, all candidates."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    decided: bool = True


def replacements(pairs: Pairs, copies: dict[int, int], merged: Container[int], made_anew: bool) -> list[Replacement]:
    """What replaced the nodes of a that have no counterpart. If passes may have `made_anew` an operation, the same one in the same place
    becomes one of the `pairs`. `copies` and `merged` are what other evidence says about nodes."""
    return _Slots(pairs, copies, merged, made_anew).replacements()


class _Slots:
    def __init__(self, pairs: Pairs, copies: dict[int, int], merged: Container[int], made_anew: bool) -> None:
        self._pairs, self._copies, self._made_anew = pairs, copies, made_anew
        copied = set(copies.values())
        self._guessed = self._without_guesses(copied) if made_anew else []
        """Pairs that only similarity matched. A slot says more, so that they are free until all slots are known."""
        self._gone = {x for x, y in enumerate(pairs.counterpart_a) if y == FREE and x not in copied and x not in merged}
        self._new = {y for y, x in enumerate(pairs.counterpart_b) if x == FREE and y not in copies}
        self._tied = self._by_place() if made_anew else {}
        """{node that is gone: new node that alone is at its place in the user's program}, whatever it does."""
        self._became = {y: x for x, y in self._tied.items()}
        self._ends = {*self._tied, *(~y for y in self._tied.values())}
        """Nodes that a value is not followed beyond."""
        self._old_value: dict[int, int] = {}
        """{operation that was made anew: node that gives its old value, to what else was made anew}."""
        self._passed: dict[int, int] | None = None
        """{parameter of b: node whose value its caller passes}, made if a replacement needs it."""
        self._passed_before: dict[int, int] | None = None
        """The same of a."""
        self._sets = SharedSets()
        self._replaced: dict[int, Nodes] = {}
        """{new node: the nodes that are gone and that it replaced, perhaps with others}."""
        self._exchanges = Exchanges(pairs, copies)
        self._parts: dict[int, dict[int, int]] = defaultdict(dict)
        """{new node: {node that takes a part of its value: node that is gone and that this part replaced}}."""

    def replacements(self) -> list[Replacement]:
        if not self._gone:
            return list(self._completed())
        instead: dict[int, set[int]] = defaultdict(set)
        undecided: dict[tuple[tuple[int, ...], tuple[int, ...]], None] = {}
        for x, y in self._tied.items():
            instead[x].add(y)
        witnesses = [*self._witnesses(), *(self._witness(x, y) for x, y in self._tied.items())]
        for before, after, in_any_order, is_same in witnesses:
            olds, news = self._left_over(before, after)
            same_number = len(olds) == len(news)
            news = self._exchanges.in_order(olds, news) if in_any_order else news
            doubtful = self._exchanges.doubtful(olds, news, in_any_order) if same_number else set(range(len(olds)))
            left_out = is_same and same_number and all(self._is_left_out(x, y) for (_, x), (_, y) in zip(olds, news, strict=True))
            for i, (_, x) in enumerate(olds):
                if x not in self._gone or i in doubtful:
                    continue
                y = self._passed_in(news[i][1])
                if y >= 0 and y not in instead[x] and (left_out or not self._is_bypassed(x, y)):
                    instead[x].add(y)
                    witness = self._pair_ends(x, y) or ((x, y) if self._is_same_work(x, y) else None)
                    witnesses.extend([self._witness(*witness)] if witness else self._combined(x, y))
            candidates = (
                tuple(x for i, (_, x) in enumerate(olds) if x in self._gone and i in doubtful),
                tuple(y for i, (_, y) in enumerate(news) if y in self._new and (i in doubtful or not same_number)),
            )
            if all(candidates):
                undecided[candidates] = None
        self._pair_guessed(instead, undecided)
        unsure = [(xs, ys) for xs, ys in undecided if not any(instead.get(x) for x in xs)]
        for xs, ys in unsure:
            wholes = {self._chain(self._pairs.b, y, self._new)[-1] for y in ys}
            if len(wholes) == 1 and wholes.isdisjoint(ys):  # whichever has which part, all of them are in the whole
                for x in xs:
                    instead[x].update(wholes)
        return [*self._groups(instead), *self._completed(), *(Replacement(xs, ys, False) for xs, ys in unsure)]

    def _without_guesses(self, copied: Container[int]) -> list[tuple[int, int]]:
        pairs = self._pairs
        guessed = [(x, y) for x, y in enumerate(pairs.counterpart_a) if y >= 0 and pairs.evidence[x] == _GUESSED and x not in copied]
        for x, y in guessed:
            pairs.part(x, y)
        return guessed

    def _pair_guessed(self, instead: dict[int, set[int]], undecided: Iterable[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
        """Match again what nothing said more about. One of several candidates for a slot is not taken because it is similar."""
        taken = {y for ys in instead.values() for y in ys}
        candidates = {(x, y) for xs, ys in undecided if len(ys) > 1 for x in xs for y in ys}
        for x, y in self._guessed:
            if not instead.get(x) and (x, y) not in candidates and y not in taken and self._pairs.pair(x, y, _GUESSED):
                self._gone.discard(x)
                self._new.discard(y)

    def _witness(self, x: int, y: int) -> _Witness:
        a, b = self._pairs.a, self._pairs.b
        return _Witness(_operands(a, x), _operands(b, y), commutes(b.nodes[y]), self._is_same_work(x, y))

    def _combined(self, x: int, y: int) -> Iterator[_Witness]:
        """The operands of all nodes that were combined into one, of which each takes a part, and the operands of that one: it is a
        consumer of what they consumed, once it is known what every part replaced."""
        a, b = self._pairs.a, self._pairs.b
        whole = self._chain(b, y, self._new)[-1]
        if whole == y:
            return
        parts = self._parts[whole]
        parts[y] = x
        if len(parts) > 1 and len(parts) == len(b.users[whole]):
            before = [operand for part in sorted(parts) for operand in _operands(a, parts[part])]
            if len(before) == len(after := _operands(b, whole)):
                yield _Witness(before, after)

    def _completed(self) -> Iterator[Replacement]:
        """Operations that were made anew with another shape, and the new node that gives their old value: a product in parts and the sum of
        these, a product of two dimensions and the reshape behind it. A consumer that stays takes this one, which has the old type; or, if
        every device has only a part of the value, the type of the operation that was made anew, at the same place."""
        a, b, pairs = self._pairs.a, self._pairs.b, self._pairs
        if not self._made_anew or not self._new:
            return
        kind_a, kind_b = pairs.labels.of["kind"]
        given = self._given()
        for x, y in enumerate(pairs.counterpart_a):
            if y < 0 or pairs.evidence[x] in CERTAIN or pairs.evidence[x] == _GUESSED:
                continue
            if kind_a[x] == kind_b[y] and not any(i in self._new and is_element(b.nodes[i].op) for i in _users(b, y)):
                continue  # or a tuple of one value now
            taken = {*given.get(x, ()), *([self._old_value[x]] if x in self._old_value else ())}
            for user in dict.fromkeys(edge // TAGS for edge in a.users[x]):
                if (stays := pairs.counterpart_a[user]) >= 0 and pairs.evidence[user] != _GUESSED:
                    olds, news = self._left_over(_operands(a, user), _operands(b, stays))
                    if len(olds) == len(news):
                        taken.update(new for (at, old), (now, new) in zip(olds, news, strict=True) if old == x and at == now)
            chains = [self._chain(b, new, self._new) for new in sorted(taken) if new in self._new]
            results = {i for chain in chains for i in chain if a.nodes[x].outputs == b.nodes[i].outputs or self._is_of_same_part(x, y, i)}
            if results and all(self._comes_from(new, y) and not pairs.labels.elsewhere(x, new) for new in results):
                yield Replacement((x,), tuple(sorted(results)))

    def _given(self) -> dict[int, set[int]]:
        """What graphs give now instead of a node that they gave."""
        given: dict[int, set[int]] = defaultdict(set)
        for before, after in self._results():
            for (at, old), (now, new) in zip(*self._left_over(before, after), strict=False):
                if at == now:
                    given[old].add(new)
        return given

    def _results(self) -> Iterator[tuple[list[int], list[int]]]:
        """The outputs of matched graphs, before and after."""
        a, b = self._pairs.a, self._pairs.b
        for ga, gb in enumerate(self._pairs.graph_a):
            if gb != FREE and a.graphs[ga].name not in a.same:
                yield _outputs(a, ga), _outputs(b, gb)

    def _is_of_same_part(self, x: int, y: int, new: int) -> bool:
        """Whether a new node adds up, over devices, what the operation gives that was made anew."""
        nodes, (place_a, place_b) = self._pairs.b.nodes, self._pairs.labels.place
        return nodes[new].op in _SUMS and nodes[new].outputs == nodes[y].outputs and place_a[x] == place_b[new] != 0

    def _comes_from(self, new: int, y: int) -> bool:
        """Whether a new node is computed from another, through new nodes only."""
        waiting, seen = [new], {new}
        while waiting and len(seen) <= _FARTHEST:
            for operand in _operands(self._pairs.b, waiting.pop()):
                if operand == y:
                    return True
                if operand in self._new and operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
        return False

    def _by_place(self) -> dict[int, int]:
        """A division that became a product, a transpose that became a dot with other operands: both alone at their place, or the only ones
        there that take the same value, with one type."""
        a, b, (place_a, place_b) = self._pairs.a, self._pairs.b, self._pairs.labels.place
        name_a, name_b = self._pairs.name_a.copy(), self._pairs.name_b.copy()
        gone, new = sorted(x for x in self._gone if place_a[x] and not a.is_dead(x)), sorted(y for y in self._new if place_b[y])
        tied: dict[int, int] = {}
        while gone and new:
            found: dict[int, set[int]] = defaultdict(set)
            at_b = _alone(b, place_b, name_b, new)
            for key, x in _alone(a, place_a, name_a, gone).items():
                if (y := at_b.get(key)) is not None and a.nodes[x].outputs == b.nodes[y].outputs:
                    found[x].add(y)
            times = Counter(y for ys in found.values() for y in ys)
            fresh = {x: y for x, (y, *others) in found.items() if not others and times[y] == 1}
            if not fresh:
                break
            tied |= fresh
            for x, y in fresh.items():
                name_a[x] = name_b[y] = x
            taken = set(fresh.values())
            gone, new = [x for x in gone if x not in fresh], [y for y in new if y not in taken]
        return tied

    def _witnesses(self) -> Iterator[_Witness]:
        """Every consumer that stays and had an operand that is gone; a graph consumes its outputs."""
        consumers = dict.fromkeys(edge // TAGS for x in sorted(self._gone) for edge in self._pairs.a.users[x])
        for x in consumers:
            y = self._pairs.counterpart_a[x]
            if y >= 0 and self._pairs.evidence[x] != _GUESSED:
                yield self._witness(x, y)
        yield from (_Witness(before, after, is_same=True) for before, after in self._results())

    def _left_over(self, before: Sequence[int], after: Sequence[int]) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Operands that are not each other's counterparts, with their positions."""
        kept = Counter(after)
        olds = []
        for at, x in enumerate(before):
            y = self._pairs.counterpart_a[x]
            if y >= 0 and kept[y]:
                kept[y] -= 1
            else:
                olds.append((at, x))
        stayed = Counter(after) - kept
        news = []
        for at, y in enumerate(after):
            if stayed[y]:
                stayed[y] -= 1
            else:
                news.append((at, y))
        return olds, news

    def _is_bypassed(self, x: int, y: int) -> bool:
        """Whether consumers now take what the node itself took, perhaps through others that are gone: it was left out, and nothing
        replaced it. If that one does something else now, it took over the work: a sum of sums. A parameter of a fusion takes what its
        caller passes, so that what computes this inside the fusion now did not replace the parameter."""
        a, b = self._pairs.a, self._pairs.b
        if a.nodes[x].is_argument and a.callers[a.graph[x]] and not b.nodes[y].is_argument:
            return True
        origin = self._copies.get(y, self._pairs.counterpart_b[y])
        if y in self._became:
            origin = self._became[y]
        elif origin < 0 or (not self._is_same_work(origin, y) and self._may_take_over(origin, x, y)):
            return False
        waiting, seen = [x], {x}
        while waiting and len(seen) <= _FARTHEST:
            for operand in self._taken_by(waiting.pop()):
                if operand == origin:
                    return True
                if operand in self._gone and operand not in seen:
                    seen.add(operand)
                    waiting.append(operand)
        return False

    def _may_take_over(self, origin: int, x: int, y: int) -> bool:
        """Whether a node that does something else now may do another's work: a sum that of a sum, a call anything, but no sum divides."""
        a, b = self._pairs.a, self._pairs.b
        op_a, op_b = self._pairs.labels.of["op"]
        gained = len(b.operands[y]) > len(a.operands[origin])
        return gained or op_a[x] == op_b[y] or op_a[origin] != op_b[y] or b.nodes[y].op in _ANYTHING or is_part(a.nodes[x].op)

    def _is_left_out(self, x: int, y: int) -> bool:
        """Whether a node was left out that changed nothing, so that its value is what consumers take now: a sum over one element, a
        transpose of an axis with itself. Nothing becomes an input."""
        a, b = self._pairs.a, self._pairs.b
        if x not in self._gone or a.nodes[x].outputs != b.nodes[y].outputs or not b.operands[y]:
            return False
        origin = self._copies.get(y, self._pairs.counterpart_b[y])
        for _ in range(_FARTHEST):
            if x not in self._gone or not may_change_nothing(a.nodes[x].op) or not a.operands[x]:
                break
            x = a.operands[x][0] // TAGS
            if x == origin:
                return True
        return False

    def _taken_by(self, x: int) -> list[int]:
        """The nodes of a whose values a node takes."""
        a = self._pairs.a
        if not a.nodes[x].is_argument:
            return _operands(a, x)
        if self._passed_before is None:
            self._passed_before = passed(a)
        return [self._passed_before[x] // TAGS] if x in self._passed_before else []

    def _passed_in(self, y: int) -> int:
        """The node that computes a value, if a consumer is in a fusion now and takes a parameter of it; -1 if that is not known."""
        b = self._pairs.b
        for _ in range(_FARTHEST):
            if y not in self._new or not b.nodes[y].is_argument:
                return y
            if self._passed is None:
                self._passed = passed(b)
            if y not in self._passed or b.nodes[b.callers[b.graph[y]][0]].op not in _CALLS:
                return FREE
            y = self._passed[y] // TAGS
        return FREE

    def _pair_ends(self, x: int, y: int) -> tuple[int, int] | None:
        """Pair the operations behind two values if they are the same: a pass made it anew, with another type or between reshapes. One
        that computes more than this value is another operation."""
        if y not in self._new or not self._made_anew:
            return None
        a, b, pairs = self._pairs.a, self._pairs.b, self._pairs
        op_a, op_b = pairs.labels.of["op"]
        olds, news = self._rearranged(a, x, self._gone), self._rearranged(b, y, self._new)
        if op_a[olds[-1]] != op_b[news[-1]] or _elements(a, olds[-1]) != _elements(b, news[-1]):
            olds, news = self._chain(a, x, self._gone), self._chain(b, y, self._new)
            if any(len(b.users[i]) > 1 for i in news[1:]):
                return None
        old, new = olds[-1], news[-1]
        same_form = op_a[old] == op_b[new] and len(a.operands[old]) == len(b.operands[new])
        if not same_form or not pairs.may_be_same(old, new) or not pairs.pair(old, new, "slot"):
            return None
        self._gone.remove(old)
        self._new.remove(new)
        return old, new

    def _rearranged(self, side: Side, i: int, among: Container[int]) -> list[int]:
        """The node, and what it only rearranges, as far as that belongs to the replacement too."""
        return self._followed(side, i, among, is_rearranged)

    def _is_same_work(self, x: int, y: int) -> bool:
        """Whether two nodes do the same. A replacement that does consumes what the node consumed, so that it is a witness itself."""
        work_a, work_b = self._pairs.labels.of["work"]
        return work_a[x] == work_b[y]

    def _groups(self, instead: dict[int, set[int]]) -> Iterator[Replacement]:
        """The nodes that are gone with what replaced each: a product and its slice of a combined one, all of them and the combined one. A
        node that was there before is a replacement of its own: many can end in it."""
        ended: dict[int, list[int]] = defaultdict(list)
        replaced: dict[int, set[int]] = defaultdict(set)
        for x in instead:
            for y in sorted(instead[x]) if x in self._gone else ():
                if y not in self._new:
                    ended[y].append(x)
                    continue
                olds, news = self._chain(self._pairs.a, x, self._gone), self._without_old_value(self._chain(self._pairs.b, y, self._new))
                one_by_one = len(olds) > 1 and self._types(self._pairs.a, olds) == self._types(self._pairs.b, news)
                for at, new in enumerate(news):
                    replaced[new].update(olds[at : at + 1] if one_by_one else olds)
        self._replaced = {y: self._sets.of(xs) for y, xs in replaced.items()}
        self._add_inner_new()
        inner = self._inner_gone()
        self._add_behind(ended)
        inside: dict[int, list[Nodes]] = defaultdict(list)
        for around in inner:
            for y in around:
                inside[y].append(around)
        alike: dict[tuple[Nodes, tuple[Nodes, ...]], list[int]] = defaultdict(list)
        for y, known in self._replaced.items():
            alike[known, tuple(inside[y])].append(y)
        groups = [(sorted({*known, *(x for around in inside[ys[0]] for x in inner[around])}), ys) for (known, _), ys in alike.items()]
        yield from (Replacement(xs, ys) for xs, ys in told_apart(self._pairs, groups, self._gone))
        yield from (Replacement(tuple(sorted(xs)), (y,)) for y, xs in ended.items())

    def _without_old_value(self, chain: list[int]) -> list[int]:
        """The chain up to what gives the old value of an operation behind it that was made anew: that replaced nothing else."""
        a, b, pairs = self._pairs.a, self._pairs.b, self._pairs
        behind = b.operands[chain[-1]]
        made_anew = pairs.counterpart_b[behind[0] // TAGS] if behind and is_part(b.nodes[chain[-1]].op) else FREE
        if made_anew < 0 or pairs.evidence[made_anew] in CERTAIN:
            return chain
        at = next((at for at in range(len(chain) - 1, 0, -1) if b.nodes[chain[at]].outputs == a.nodes[made_anew].outputs), len(chain))
        if at < len(chain):
            self._old_value[made_anew] = chain[at]
        return chain[:at]

    def _types(self, side: Side, chain: Sequence[int]) -> list[object]:
        return [side.nodes[i].outputs for i in chain]

    def _chain(self, side: Side, i: int, among: Container[int]) -> list[int]:
        """The node, and what it only passes on, as far as that belongs to the replacement too."""
        return self._followed(side, i, among, is_part)

    def _followed(self, side: Side, i: int, among: Container[int], passes_on: Callable[[str], bool]) -> list[int]:
        chain = {i: None}
        while passes_on(side.nodes[i].op) and side.operands[i] and (i := side.operands[i][0] // TAGS) in among and i not in chain:
            if (i if side is self._pairs.a else ~i) in self._ends or len(chain) >= _LONGEST_CHAIN:
                break
            chain[i] = None
        return list(chain)

    def _add_inner_new(self) -> None:
        """Add new nodes that only new nodes of one replacement use: they replaced what all of these did. Of parts of a value, only if that
        holds for the whole value. A constant that was there before, too, is shared by many: nothing became it."""
        a, b, (work_a, work_b) = self._pairs.a, self._pairs.b, self._pairs.labels.of["work"]
        others = set(self._old_value.values())
        constants = {work_a[x] for x in range(len(a)) if not a.operands[x]} if self._replaced else set()
        for y in sorted(self._new, reverse=True):
            if y in self._replaced or y in others or b.nodes[y].is_argument:  # an argument is not computed here
                continue
            if not b.operands[y] and work_b[y] in constants:
                continue
            whole = self._chain(b, y, self._new)[-1]
            users = (edge // TAGS for i in {y, whole} for edge in b.users[i])
            if common := self._sets.common(self._replaced.get(user, NONE) for user in users if user != y):
                self._replaced[y] = common

    def _inner_gone(self) -> dict[Nodes, list[int]]:
        """Nodes that are gone by the new nodes that replaced them, too: if only one replacement used them, and if what replaced all of
        their users uses what they used. Otherwise they were dead."""
        a, b = self._pairs.a, self._pairs.b
        together: dict[Nodes, list[int]] = defaultdict(list)
        for y, xs in self._replaced.items():
            together[xs].append(y)
        found: dict[int, set[int]] = defaultdict(set)
        by: dict[int, Nodes] = {}
        for xs, ys in together.items():
            news = self._sets.of(ys)
            for x in xs:
                if x in by:
                    found[x].update(by[x], news)
                by[x] = news
        by |= {x: self._sets.of(ys) for x, ys in found.items()}
        taken: dict[Nodes, set[int]] = {}
        inner: dict[Nodes, list[int]] = defaultdict(list)
        for x in sorted(self._gone, reverse=True):
            operands, users = _operands(a, x), (edge // TAGS for edge in a.users[x])
            news = self._sets.common(by.get(user, NONE) for user in users) if operands and x not in by else NONE
            if news not in taken:
                taken[news] = {self._pairs.counterpart_b[operand] for y in news for operand in _operands(b, y)}
            if news and all(operand in taken[news] or operand in self._gone for operand in operands):
                by[x] = news
                inner[news].append(x)
        return inner

    def _add_behind(self, ended: dict[int, list[int]]) -> None:
        """Add nodes that are gone if only nodes used them that one replaced which was there before, and if that does their work now: it
        takes what they took."""
        a, b, pairs = self._pairs.a, self._pairs.b, self._pairs
        known = {x for xs in ended.values() for x in xs}
        for y, xs in ended.items():
            waiting = xs.copy()
            while waiting:
                for x in _operands(a, waiting.pop()):
                    taken = [pairs.counterpart_a[operand] for operand in _operands(a, x)]
                    if x in known or x not in self._gone or not taken or taken != _operands(b, y) or not self._is_same_work(x, y):
                        continue
                    if all(edge // TAGS in xs for edge in a.users[x]):
                        known.add(x)
                        xs.append(x)
                        waiting.append(x)


def _alone(side: Side, place: Sequence[int], name: Sequence[int], among: Sequence[int]) -> dict[tuple[int, int], int]:
    """{(place, matched operand or FREE): the only one of some nodes that is there and takes that value, or that is there}."""
    keys = [(i, (place[i], operand)) for i in among for operand in {FREE, *(name[edge // TAGS] for edge in side.operands[i])}]
    times = Counter(key for _, key in keys)
    return {key: i for i, key in keys if times[key] == 1}


def _elements(side: Side, i: int) -> list[int | None]:
    return [output.elements for output in side.nodes[i].outputs]


def _operands(side: Side, i: int) -> list[int]:
    return [edge // TAGS for edge in side.operands[i]]


def _users(side: Side, i: int) -> list[int]:
    return [edge // TAGS for edge in side.users[i]]


def _outputs(side: Side, g: int) -> list[int]:
    graph, first = side.graphs[g], side.first[g]
    return [first + graph.position[id] for id, _ in graph.outputs]
