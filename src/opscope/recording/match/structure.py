"""Matching by the kind of nodes and their neighbours, for programs whose names are meaningless.

Graphs are matched from the entry downwards. Inside a pair of graphs, nodes match first by their surroundings up to three hops away, then by
their matched neighbours, then by their position in the order. A called graph matches the graph that the counterpart of its caller calls.
Nodes that are left may have moved to another graph, and are matched across graphs.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from opscope.recording.match.derive import derive
from opscope.recording.match.indexed_program import RESULTS, TAGS, Side
from opscope.recording.match.pairs import DEEPEST_VIEW, FREE, Pairs
from opscope.recording.match.passing import is_view
from opscope.recording.match.values import is_unknown
from opscope.sequences import longest_increasing

_HOPS = 3
_RARE = 8
_SURE_STEPS = 23
_CLEARLY = 1.5
_MOST_RESTARTS = 16


def match_structure(pairs: Pairs) -> None:
    a, b, labels = pairs.a, pairs.b, pairs.labels
    pairs.pair_graphs(a.graph_number[a.program.entry], b.graph_number[b.program.entry])
    order = a.callees_last
    done: set[int] = set()
    while True:
        _match_down_the_calls(pairs, order, done)
        if _moved(pairs):
            continue
        if not (_same_contents(pairs, labels.content) or _by_rare_nodes(pairs) or _same_contents(pairs, labels.form)):
            break
    _across_graphs(pairs)


def _moved(pairs: Pairs) -> int:
    """Match free nodes that are now computed in another graph, by their values. Their graphs can follow."""
    waiting = {x for x in pairs.free_a(range(len(pairs.a))) if pairs.a.calls[x]}
    return sum(pairs.pair(x, y) for y, x in derive(pairs).items() if x in waiting) if waiting else 0


def _match_down_the_calls(pairs: Pairs, order: list[int], done: set[int]) -> None:
    for ga in order:
        if ga in done:
            continue
        gb = pairs.graph_a[ga]
        if gb == FREE:
            gb = _graph_called_instead(pairs, ga)
            if gb == FREE:
                continue
            pairs.pair_graphs(ga, gb)
        done.add(ga)
        match_graphs(pairs, ga, gb)


def _graph_called_instead(pairs: Pairs, ga: int) -> int:
    """The graph that the counterparts of its callers call; on a tie, the earliest caller decides.

    No pass creates a graph without calling it. So if b contains the same graph without callers, that is the old one, and the graph that is
    called now is new.
    """
    votes: Counter[int] = Counter()
    for caller in pairs.a.callers[ga]:
        gb = _called_instead(pairs, caller, ga)
        if gb != FREE and pairs.graph_b[gb] == FREE:
            votes[gb] += 1
    gb = max(votes, key=votes.__getitem__, default=FREE)
    if gb == FREE:
        return FREE
    same = pairs.labels.content
    left_behind = [g for g in pairs.uncalled.get(same[0][ga], ()) if pairs.graph_b[g] == FREE]
    if same[0][ga] != same[1][gb]:
        return left_behind[0] if left_behind else gb
    if left_behind and all(_has_moved(pairs, caller) for caller in pairs.a.callers[ga]):
        alike = [g for g in pairs.by_content[same[0][ga]] if pairs.graph_a[g] == FREE]
        if len(alike) == len(left_behind):
            return left_behind[alike.index(ga)]
    callers = [pairs.counterpart_b[caller] for caller in pairs.b.callers[gb]]
    rivals = [g for x in callers if x >= 0 for g in pairs.a.calls[x] if g < ga and pairs.graph_a[g] == FREE]
    merged = any(_called_instead(pairs, x, g) == gb for g in rivals for x in pairs.a.callers[g])
    return FREE if merged else gb


def _has_moved(pairs: Pairs, x: int) -> bool:
    """Whether a node is in another graph now: what it called may have been copied for that."""
    y = pairs.counterpart_a[x]
    return y >= 0 and pairs.graph_a[pairs.a.graph[x]] != pairs.b.graph[y]


def _called_instead(pairs: Pairs, caller: int, ga: int) -> int:
    """The graph that the counterpart of a caller calls instead of `ga`. Branches can be swapped: they match by contents, or by operands."""
    counterpart = pairs.counterpart_a[caller]
    if counterpart < 0:
        return FREE
    called_a, called_b = pairs.a.calls[caller], pairs.b.calls[counterpart]
    if len(called_a) != len(called_b):
        return FREE
    at = called_a.index(ga)
    if len(set(called_b)) > 1:
        shared = [_overlap(pairs, ga, gb) for gb in called_b]
        best = max(shared)
        if best >= shared[at] * _CLEARLY:
            return called_b[shared.index(best)]
    operands_a, operands_b = pairs.a.operands[caller], pairs.b.operands[counterpart]
    if len(called_a) > 1 and len(operands_a) == len(operands_b) == len(called_a) + 1:
        operand = pairs.counterpart_a[operands_a[at + 1] // TAGS]
        branch_operands = [edge // TAGS for edge in operands_b[1:]]
        if branch_operands.count(operand) == 1:
            return called_b[branch_operands.index(operand)]
    return called_b[at]


def _overlap(pairs: Pairs, ga: int, gb: int) -> int:
    """How many nodes of two graphs have equal strict labels."""
    strict_a, strict_b = pairs.labels.of["strict"]
    common = Counter(strict_a[x] for x in pairs.a.members(ga)) & Counter(strict_b[y] for y in pairs.b.members(gb))
    return sum(common.values())


def match_graphs(pairs: Pairs, ga: int, gb: int) -> None:
    """Match the nodes of two matched graphs."""
    contents = pairs.labels.content
    if contents[0][ga] == contents[1][gb]:
        for x, y in zip(pairs.a.members(ga), pairs.b.members(gb), strict=True):
            pairs.pair(x, y)
        return
    xs, ys = pairs.free_a(pairs.a.members(ga)), pairs.free_b(pairs.b.members(gb))
    if not xs or not ys:
        return
    deep_a, deep_b = pairs.labels.of["deep"]
    surroundings = _surroundings(pairs, pairs.a.members(ga), pairs.b.members(gb), xs, ys)
    offset_a, offset_b = pairs.a.first[ga], pairs.b.first[gb]
    for most in (1, len(xs)):
        for around_a, around_b in reversed(surroundings):
            xs, ys = pairs.free_a(xs), pairs.free_b(ys)
            pairs.by_class(xs, [around_a[x - offset_a] for x in xs], ys, [around_b[y - offset_b] for y in ys], most)
            pairs.percolate()
    pairs.by_class(xs, [deep_a[x] for x in xs], ys, [deep_b[y] for y in ys], most=1)
    pairs.percolate()
    _settle(pairs, xs, ys)
    _parts_by_users(pairs, xs)


def _parts_by_users(pairs: Pairs, xs: list[int]) -> None:
    """Match parts of values that have more or fewer parts now: those that all users agree on, which take them as the same operand."""
    kind_a, kind_b = pairs.labels.of["kind"]
    taken: dict[int, set[int]] = {}
    for x in pairs.free_a(xs):
        uses = [(pairs.counterpart_a[edge // TAGS], edge % TAGS // RESULTS) for edge in pairs.a.users[x]]
        operands = [(pairs.b.operands[user], at) for user, at in uses if user >= 0]
        candidates = {edges[at] // TAGS for edges, at in operands if at < len(edges)}
        taken[x] = {y for y in pairs.free_b(candidates) if kind_a[x] == kind_b[y] and pairs.are_parts_of_others(x, y)}
    times = Counter(y for ys in taken.values() for y in ys)
    for x, ys in taken.items():
        if len(ys) == 1 and times[y := next(iter(ys))] == 1:
            pairs.pair(x, y, pairs.current_evidence)


def _settle(pairs: Pairs, xs: list[int], ys: list[int]) -> None:
    """Run the steps that need matched neighbours, most certain first. A match restarts them, a bounded number of times."""
    steps: list[Callable[[list[int], list[int]], int]] = []
    for level in ("deep", "strict", "work", "meant"):
        if level in ("deep", "work"):
            for up in (1, 2, 3):
                steps.append(lambda xs, ys, level=level, up=up: _by_counterparts(pairs, level, xs, ys, up, False, whole=True))  # type: ignore[misc]
        if level == "deep":
            steps.append(lambda xs, ys: _by_value(pairs, xs, ys))
        for up, down in ((1, True), (1, False), (2, False), (0, True)):
            steps.append(lambda xs, ys, level=level, up=up, down=down: _by_counterparts(pairs, level, xs, ys, up, down))  # type: ignore[misc]
        if level == "deep":
            steps.append(lambda xs, ys: _by_counterparts(pairs, "deep", xs, ys, 1, False, some=True))
        steps.append(lambda xs, ys, level=level: _by_place(pairs, level, xs, ys))  # type: ignore[misc]
    steps.append(lambda xs, ys: pairs.percolate(least=2))
    at = restarts = 0
    while at < len(steps):
        xs, ys = pairs.free_a(xs), pairs.free_b(ys)
        if not xs or not ys:
            return
        pairs.current_evidence = "neighbourhood" if at < _SURE_STEPS else "similarity"
        new_pairs = steps[at](xs, ys)
        pairs.current_evidence = "neighbourhood"
        if new_pairs:
            pairs.percolate()
        restarts += bool(new_pairs)
        at = 0 if new_pairs and restarts < _MOST_RESTARTS else at + 1


def _surroundings(
    pairs: Pairs, members_a: range, members_b: range, xs: Sequence[int], ys: Sequence[int]
) -> list[tuple[list[int], list[int]]]:
    """Labels of `xs` and `ys` with everything up to 1, 2, … hops away (operands in order, users as a set), equal on both sides. The labels
    of other members are computed only as far as these need them."""
    sides = ((pairs.a, members_a, _within_hops(pairs.a, members_a, xs)), (pairs.b, members_b, _within_hops(pairs.b, members_b, ys)))
    now = [[pairs.labels.of["deep"][which][i] for i in members] for which, (_, members, _) in enumerate(sides)]
    by_hops = []
    for hop in range(_HOPS):
        numbers: dict[tuple[object, ...], int] = {}
        now = [
            _widened(side, members.start, needed[_HOPS - 1 - hop], label, numbers)
            for (side, members, needed), label in zip(sides, now, strict=True)
        ]
        by_hops.append((now[0], now[1]))
    return by_hops


def _within_hops(side: Side, members: range, among: Sequence[int]) -> list[Sequence[int]]:
    """The nodes, and those at most 1, 2, … hops away from them."""
    within: list[Sequence[int]] = [among]
    for _ in range(_HOPS - 1):
        if len(within[-1]) * 2 > len(members):
            within.append(members)
            continue
        near = set(within[-1])
        for i in within[-1]:
            near.update([edge // TAGS for edge in side.operands[i]])
            near.update([edge // TAGS for edge in side.users[i]])
        within.append(sorted(near))
    return within


def _widened(side: Side, base: int, among: Sequence[int], label: list[int], numbers: dict[tuple[object, ...], int]) -> list[int]:
    operands, users, widened = side.operands, side.users, label.copy()
    for i in among:
        around = (
            label[i - base],
            tuple([label[edge // TAGS - base] * TAGS + edge % TAGS for edge in operands[i]]),
            tuple(sorted([label[edge // TAGS - base] * TAGS + edge % TAGS for edge in users[i]])),
        )
        widened[i - base] = numbers.setdefault(around, len(numbers))
    return widened


def _by_counterparts(
    pairs: Pairs, level: str, xs: list[int], ys: list[int], up: int, down: bool, some: bool = False, whole: bool = False
) -> int:
    """Match nodes with equal labels and the same matched operands, or users, or both.

    Operands count directly (`up` 1), through reshapes (2), or through any node with one operand (3). With `whole`, every operand must be
    matched; otherwise one is enough.
    """

    def keys(side: Side, which: int, among: list[int], name: Sequence[int]) -> list[tuple[object, ...] | int]:
        label, enough = pairs.labels.of[level][which], all if whole else any
        keys_of: list[tuple[object, ...] | int] = []
        for i in among:
            edges = [_origin(side, edge, up == 3) for edge in side.operands[i]] if up > 1 else side.operands[i]
            above = tuple([name[edge // TAGS] * TAGS + edge % TAGS for edge in edges]) if up else ()
            below = [name[edge // TAGS] * TAGS + edge % TAGS for edge in side.users[i] if name[edge // TAGS] >= 0] if down else []
            has_match = (up and enough(part >= 0 for part in above)) or (below and not whole) or (some and not edges)
            if not edges and not below and is_unknown(side.nodes[i]):  # only users know which of several weights it is
                has_match = False
            keys_of.append((label[i], above, tuple(sorted(below))) if has_match else ~i * 2 - which)
        return keys_of

    return pairs.by_class(xs, keys(pairs.a, 0, xs, pairs.name_a), ys, keys(pairs.b, 1, ys, pairs.name_b), some=some)


def _by_value(pairs: Pairs, xs: list[int], ys: list[int]) -> int:
    """Match nodes that do the same to the same values, if an operand is now computed inside a new call, such as a fusion."""
    b = pairs.b
    users_of_calls = {y for y in ys if any(b.calls[e // TAGS] and pairs.counterpart_b[e // TAGS] == FREE for e in b.operands[y])}
    if not users_of_calls or not pairs.valuations:
        return 0
    pairs.valuations -= 1
    inside = set(xs)
    return sum(pairs.pair(x, y) for y, x in derive(pairs).items() if y in users_of_calls and x in inside and pairs.counterpart_a[x] == FREE)


def _origin(side: Side, edge: int, anything: bool) -> int:
    """The edge that the value comes from, looking through reshapes, or through `anything` with one operand."""
    for _ in range(DEEPEST_VIEW):
        node = edge // TAGS
        if len(side.operands[node]) != 1 or not (anything or is_view(side.nodes[node].op)):
            break
        edge = side.operands[node][0] // TAGS * TAGS + edge % TAGS
    return edge


def _by_place(pairs: Pairs, level: str, xs: list[int], ys: list[int]) -> int:
    """Match nodes with equal labels between the same matched nodes of the order. Nodes with users match only nodes with users."""
    label_a, label_b = pairs.labels.of[level]
    if not pairs.across:
        xs, ys = _known(pairs.a, pairs.counterpart_a, xs), _known(pairs.b, pairs.counterpart_b, ys)
    keys_a = [(label_a[x], bool(pairs.a.users[x])) for x in xs]
    keys_b = [(label_b[y], bool(pairs.b.users[y])) for y in ys]
    gap_a, gap_b = _gaps(pairs, xs, ys)
    new_pairs = pairs.by_class(xs, list(zip(keys_a, gap_a, strict=True)), ys, list(zip(keys_b, gap_b, strict=True)))
    return new_pairs or pairs.by_class(xs, keys_a, ys, keys_b)


def _known(side: Side, counterpart: Sequence[int], among: list[int]) -> list[int]:
    """Without constants of which the value is not said and no user is matched: their users, perhaps in another graph now, say which they
    are."""
    users = side.users
    return [
        i for i in among if not is_unknown(side.nodes[i]) or any(counterpart[edge // TAGS] != FREE for edge in users[i]) or not users[i]
    ]


def _gaps(pairs: Pairs, xs: list[int], ys: list[int]) -> tuple[list[int], list[int]]:
    """For each free node, how many nodes of the longest common subsequence of matched nodes are before it."""
    if not xs or not ys:
        return [], []
    members = pairs.a.members(pairs.a.graph[xs[0]])
    matched = [x for x in members if pairs.counterpart_a[x] >= 0 and pairs.b.graph[pairs.counterpart_a[x]] == pairs.b.graph[ys[0]]]
    positions = longest_increasing([pairs.counterpart_a[x] for x in matched])
    fixed_a = [matched[i] for i in positions]
    fixed_b = [pairs.counterpart_a[x] for x in fixed_a]
    return [bisect_left(fixed_a, x) for x in xs], [bisect_left(fixed_b, y) for y in ys]


def _same_contents(pairs: Pairs, contents: tuple[list[int], list[int]]) -> bool:
    """Match graphs with equal contents: first graphs of b without callers, then those with similar callers, then any, in order.

    A graph without callers must be an old one, because passes create graphs in order to call them.
    """
    free_a = [ga for ga, gb in enumerate(pairs.graph_a) if gb == FREE]
    free_b = [gb for gb, ga in enumerate(pairs.graph_b) if ga == FREE]
    orphans = _by_number(contents[1], [g for graphs in pairs.uncalled.values() for g in graphs if pairs.graph_b[g] == FREE])
    waiting_a = _by_number(contents[0], free_a)
    orphan_pairs = [zip(waiting_a[c], gs, strict=True) for c, gs in orphans.items() if len(waiting_a.get(c, ())) == len(gs)]
    if _pair_all(pairs, [pair for several in orphan_pairs for pair in several]):
        return True

    def called_by(side: Side, which: int, level: str, g: int) -> tuple[int, ...]:
        label = pairs.labels.of[level][which]
        return tuple(sorted([label[caller] for caller in side.callers[g]]))

    for level in ("strict", "meant"):
        keyed: dict[object, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for ga in free_a:
            keyed[contents[0][ga], called_by(pairs.a, 0, level, ga)][0].append(ga)
        for gb in free_b:
            keyed[contents[1][gb], called_by(pairs.b, 1, level, gb)][1].append(gb)
        same = [(ga, gb) for xs, ys in keyed.values() if len(xs) == len(ys) for ga, gb in zip(xs, ys, strict=True)]
        if _pair_all(pairs, same):
            return True
    alike = _by_number(contents[1], sorted(free_b, key=lambda gb: bool(pairs.b.callers[gb])))
    waiting = {content: iter(graphs) for content, graphs in alike.items()}
    any_order = [(ga, next(waiting.get(contents[0][ga], iter(())), None)) for ga in free_a]
    return _pair_all(pairs, [(ga, gb) for ga, gb in any_order if gb is not None])


def _pair_all(pairs: Pairs, graphs: list[tuple[int, int]]) -> bool:
    return sum(pairs.pair_graphs(ga, gb) for ga, gb in graphs) > 0


def _by_number(number: Sequence[int], graphs: Sequence[int]) -> dict[int, list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for g in graphs:
        groups[number[g]].append(g)
    return groups


def _by_rare_nodes(pairs: Pairs) -> bool:
    """Match graphs that share most of their rare nodes."""
    strict_a, strict_b = pairs.labels.of["strict"]
    free_b = [gb for gb, ga in enumerate(pairs.graph_b) if ga == FREE]
    holders: dict[int, set[int]] = defaultdict(set)
    for gb in free_b:
        for y in pairs.b.members(gb):
            holders[strict_b[y]].add(gb)
    candidates: list[tuple[float, int, int]] = []
    for ga, gb in enumerate(pairs.graph_a):
        if gb != FREE:
            continue
        votes: Counter[int] = Counter()
        for x in pairs.a.members(ga):
            at = holders.get(strict_a[x], ())
            if len(at) <= _RARE:
                votes.update(at)
        for gb, count in votes.most_common(_RARE):
            size = max(len(pairs.a.graphs[ga]), len(pairs.b.graphs[gb]))
            if count >= 2 and count * 2 >= size:
                candidates.append((-count / size, ga, gb))
    any_pair = False
    for _, ga, gb in sorted(candidates):
        any_pair |= pairs.pair_graphs(ga, gb)
    return any_pair


def _across_graphs(pairs: Pairs) -> None:
    """Match nodes that moved: those with equal surroundings in any graph, if only one node qualifies."""
    pairs.across = True
    xs, ys = pairs.free_a(range(len(pairs.a))), pairs.free_b(range(len(pairs.b)))
    if not xs or not ys:
        return
    for around_a, around_b in reversed(_surroundings(pairs, range(len(pairs.a)), range(len(pairs.b)), xs, ys)):
        pairs.by_class(xs, [around_a[x] for x in xs], ys, [around_b[y] for y in ys], most=1)
        pairs.percolate()
        xs, ys = pairs.free_a(xs), pairs.free_b(ys)
    for level in ("deep", "strict"):
        for up, down in ((True, True), (True, False), (False, True)):
            if _by_counterparts(pairs, level, xs, ys, up, down):
                pairs.percolate()
            xs, ys = pairs.free_a(xs), pairs.free_b(ys)
    weights = [x for x in xs if is_unknown(pairs.a.nodes[x])], [y for y in ys if is_unknown(pairs.b.nodes[y])]
    for ga, gb in enumerate(pairs.graph_a) if all(weights) else ():
        among = [x for x in weights[0] if pairs.a.graph[x] == ga], [y for y in weights[1] if pairs.b.graph[y] == gb]
        for level in ("deep", "strict") if all(among) else ():
            _by_place(pairs, level, pairs.free_a(among[0]), pairs.free_b(among[1]))
