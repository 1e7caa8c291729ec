"""Finds copies: nodes of b that compute the value of a node of a, in addition to its counterpart.

Fusing and inlining copy nodes into other graphs. A copy is recognized by its value: the same operation on the same values, or on the values
that the counterpart takes now. A constant has no operands, and many are equal: it is a copy only of one from the graph that it was taken
from. A graph that was copied has copies of everything in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence

from opscope.ops import plain_name
from opscope.recording.match.indexed_program import RESULTS, TAGS, Side
from opscope.recording.match.pairs import FREE, Pairs
from opscope.recording.match.values import Values, Work, WorkIndex, is_filled, is_unknown

_MOST_CANDIDATES = 64
"""Of this many equal nodes of a, the first that is still free is used."""
_FARTHEST = 16
"""Through so many callers, the graph is looked for that a new graph was taken from."""

_FEWEST = 3
"""Graphs with fewer operations are so simple that other nodes compute the same by chance."""


def derive(pairs: Pairs) -> dict[int, int]:
    """{node of b: node of a} for free nodes of b."""
    a, b = pairs.a, pairs.b
    new = pairs.free_b(range(len(b)))
    if not new:
        return {}
    if pairs.work is None:
        pairs.work = WorkIndex(a, b, pairs.labels.of["work"][0])
    work_b = pairs.labels.of["work"][1]
    values_a, values_b, by_work = pairs.work.a, pairs.work.b, pairs.work.by_work
    values_b.forget()
    constants = _Constants(pairs)
    copies = _in_copied_graphs(pairs, {}, lambda gb: FREE)
    used: set[int] = set()
    repeatable = {work_b[y] for y in new if b.operands[y]}
    chosen: list[int] = []
    """Copies of one of several nodes that compute the same."""
    equal: dict[Work, list[int]] = {}
    """Nodes of b that do what a new one does, by the values that they take."""
    for y in values_b.in_order:
        x, value = pairs.counterpart_b[y], len(a) + y
        work = (work_b[y], values_b.operands(y)) if work_b[y] in repeatable or x == FREE else None
        if x == FREE and work and not b.nodes[y].is_argument:
            same = by_work.get(work, [])
            if same and not is_unknown(b.nodes[y]):
                value = values_a.value[same[0]]
            if y in copies:
                x = copies[y]
            elif work[1] or not same:
                x = _source(pairs, copies, same[:_MOST_CANDIDATES], y, used)
            else:
                x = constants.origin(y, work, same)
            if x != FREE and not (y not in copies and _was_inserted(pairs, copies, x, y)):
                copies[y] = x
                used.add(x)
                if len(same) > 1:
                    chosen.append(y)
                if is_unknown(b.nodes[y]):
                    value = values_a.value[x]
        elif x >= 0:
            value = values_a.value[x]
        if work and work[1]:
            alike = equal.setdefault(work, [])
            value = values_b.value[alike[0]] if alike and value >= len(a) else value
            alike.append(y)
        values_b.set(y, value)
    for y in reversed(chosen):
        copies[y] = _taken(pairs, copies, values_a, y)
    for several in equal.values():
        if len(several) > 1 and (origin := next((x for y in several if (x := _origin(pairs, copies, y)) >= 0), FREE)) >= 0:
            rest = [y for y in several if _origin(pairs, copies, y) == FREE]
            copies.update((y, origin) for y in rest if not _was_inserted(pairs, copies, origin, y))
    copies.update(_in_copied_graphs(pairs, copies, _OnlyEqual(pairs, copies).of))
    copies.update(_inlined(pairs, copies))
    return copies


def _origin(pairs: Pairs, copies: dict[int, int], y: int) -> int:
    return copies.get(y, pairs.counterpart_b[y])


def _source(pairs: Pairs, copies: dict[int, int], same: Sequence[int], y: int, used: Container[int]) -> int:
    """The node of several equal ones that a new one is a copy of: rather of the same operands, rather one that is gone, and rather one of
    which there is no copy yet. FREE if none can be."""

    def unlikely(x: int) -> tuple[bool, bool, bool]:
        others = any(_origin(pairs, copies, new) != old for old, new in zip(_operands(pairs.a, x), _operands(pairs.b, y), strict=True))
        return pairs.counterpart_a[x] != FREE or x in used, others, pairs.counterpart_a[x] != FREE

    return min((x for x in same if not _was_inserted(pairs, copies, x, y)), key=unlikely, default=FREE)


def _was_inserted(pairs: Pairs, copies: dict[int, int], x: int, y: int) -> bool:
    """Whether a pass put a new node beside an equal one, for another purpose: before one that stays (copies of copies), as part of another
    operation of the user's program, or on another value that only happens to be equal, such as a second constant."""
    a, b = pairs.a, pairs.b
    stays, related = pairs.counterpart_a[x], _are_related(pairs, a.graph[x], b.graph[y])
    after = _operands(b, stays) if stays >= 0 else []
    beside = stays >= 0 and b.graph[stays] == b.graph[y]
    if (beside and (y in after or pairs.labels.elsewhere(x, y))) or (not related and pairs.labels.elsewhere(x, y)):
        return True
    same_place = pairs.labels.place[0][x] == pairs.labels.place[1][y] != 0
    for old, new in zip(_operands(a, x), _operands(b, y), strict=False):
        origin, is_new = _origin(pairs, copies, new), pairs.counterpart_b[new] < 0
        if new in after or not (_is_constant(a, old) and _is_constant(b, new)) or (is_new and same_place):
            continue
        if origin == old or (origin >= 0 and a.operands[origin] and a.operands[origin] == a.operands[old]):
            continue
        if beside or not related or (not is_new and (stays >= 0 or pairs.counterpart_a[old] >= 0)):
            return True
    return False


def _is_constant(side: Side, i: int) -> bool:
    """Whether a value takes nothing from the program, as the code around it shows. Many such values are equal by chance."""
    return not side.calls[i] and is_filled(side, i)


def _are_related(pairs: Pairs, ga: int, gb: int) -> bool:
    """Whether nodes of a graph of a can be in a graph of b now: the same one, a new one or instead of one that is gone, its caller, or what
    it calls."""
    home = pairs.graph_b[gb]
    if home in (FREE, ga) or pairs.graph_a[ga] == FREE:
        return True
    callers, graph = pairs.a.callers, pairs.a.graph
    return any(graph[caller] == ga for caller in callers[home]) or any(graph[caller] == home for caller in callers[ga])


def _operands(side: Side, i: int) -> list[int]:
    return [edge // TAGS for edge in side.operands[i]]


def _taken(pairs: Pairs, copies: dict[int, int], values_a: Values, y: int) -> int:
    """Of several nodes that compute the same, the one whose value the users of a copy took before; otherwise the one that was chosen."""
    value = values_a.value[copies[y]]
    for user, at in _uses(pairs.b, y):
        user = _origin(pairs, copies, user)
        for before in pairs.a.operands[user] if user >= 0 else ():
            if before % TAGS // RESULTS == at and values_a.value[before // TAGS] == value:
                return before // TAGS
    return copies[y]


def _uses(side: Side, y: int) -> Iterator[tuple[int, int]]:
    """The users of a node and the positions at which they take it; of what a called graph returns, the users of the call."""
    for edge in side.users[y]:
        user, at, g = edge // TAGS, edge % TAGS // RESULTS, side.graph[edge // TAGS]
        callers, returned = side.callers[g], [id for id, _ in side.graphs[g].outputs]
        if len(callers) == 1 and [side.nodes[user].id] == returned and plain_name(side.nodes[user].op) == "tuple":
            yield from ((use // TAGS, use % TAGS // RESULTS) for use in side.users[callers[0]] if use % RESULTS == at + 1)
        else:
            yield user, at


def _in_copied_graphs(pairs: Pairs, copies: dict[int, int], otherwise: Callable[[int], int]) -> dict[int, int]:
    """{free node of b: node of a} for nodes of new graphs that are copies: of the equal graph that the caller called before, or of the one
    that `otherwise` names."""
    a, b = pairs.a, pairs.b
    content_a, content_b = pairs.labels.content
    copied: dict[int, int] = {}
    more: dict[int, int] = {}
    for gb in b.callees_last if FREE in pairs.graph_b else ():
        if pairs.graph_b[gb] != FREE or not b.members(gb):
            continue
        ga = FREE
        for caller in b.callers[gb]:
            x, around = _origin(pairs, copies, caller), b.graph[caller]
            if x < 0 and around in copied:
                x = a.first[copied[around]] + caller - b.first[around]
            called, at = a.calls[x] if x >= 0 else [], b.calls[caller].index(gb)
            if at < len(called) == len(b.calls[caller]) and content_a[called[at]] == content_b[gb]:
                ga = called[at]
                break
        ga = otherwise(gb) if ga == FREE else ga
        if ga != FREE and a.members(ga):
            copied[gb] = ga
            more.update((y, x) for x, y in zip(a.members(ga), b.members(gb), strict=True) if _origin(pairs, copies, y) == FREE)
    return more


def _inlined(pairs: Pairs, copies: dict[int, int]) -> dict[int, int]:
    """{free node of b: node of a} for nodes of graphs that are still there and that nothing calls any more: what a pass put elsewhere of
    them, on other values, is known by its place in the user's program, if it is the only one there."""
    a, b, place = pairs.a, pairs.b, pairs.labels.place
    uncalled = [ga for ga, gb in enumerate(pairs.graph_a) if gb != FREE and a.callers[ga] and not b.callers[gb]]
    if not uncalled:
        return {}
    work_a, work_b = pairs.labels.of["work"]
    sources, results = (
        {key: only[0] for key, only in _grouped(numbers, work, places).items() if len(only) == 1}
        for numbers, work, places in (
            ([x for ga in uncalled for x in a.members(ga)], work_a, place[0]),
            ([y for y in range(len(b)) if _origin(pairs, copies, y) == FREE], work_b, place[1]),
        )
    )
    by_place = {y: sources[key] for key, y in results.items() if key in sources and not b.nodes[y].is_argument}
    return {**by_place, **_instances(pairs, copies, uncalled)}


def _instances(pairs: Pairs, copies: dict[int, int], uncalled: list[int]) -> dict[int, int]:
    """{free node of b: node of a} for what computes a whole graph again on any values: a comparison that is done both ways round."""
    a, b = pairs.a, pairs.b
    work_a, work_b = pairs.labels.of["work"]
    by_work: dict[int, list[int]] = defaultdict(list)
    for y in range(len(b)):
        if b.operands[y] and _origin(pairs, copies, y) == FREE:
            by_work[work_b[y]].append(y)
    found: dict[int, int] = {}
    for ga in uncalled:
        outputs = a.graphs[ga].outputs
        if len(outputs) != 1 or sum(bool(a.operands[x]) for x in a.members(ga)) < _FEWEST:
            continue
        root = a.first[ga] + a.graphs[ga].position[outputs[0][0]]
        varying: set[int] = set()
        for x in a.members(ga):
            if a.nodes[x].is_argument or any(edge // TAGS in varying for edge in a.operands[x]):
                varying.add(x)
        for y in by_work.get(work_a[root], [])[:_MOST_CANDIDATES]:
            same = _unified(pairs, root, y)
            free = {other: x for x, other in same.items() if _origin(pairs, copies, other) == FREE and other not in found}
            if all(other in free or x not in varying for x, other in same.items()):  # what is constant may be shared
                found.update(free)
    return found


def _unified(pairs: Pairs, root: int, result: int) -> dict[int, int]:
    """{node of a: node of b} if the second computes what the first does, where parameters may stand for anything; otherwise empty."""
    a, b = pairs.a, pairs.b
    work_a, work_b = pairs.labels.of["work"]
    same, waiting = {root: result}, [root]
    while waiting:
        x = waiting.pop()
        before, after = a.operands[x], b.operands[same[x]]
        if work_a[x] != work_b[same[x]] or len(before) != len(after):
            return {}
        for one, other in zip(before, after, strict=True):
            operand, now = one // TAGS, other // TAGS
            if operand not in same:
                same[operand] = now
                if not a.nodes[operand].is_argument:
                    waiting.append(operand)
            if same[operand] != now or (one % TAGS != other % TAGS and not a.nodes[operand].is_argument):
                return {}
    return {x: y for x, y in same.items() if not a.nodes[x].is_argument}


def _grouped(numbers: list[int], work: list[int], place: list[int]) -> dict[tuple[int, int], list[int]]:
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i in numbers:
        if place[i]:
            groups[work[i], place[i]].append(i)
    return groups


class _OnlyEqual:
    """The only graph of a that a new one is equal to, if nothing in it was taken from elsewhere."""

    def __init__(self, pairs: Pairs, copies: dict[int, int]) -> None:
        self._pairs, self._copies = pairs, copies
        self._by_content: dict[int, int] = {}
        for ga, content in enumerate(pairs.labels.content[0]):
            self._by_content[content] = FREE if content in self._by_content else ga

    def of(self, gb: int) -> int:
        pairs = self._pairs
        ga = self._by_content.get(pairs.labels.content[1][gb], FREE)
        origins = (_origin(pairs, self._copies, y) for y in pairs.b.members(gb))
        return ga if ga != FREE and all(x < 0 or pairs.a.graph[x] == ga for x in origins) else FREE


class _Constants:
    """Where a new constant was taken from: the graph around a fusion, or a graph that was inlined."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
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
        home, stays = self._around(gb), pairs.graph_b[gb] != FREE
        place_a, place_b = pairs.labels.place
        waiting = self._waiting.get((work, home, stays))
        if waiting is None:
            among = [*graphs.get(home, ()), *(x for g, xs in graphs.items() if stays and self._goes_to(g, home) for x in xs)]
            waiting = self._waiting[work, home, stays] = pairs.free_a(among)[::-1]
        if waiting:
            last = len(waiting) - 1
            near = range(last, max(-1, last - _MOST_CANDIDATES), -1)
            if (at := next((i for i in near if place_a[waiting[i]] == place_b[y]), FREE)) == FREE:
                at = next((i for i in near if not (stays and pairs.labels.elsewhere(waiting[i], y))), FREE)
            if at != FREE:
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
