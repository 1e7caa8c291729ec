"""Which node of one program is which of another.

Evidence in order of trust: what the compiler recorded (`rewrite`, `identity`), stable names (`name`), names of outputs (`output`),
what nodes are and what stands around them (`neighbourhood`), and at last likeness alone (`similarity`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opscope.program import NodeKey, Program
from opscope.recording.match.absorb import absorbed
from opscope.recording.match.derive import derive
from opscope.recording.match.indexed_program import Labels, Side
from opscope.recording.match.names import match_names, match_outputs, names_are_stable
from opscope.recording.match.pairs import FREE, GROUPED, Pairs
from opscope.recording.match.same import untouched
from opscope.recording.match.structure import match_structure
from opscope.recording.model import Origin

EVIDENCE = ("rewrite", "identity", "name", "output", "neighbourhood", "similarity")


class Group(NamedTuple):
    """Nodes (by number) that belong together without being one pair: n of a became m of b."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    evidence: str
    rule: str = ""


class Beginning(NamedTuple):
    """What is known before structure is looked at."""

    pairs: Pairs
    groups: list[Group]
    ids: str


class Matching(NamedTuple):
    pairs: Pairs
    groups: list[Group]
    """Told by the compiler: rewrites of several nodes, or into several."""
    derived: dict[int, int]
    """Further nodes of b that compute what a node of a did: copies made for fusions, inlined calls."""
    absorbed: dict[int, int]
    """Nodes of a that went into a node of b, beside its counterpart."""
    ids: str
    """What equal ids were taken to mean."""


class Matcher:
    """Matches two programs, once or in several ways: what does not depend on names is prepared once.

    `ids` says what equal node ids mean: "names" that the compiler keeps, "objects" that live on, "positions" that mean nothing.
    """

    def __init__(self, a: Program, b: Program, origins: Iterable[Origin] = ()) -> None:
        self._origins = list(origins)
        self._same = untouched(a, b, self._origins)
        self._a, self._b = Side(a, self._same), Side(b, self._same)
        self._labels = Labels(self._a, self._b)

    def match(self, ids: str | None) -> Matching:
        return self.finish(self.begin(ids))

    def begin(self, ids: str | None) -> Beginning:
        """What the compiler told, and names where they mean something. If nobody says so, the programs themselves are asked."""
        pairs = Pairs(self._a, self._b, self._labels)
        for name in self._same:
            pairs.pair_graphs(self._a.graph_number[name], self._b.graph_number[name])
        groups = _recorded(pairs, self._origins)
        if ids is None:
            ids = "names" if names_are_stable(pairs) else "positions"
        if ids != "positions":
            match_names(pairs, "identity" if ids == "objects" else "name")
        return Beginning(pairs, groups, ids)

    def finish(self, beginning: Beginning) -> Matching:
        """Match what is still free by outputs and structure."""
        pairs, groups, ids = beginning
        match_outputs(pairs)
        match_structure(pairs)
        copies = derive(pairs)
        copied = set(copies.values())
        gone = {x: y for x, y in absorbed(pairs).items() if x not in copied}
        return Matching(pairs, groups, copies, gone, ids)


def _recorded(pairs: Pairs, origins: Iterable[Origin]) -> list[Group]:
    """What the compiler itself told. One node that became one is a pair; everything else is a group, and taken."""
    groups = []
    number_a, number_b = _numbers(pairs.a), _numbers(pairs.b)
    for origin in origins:
        old = tuple([number_a[key] for key in origin.old if key in number_a])
        new = tuple([number_b[key] for key in origin.new if key in number_b])
        if len(old) == len(new) == 1 and pairs.counterpart_a[old[0]] == FREE == pairs.counterpart_b[new[0]]:
            pairs.pair(old[0], new[0], origin.evidence)
            pairs.rules[old[0]] = origin.rule
        elif old and new:
            groups.append(Group(old, new, origin.evidence, origin.rule))
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
