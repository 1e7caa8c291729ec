"""Repeated blocks of graphs that nobody named, as a grouping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from string import ascii_uppercase
from types import MappingProxyType
from typing import NamedTuple

from opscope.analysis.structure.align import ABSENT, align
from opscope.analysis.structure.blocks import Family, families
from opscope.analysis.structure.echoes import is_rotated
from opscope.analysis.structure.shift import Shift, classes_by_count, usual_lengths
from opscope.analysis.structure.titles import UPDATE_TITLE, title_after, title_of
from opscope.analysis.structure.wiring import Kinds, Wiring
from opscope.ops import facts_of
from opscope.program import Graph, Node, Path, Program

STRUCTURE = "structure"
SEEN_WHOLE = 32
"""A graph with fewer nodes is seen whole: closed blocks would hide operations for nothing."""
_FEWEST_OPS = 2
"""Every block has an operation, and one block is not repeated."""
_FEWEST_NODES = 8
"""A smaller block is not searched for blocks."""
_MOST_COUNTS = 4
"""How many counts are tried before the best one is taken."""
_ENOUGH = 0.5
"""Blocks with this share of the nodes are taken without trying other counts."""
_SURROUNDINGS = (3, 1)
"""How many steps around operations have to look alike for a start."""
_WORK = 40
"""The search ends when it has passed so many edges for each node of the graph."""


def add_structure(program: Program) -> Program:
    """The program with the grouping "structure" on its graphs with repeated blocks, whatever other groupings it has."""
    kinds = Kinds(program)
    graphs = dict(program.graphs)
    single_steps = {called for graph in program for node in graph.calling if _is_fusion(node) for called in node.calls}
    for name, graph in program.graphs.items():
        if name in single_steps or STRUCTURE in graph.groupings:
            continue
        paths = structure_of(graph, kinds, program)
        if paths:
            graphs[name] = replace(graph, groupings=MappingProxyType({**graph.groupings, STRUCTURE: MappingProxyType(paths)}))
    same = all(graphs[name] is graph for name, graph in program.graphs.items())
    return program if same else replace(program, graphs=MappingProxyType(graphs))


def _is_fusion(node: Node) -> bool:
    return facts_of(node.op).control == "fusion"


def structure_of(graph: Graph, kinds: Kinds, program: Program) -> dict[str, Path]:
    """The path of each node that is in a repeated block."""
    if len(graph) < SEEN_WHOLE or list(graph.roles).count("op") < _FEWEST_OPS:
        return {}
    search = _Search(Wiring(graph, kinds), program)
    search.run()
    return {graph.nodes[node].id: search.paths[node] for node in sorted(search.paths)}


class _Part(NamedTuple):
    """Nodes to search, and for each of them all nodes that it stands for: the same node in every block around it."""

    members: list[int]
    images: Mapping[int, Sequence[int]]


class _Search:
    """Finds the blocks of a graph, then those inside one of each kind of block, which stands for the others."""

    def __init__(self, wiring: Wiring, program: Program) -> None:
        self.paths: dict[int, Path] = {}
        self._wiring = wiring
        self._program = program
        self._work = _WORK * len(wiring.nodes)

    def run(self) -> None:
        everything = range(len(self._wiring.nodes))
        parts = [_Part(list(everything), {node: (node,) for node in everything})]
        for part in parts:  # grows while it is read
            blocks = self._families(part.members)
            for family, title in zip(blocks, self._titles(blocks), strict=True):
                self._name(family, title, part)
                typical = family.typical
                inside = [row for row in family.rows if row[typical] != ABSENT]
                if len(inside) >= 2 * _FEWEST_NODES:
                    images = {row[typical]: [image for node in row if node != ABSENT for image in part.images[node]] for row in inside}
                    parts.append(_Part(sorted(images), images))

    def _name(self, family: Family, title: str, part: _Part) -> None:
        for row in family.rows:
            for block, node in enumerate(row, 1):
                if node != ABSENT:
                    for image in part.images[node]:
                        self.paths[image] = (*self.paths.get(image, ()), f"{title} {block}")

    def _families(self, members: list[int]) -> list[Family]:
        """The families of blocks among some nodes. Far surroundings tell chains of long blocks apart; near ones are the same in more
        blocks of a short chain."""
        free = bytearray(len(self._wiring.nodes))
        for node in members:
            free[node] = 1
        blocks = [family for steps in _SURROUNDINGS for family in self._around(members, free, steps)]
        return sorted(blocks, key=lambda family: min(family.nodes(family.typical)))

    def _around(self, members: list[int], free: bytearray, steps: int) -> list[Family]:
        """The families among the free nodes: again and again the best of the most frequent counts, until nothing repeats."""
        members_left = [node for node in members if free[node]]
        label = self._wiring.surroundings(members_left, steps)
        blocks: list[Family] = []
        refused: set[int] = set()
        while self._work > 0:
            classes = classes_by_count(self._wiring, label, [node for node in members_left if free[node]])
            votes = {times: times * len(alike) for times, alike in classes.items() if times not in refused}
            best: list[Family] = []
            for times in sorted(votes, key=lambda times: (-votes[times], times))[:_MOST_COUNTS]:
                trial = self._try(members, free, label, classes[times])
                if not trial:
                    refused.add(times)
                elif _worth(trial) > _worth(best):
                    best = trial
                if _worth(best) >= _ENOUGH * len(members):
                    break
            if not best and len(votes) <= _MOST_COUNTS:
                break
            blocks += best
            for family in best:
                for row in family.rows:
                    for node in row:
                        if node != ABSENT:
                            free[node] = 0
        return blocks

    def _try(self, members: list[int], free: bytearray, label: Mapping[int, int], alike: list[list[int]]) -> list[Family]:
        shift = Shift(self._wiring, label, free)
        shift.grow(alike)
        orbits = shift.orbits()
        best: list[Family] = []
        for length in usual_lengths(self._wiring, orbits):
            self._work -= shift.work + len(members)
            found = families(self._wiring, members, align(self._wiring, orbits, length))
            blocks = [family for family in found if not is_rotated(self._wiring, family)]
            if _worth(blocks) > _worth(best):
                best = blocks
        return best

    def _titles(self, blocks: list[Family]) -> list[str]:
        """Titles by content. Those that several families share, and those without one, get letters."""
        titles = [title_of(self._contents(family)) for family in blocks]
        starts = {family.after for family in blocks} - {ABSENT}
        keepers = {node: i for i, family in enumerate(blocks) for row in family.rows for node in row if node in starts}
        for i, family in enumerate(blocks):  # in the order of the graph: a keeper comes before
            if family.after in keepers and titles[i] != UPDATE_TITLE:
                titles[i] = title_after(titles[keepers[family.after]] or "block")
        titles = [title or "block" for title in titles]
        shared = Counter(titles)
        letters = {title: _letters() for title in shared}
        return [f"{title} {next(letters[title])}" if shared[title] > 1 or title == "block" else title for title in titles]

    def _contents(self, family: Family) -> Iterator[Node]:
        """The nodes of one block, and those that fusions among them consist of."""
        for position in family.nodes(family.typical):
            node = self._wiring.nodes[position]
            for called in node.calls:
                yield from self._program[called].nodes
            yield node


def _worth(blocks: list[Family]) -> float:
    return sum(family.worth for family in blocks)


def _letters() -> Iterator[str]:
    """A … Z, AA … AZ, BA …"""
    for number in count(1):
        letters = ""
        while number:
            number, digit = divmod(number - 1, len(ascii_uppercase))
            letters = ascii_uppercase[digit] + letters
        yield letters
