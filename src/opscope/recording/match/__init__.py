"""Matches the nodes of two programs.

Evidence, strongest first: origins that the compiler recorded (`rewrite`, `identity`), stable names (`name`), names of outputs (`output`),
the place in the user's program (`place`), the operand of a consumer that stays (`slot`), the kind of a node and its neighbours
(`neighbourhood`), and finally similarity alone (`similarity`). What cannot be decided is `undecided`, with all candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from opscope.program import NodeKey, Program
from opscope.recording.match.absorb import absorbed
from opscope.recording.match.derive import derive
from opscope.recording.match.followers import match_followers
from opscope.recording.match.indexed_program import Labels, Side
from opscope.recording.match.names import match_clones, match_names, match_outputs, names_are_stable
from opscope.recording.match.pairs import FREE, GROUPED, Pairs
from opscope.recording.match.places import match_twins
from opscope.recording.match.same import untouched
from opscope.recording.match.slots import replacements
from opscope.recording.match.structure import match_structure
from opscope.recording.model import TAKES_PLACE, Origin

EVIDENCE = ("rewrite", "identity", "name", "output", "place", "slot", "neighbourhood", "similarity", "undecided")

REPLACED = ("slot", "undecided")
"""The evidence of replacements: their nodes count as removed and added all the same."""


class Group(NamedTuple):
    """Nodes (by number) that match as a group and not as pairs: n of a became m of b."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    evidence: str
    rule: str = ""


class Beginning(NamedTuple):
    """The matches before structure is considered."""

    pairs: Pairs
    groups: list[Group]
    ids: str
    one_compilation: bool


class Matching(NamedTuple):
    pairs: Pairs
    groups: list[Group]
    """Rewrites of several nodes, or into several, as recorded by the compiler."""
    derived: dict[int, int]
    """Further nodes of b that compute the value of a node of a: copies for fusions, inlined calls."""
    absorbed: dict[int, int]
    """Nodes of a that were merged into a node of b, in addition to its counterpart."""
    replaced: list[Group]
    """Nodes of a without a counterpart, and what is in their place; those of b are new, or were there before. Also nodes of a that were
    made anew with another shape, and the new nodes that give their old value."""
    ids: str
    """What equal ids mean: one of the values of `Matcher`."""


class Matcher:
    """Matches two programs, in one way or in several; everything that does not depend on names is prepared once.

    `ids` says what equal node ids mean: "names" are stable, "objects" are the same object, "positions" mean nothing.
    """

    def __init__(self, a: Program, b: Program, origins: Iterable[Origin] = ()) -> None:
        self.origins = tuple(origins)
        self._same = untouched(a, b, self.origins)
        self._a, self._b = Side(a, self._same), Side(b, self._same)
        self._labels = Labels(self._a, self._b)

    def match(self, ids: str | None) -> Matching:
        return self.finish(self.begin(ids))

    def take(self, ids: str) -> Matching:
        """Only what the origins say, which are the links of all passes between the programs: whatever they leave out is gone, or new."""
        pairs = Pairs(self._a, self._b, self._labels)
        number_a, number_b = _numbers(self._a), _numbers(self._b)
        links = [
            Group(tuple([number_a[key] for key in origin.old]), tuple([number_b[key] for key in origin.new]), origin.evidence, origin.rule)
            for origin in self.origins
        ]
        became = [link for link in links if link.rule != TAKES_PLACE]
        for old, new, evidence, _ in became:
            if len(old) == len(new) == 1:
                pairs.pair(old[0], new[0], evidence)
        votes = Counter((self._a.graph[x], self._b.graph[y]) for x, y in enumerate(pairs.counterpart_a) if y >= 0)
        for (ga, gb), _ in votes.most_common():
            pairs.pair_graphs(ga, gb)
        copies: dict[int, int] = {}
        merged: dict[int, int] = {}
        for old, (y, *_), evidence, _ in became:
            if pairs.counterpart_b[y] == FREE and not pairs.pair(old[0], y, evidence):
                copies[y] = old[0]
            elif pairs.counterpart_b[y] >= 0:
                merged.update((x, y) for x in pairs.free_a(old))
        replaced = [link._replace(rule="") for link in links if link.rule == TAKES_PLACE and pairs.counterpart_b[link.b[0]] not in link.a]
        return Matching(pairs, [], copies, merged, replaced, ids)

    def begin(self, ids: str | None, one_compilation: bool = True) -> Beginning:
        """Match by recorded origins, and by names if they are stable; without `ids`, the programs decide whether they are. Within
        `one_compilation` a node stays in its layer; in another one, layers may have other numbers."""
        pairs = Pairs(self._a, self._b, self._labels, one_compilation)
        for name in self._same:
            pairs.pair_graphs(self._a.graph_number[name], self._b.graph_number[name])
        groups = _recorded(pairs, self.origins)
        if ids is None:
            ids = "names" if names_are_stable(pairs) else "positions"
        if ids != "positions":
            match_names(pairs, "identity" if ids == "objects" else "name")
        if ids == "names":
            match_clones(pairs, "name")
        return Beginning(pairs, groups, ids, one_compilation)

    def finish(self, beginning: Beginning) -> Matching:
        """Match the free nodes by outputs and structure."""
        pairs, groups, ids, one_compilation = beginning
        match_outputs(pairs)
        match_structure(pairs)
        copies = derive(pairs)
        copied = set(copies.values())
        if one_compilation:
            match_twins(pairs, copied, copies)
        else:
            match_followers(pairs, copied, copies)
        merged = {x: y for x, y in absorbed(pairs).items() if x not in copied}
        instead = replacements(pairs, copies, merged, made_anew=one_compilation)
        pairs.work = None
        replaced = [Group(each.a, each.b, "slot" if each.decided else "undecided") for each in instead]
        return Matching(pairs, groups, copies, merged, replaced, ids)


def _recorded(pairs: Pairs, origins: Iterable[Origin]) -> list[Group]:
    """Match by recorded origins: one node that became one is a pair, everything else is a group, whose nodes are no longer free. A
    compiler may say of each new node where it came from, so what one rule made of the same nodes is taken together."""
    groups = []
    number_a, number_b = _numbers(pairs.a), _numbers(pairs.b)
    became: dict[tuple[tuple[int, ...], str, str], dict[int, None]] = {}
    for origin in origins:
        old = tuple([number_a[key] for key in origin.old if key in number_a])
        new = [number_b[key] for key in origin.new if key in number_b]
        if old and new:
            became.setdefault((old, origin.evidence, origin.rule), {}).update(dict.fromkeys(new))
    times = Counter((x, rule) for old, _, rule in became for x in old)
    for (old, evidence, rule), together in became.items():
        new = list(together)
        alone = len(old) == len(new) == 1 == times[old[0], rule]
        if alone and pairs.counterpart_a[old[0]] == FREE == pairs.counterpart_b[new[0]]:
            pairs.pair(old[0], new[0], evidence)
            pairs.rules[old[0]] = rule
        else:
            groups.append(Group(old, tuple(new), evidence, rule))
    for group in groups:
        for x in group.a:
            if pairs.counterpart_a[x] == FREE:
                pairs.counterpart_a[x] = GROUPED
        for y in group.b:
            if pairs.counterpart_b[y] == FREE:
                pairs.counterpart_b[y] = GROUPED
    return groups


def _numbers(side: Side) -> dict[NodeKey, int]:
    return {(side.graphs[side.graph[i]].name, node.id): i for i, node in enumerate(side.nodes)}
