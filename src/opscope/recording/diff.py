"""What changed between two programs: matched nodes with their changes, and the nodes that were added and removed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from opscope.gc_pause import without_collecting
from opscope.naming import checks_keywords
from opscope.program import NodeKey, Program
from opscope.recording.changes import Change, detail_changes, types_text
from opscope.recording.match import Group, Matcher, Matching
from opscope.recording.match.indexed_program import TAGS, Side
from opscope.recording.match.names import contradictions, names_are_stable
from opscope.recording.match.pairs import GROUPED
from opscope.recording.match.places import match_arguments, match_places
from opscope.recording.match.values import is_filled
from opscope.recording.model import EITHER, PLACES, Origin

COMPOSED = "composed"
"""Ids need no meaning: origins say what became of every node, through all passes between two snapshots."""
_CLEARLY = 0.9
"""One of two diffs counts as smaller if its size is below this share of the other's. With correct names, a diff without them can be smaller
by chance (91 % of the other or more, in all passes of two XLA dumps); with renumbered names it has 71 % or less."""


class Match(NamedTuple):
    """Nodes of a that became nodes of b, usually one each, with the evidence and the changes."""

    a: tuple[NodeKey, ...]
    b: tuple[NodeKey, ...]
    evidence: str
    changes: tuple[Change, ...] = ()
    rule: str = ""

    @property
    def moved(self) -> bool:
        return any(change.field in ("scope", "graph") for change in self.changes)


class Fusion(NamedTuple):
    """A new node that replaces several old ones."""

    old: tuple[NodeKey, ...]
    new: NodeKey

    def __str__(self) -> str:
        names = ", ".join(id for _, id in self.old[:8]) + (", …" if len(self.old) > 8 else "")
        which = "this one" if len(self.old) == 1 else f"these {len(self.old)}"
        return f"{which} became {self.new[1]}: {names}"


class Diff:
    """The difference between two programs. Matches are in the order of b, those of untouched graphs first."""

    def __init__(self, a: Program, b: Program, matching: Matching) -> None:
        self.a, self.b = a, b
        self.ids: str | None = None
        """What equal ids were said to mean (see `diff_passes`)."""
        self.origins: tuple[Origin, ...] = ()
        """What was said about where nodes came from."""
        self._instead = ""
        self.untouched = matching.pairs.a.same
        """Graphs that are identical in both programs, with all graphs that they call."""
        self._matching = matching
        self._keys_a, self._keys_b = _keys(matching.pairs.a), _keys(matching.pairs.b)

    @cached_property
    def matched(self) -> tuple[Match, ...]:
        keys = [((graph.name, node.id),) for graph in self.b if graph.name in self.untouched for node in graph.nodes]
        return (*(Match(key, key, self.untouched_evidence) for key in keys), *self.compared)

    @cached_property
    def compared(self) -> tuple[Match, ...]:
        """Like `matched`, without the nodes of untouched graphs: the matches that can differ."""
        return tuple(self._matches())

    @property
    def untouched_evidence(self) -> str:
        return {"names": "name", "objects": "identity", "positions": "neighbourhood"}[self._matching.ids]

    def _matches(self) -> Iterator[Match]:
        pairs, groups, derived, absorbed, _, _ = self._matching
        copies: dict[int, list[int]] = defaultdict(list)
        for y, x in derived.items():
            copies[x].append(y)
        merged: dict[int, list[int]] = defaultdict(list)
        for x, y in absorbed.items():
            merged[y].append(x)
        for y, x in enumerate(pairs.counterpart_b):
            if x >= 0:
                rule = pairs.rules.get(x, "")
                old = (x,) if y not in merged else (*reversed(merged[y]), x)
                yield Match(tuple([self._keys_a[i] for i in old]), (self._keys_b[y],), pairs.evidence[x], self._changes(x, y), rule)
        yield from map(self._match_of, groups)
        for x, ys in copies.items():
            yield Match((self._keys_a[x],), tuple([self._keys_b[y] for y in ys]), "neighbourhood", self._changes(x, ys[0]))
        yield from self.replaced

    @property
    def replaced(self) -> tuple[Match, ...]:
        """Nodes that are gone, with what is in their place now, as the consumers that stay show. They count as removed, and those of b
        that are new as added. An operation that was made anew with another shape, which is its counterpart, also has here the new node that
        gives its old value."""
        return tuple([self._match_of(group) for group in self._matching.replaced if group.evidence == "slot"])

    @property
    def undecided(self) -> tuple[Match, ...]:
        """Nodes that are gone, each of which was replaced by one of the others."""
        return tuple([self._match_of(group) for group in self._matching.replaced if group.evidence == "undecided"])

    def _match_of(self, group: Group) -> Match:
        old, new = tuple([self._keys_a[x] for x in group.a]), tuple([self._keys_b[y] for y in group.b])
        return Match(old, new, group.evidence, rule=group.rule)

    def pairs(self) -> Iterator[tuple[NodeKey, NodeKey]]:
        """Every node of a that has exactly one counterpart in b, with that counterpart; without copies and groups."""
        for x, y in enumerate(self._matching.pairs.counterpart_a):
            if y >= 0:
                yield self._keys_a[x], self._keys_b[y]
        for name in self.untouched:
            for node in self.a[name].nodes:
                yield (name, node.id), (name, node.id)

    @cached_property
    def changed(self) -> tuple[Match, ...]:
        """Matches with changes."""
        return tuple(match for match in self.compared if match.changes)

    @cached_property
    def moved(self) -> tuple[Match, ...]:
        return tuple(match for match in self.compared if match.moved)

    @cached_property
    def removed(self) -> tuple[NodeKey, ...]:
        pairs, _, derived, absorbed, _, _ = self._matching
        survivors = {*derived.values(), *absorbed}
        return tuple([self._keys_a[x] for x, y in enumerate(pairs.counterpart_a) if y == -1 and x not in survivors])

    @cached_property
    def added(self) -> tuple[NodeKey, ...]:
        pairs, _, derived, _, _, _ = self._matching
        return tuple([self._keys_b[y] for y, x in enumerate(pairs.counterpart_b) if x == -1 and y not in derived])

    @cached_property
    def removed_by(self) -> dict[NodeKey, str]:
        """The rule that removed a node and put nothing new in its place: the name of a pattern, as the compiler gave it."""
        return {key: origin.rule for origin in self.origins if origin.rule and not origin.new for key in origin.old}

    @cached_property
    def rewritten(self) -> tuple[tuple[NodeKey, ...], tuple[NodeKey, ...]]:
        """Nodes that were added and removed by rewrites of several nodes, which match as a group although none of them is the same.

        A node that is now computed several times (one old, several new, by identity) counts as added once for each further time.
        """
        pairs, groups = self._matching.pairs, self._matching.groups
        came = {self._keys_b[y]: None for y, x in enumerate(pairs.counterpart_b) if x == GROUPED}
        went = {self._keys_a[x]: None for x, y in enumerate(pairs.counterpart_a) if y == GROUPED}
        for group in groups:
            first, again = self._keys_b[group.b[0]], self._keys_a[group.a[0]]
            if group.evidence == "identity" and len(group.a) == 1 and first in came and again in went:
                del came[first], went[again]
        return tuple(came), tuple(went)

    @cached_property
    def all_added(self) -> tuple[NodeKey, ...]:
        """What counts as added, rewrites included."""
        return (*self.added, *self.rewritten[0])

    @cached_property
    def all_removed(self) -> tuple[NodeKey, ...]:
        """What counts as removed, rewrites included."""
        return (*self.removed, *self.rewritten[1])

    @cached_property
    def copied(self) -> int:
        """How many nodes of b are further copies of a node of a; they count neither as added nor as its counterpart."""
        pairs, _, derived, _, _, _ = self._matching
        return len(derived) - len({x for x in derived.values() if pairs.counterpart_a[x] < 0})

    @cached_property
    def merged(self) -> int:
        """How many nodes of a became part of a node of b that has another counterpart; they do not count as removed."""
        pairs, _, derived, absorbed, _, _ = self._matching
        origins = set(derived.values())
        return sum(pairs.counterpart_a[x] == -1 and x not in origins for x in absorbed)

    @property
    def size(self) -> int:
        """How many nodes were added, removed, merged or changed."""
        return len(self.added) + len(self.removed) + self.merged + len(self.changed)

    @property
    def single_differences(self) -> int:
        """Like `size`, but counts every single change of a node: wrongly matched nodes have many."""
        return len(self.added) + len(self.removed) + self.merged + sum(len(match.changes) for match in self.changed)

    @property
    def names(self) -> str:
        """Whether nodes were matched by name: "used" or "ignored"."""
        return "ignored" if self._matching.ids == "positions" else "used"

    def instead_of(self, instead: str) -> Diff:
        """This diff, chosen from two; `instead` says what the other one would have given."""
        self._instead = instead
        return self

    @property
    def basis(self) -> str:
        """How nodes were matched, and what the other way would have given if it was tried."""
        if self.ids == COMPOSED:
            return "followed through every pass between them"
        how = "matched by name" if self.names == "used" else "matched by structure, names ignored"
        return f"{how}; {self._instead}" if self._instead else how

    @property
    def same(self) -> bool:
        return not (self.added or self.removed or self.changed or self.merged or self.copied or self._matching.groups)

    @cached_property
    def aside(self) -> str:
        """The remaining difference if all nodes are equal: "3 renamed", "reordered", "annotations", or an empty string.

        Annotations are names in attributes, and attributes of the module.
        """
        pairs = [(a[1], b[1]) for a, b in self.pairs()]
        if any(a != b for a, b in pairs):
            return f"{sum(a != b for a, b in pairs):,} renamed"
        if [node.id for graph in self.a for node in graph] != [node.id for graph in self.b for node in graph]:
            return "reordered"
        return "annotations" if self.a != self.b else ""

    @cached_property
    def fusions(self) -> tuple[Fusion, ...]:
        """New nodes that call a new graph, with the old nodes that this graph contains now. Zeros, as the loop that a scatter became also
        has, are no reason to call it a fusion of those that were there before."""
        pairs, _, derived, _, _, _ = self._matching
        side = pairs.b
        fusions = []
        for y, called in enumerate(side.calls):
            fresh = [g for g in called if pairs.graph_b[g] == -1]
            if not fresh or pairs.counterpart_b[y] >= 0 or y in derived or side.only_calls(y):
                continue  # a copy calls a copy of what the node called
            origins = {
                i: pairs.counterpart_b[i] if pairs.counterpart_b[i] >= 0 else derived.get(i, -1)
                for g in fresh
                for i in side.members(g)
                if side.nodes[i].role == "op"
            }
            old = {x for x in origins.values() if x >= 0}
            by_chance = all(is_filled(pairs.a, x) for x in old) and not all(x >= 0 or is_filled(side, i) for i, x in origins.items())
            if old and not by_chance:
                fusions.append(Fusion(tuple([self._keys_a[x] for x in sorted(old)]), self._keys_b[y]))
        return tuple(fusions)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Both programs in numbers: nodes, changed counts of ops, parameters, FLOPs, bytes, and operations of unknown cost."""
        from opscope.analysis.info import info_of

        first, second = info_of(self.a), info_of(self.b)
        names = ("nodes", "parameter_elements", "parameter_bytes", "flops", "bytes", "unknown")
        ops_a, ops_b = Counter(node.op for g in self.a for node in g), Counter(node.op for g in self.b for node in g)
        return {
            **{name: [getattr(first, name), getattr(second, name)] for name in names},
            "ops": {op: [ops_a[op], ops_b[op]] for op in sorted({*ops_a, *ops_b}) if ops_a[op] != ops_b[op]},
        }

    def to_json(self) -> dict[str, Any]:
        """The JSON of `opscope diff --json`; its documented keys are a contract."""
        return {
            "names": self.names,
            "counts": {
                "added": len(self.all_added),
                "removed": len(self.all_removed),
                "changed": len(self.changed),
                "merged": self.merged,
                "copied": self.copied,
            },
            "matched": [
                {
                    "a": [list(key) for key in match.a],
                    "b": [list(key) for key in match.b],
                    "evidence": match.evidence,
                    "changed": [change.field for change in match.changes],
                    **({"changes": [list(change) for change in match.changes]} if match.changes else {}),
                    **({"rule": match.rule} if match.rule else {}),
                }
                for match in self.matched
            ],
            "undecided": [{"a": [list(key) for key in match.a], "b": [list(key) for key in match.b]} for match in self.undecided],
            "added": [list(key) for key in self.added],
            "removed": [list(key) for key in self.removed],
            "fusions": [{"old": [list(key) for key in fusion.old], "new": list(fusion.new)} for fusion in self.fusions],
        }

    def __repr__(self) -> str:
        return f"<Diff {self.a.name} → {self.b.name}: +{len(self.added)} −{len(self.removed)} ~{len(self.changed)}>"

    def _changes(self, x: int, y: int) -> tuple[Change, ...]:
        side_a, side_b = self._matching.pairs.a, self._matching.pairs.b
        old, new = side_a.nodes[x], side_b.nodes[y]
        changes: list[Change] = []
        if old.op != new.op:
            changes.append(Change("op", old.op, new.op))
        strict_a, strict_b = self._matching.pairs.labels.of["strict"]
        if strict_a[x] != strict_b[y]:
            if old.outputs != new.outputs:
                changes.append(Change("type", types_text(old.outputs), types_text(new.outputs)))
            changes.extend(detail_changes(old, new, self._matching.pairs.labels))
        if not self._same_operands(side_a.operands[x], side_b.operands[y]):
            changes.append(self._operand_change(x, y))
        called_a, called_b = side_a.calls[x], side_b.calls[y]
        if (called_a or called_b) and [self._matching.pairs.graph_a[g] for g in called_a] != called_b:
            changes.append(Change("calls", ", ".join(self._graph_names(called_a, new.calls)), ", ".join(new.calls)))
        if (old.control or new.control) and self._controls(x) != set(new.control):
            waited = old.control if old.control != new.control else sorted(self._controls(x))
            changes.append(Change("control", ", ".join(waited), ", ".join(new.control)))
        ga, gb = side_a.graph[x], side_b.graph[y]
        if self._matching.pairs.graph_a[ga] != gb:
            name = side_b.graphs[gb].name
            (was,) = self._graph_names([ga], [name])
            changes.append(Change("graph", was, name))
        return tuple(changes)

    def _graph_names(self, graphs: Sequence[int], names: Sequence[str]) -> list[str]:
        """The names of graphs of a. Where other graphs of b have these `names`, they are called what they are in b now."""
        pairs = self._matching.pairs
        old = [pairs.a.graphs[g].name for g in graphs]
        if old != list(names):
            return old
        return [pairs.b.graphs[gb].name if (gb := pairs.graph_a[g]) >= 0 else f"{pairs.a.graphs[g].name} (removed)" for g in graphs]

    def _operand_change(self, x: int, y: int) -> Change:
        """Both lists of operands. Where other nodes have the same names, the old list has the names that its nodes have in b; if these are
        the same, too, each has its graph."""
        pairs = self._matching.pairs
        old, new = (", ".join(node.operands) for node in (pairs.a.nodes[x], pairs.b.nodes[y]))
        if old != new:
            return Change("operands", old, new)
        operands = [edge // TAGS for edge in pairs.a.operands[x]]
        counterparts = [(pairs.a.nodes[i].id, pairs.counterpart_a[i]) for i in operands]
        old = ", ".join(pairs.b.nodes[i].id if i >= 0 else f"{name} (removed)" for name, i in counterparts)
        if old == new and all(i >= 0 for _, i in counterparts):
            now = [edge // TAGS for edge in pairs.b.operands[y]]
            old, new = (", ".join(self._with_graph(i) for i in each) for each in ([i for _, i in counterparts], now))
        return Change("operands", old, new)

    def _with_graph(self, y: int) -> str:
        side = self._matching.pairs.b
        return f"{side.nodes[y].id} in {side.graphs[side.graph[y]].name}"

    def _controls(self, x: int) -> set[str]:
        """The control predecessors of a node of a, with their names in b."""
        pairs = self._matching.pairs
        graph = pairs.a.graphs[pairs.a.graph[x]]
        counterparts = [pairs.counterpart_a[pairs.a.first[pairs.a.graph[x]] + graph.position[name]] for name in pairs.a.nodes[x].control]
        return {pairs.b.nodes[counterpart].id if counterpart >= 0 else "" for counterpart in counterparts}

    def _same_operands(self, edges_a: list[int], edges_b: list[int]) -> bool:
        """Whether operands are each other's counterparts. A member of a recorded group, or a copy, counts as what it came from."""
        if len(edges_a) != len(edges_b):
            return False
        pairs, _, derived, _, _, _ = self._matching
        for edge_a, edge_b in zip(edges_a, edges_b, strict=True):
            counterpart, operand = pairs.counterpart_a[edge_a // TAGS], edge_b // TAGS
            if (
                counterpart != operand
                and derived.get(operand) != edge_a // TAGS
                and not (counterpart == -2 == pairs.counterpart_b[operand])
            ):
                return False
            if edge_a % TAGS != edge_b % TAGS:
                return False
        return True


@checks_keywords
def diff(a: Program, b: Program, *, match_by_name: bool | None = None) -> Diff:
    """What changed from program a to program b. Also takes anything with a `program`, such as a Snapshot.

    `match_by_name` says whether nodes with the same name are the same node. By default both ways are tried if they could differ, and the
    smaller diff is used: one more instruction is enough for two compilations to give the same names to different nodes.
    """
    ids = EITHER if match_by_name is None else "names" if match_by_name else PLACES
    return diff_passes(_program(a), _program(b), ids=ids)


def diff_passes(a: Program, b: Program, *, origins: Iterable[Origin] = (), ids: str | None = None) -> Diff:
    """What changed between two snapshots; `ids` is what their recording says equal ids mean."""
    with without_collecting():
        matcher = Matcher(a, b, origins)
        if ids == COMPOSED:
            difference = Diff(a, b, matcher.take("names"))
        elif ids == EITHER:
            difference = _smaller(a, b, matcher)
        else:
            difference = _without_names(a, b, matcher) if ids == PLACES else Diff(a, b, matcher.match(ids))
    difference.ids, difference.origins = ids, matcher.origins
    return difference


def _smaller(a: Program, b: Program, matcher: Matcher) -> Diff:
    """The diff by names or the one without, whichever is smaller. Neither is computed if it cannot be chosen."""
    names = matcher.begin("names")
    if not (names.pairs.fresh or names.pairs.a.same):
        return _without_names(a, b, matcher)
    plausible, at_least = names_are_stable(names.pairs), contradictions(names.pairs)
    by_name = None if at_least else Diff(a, b, matcher.finish(names))
    if by_name and plausible and not by_name.changed:
        return by_name
    without = _without_names(a, b, matcher)
    if without.size < at_least * _CLEARLY:
        return without.instead_of(f"by name there would be at least {at_least:,} differences")
    by_name = by_name or Diff(a, b, matcher.finish(names))
    takes_names = plausible
    for one, other in _measures(by_name, without):
        if min(one, other) < max(one, other) * _CLEARLY:
            takes_names = one < other
            break
    if takes_names:
        return by_name.instead_of(f"by structure there would be {without.size:,} differences")
    return without.instead_of(f"by name there would be {by_name.size:,} differences")


def _measures(one: Diff, other: Diff) -> Iterator[tuple[int, int]]:
    """How large two diffs are, and how coherent: the same change in every layer is one row."""
    from opscope.recording.change_groups import change_groups

    yield one.size, other.size
    yield one.single_differences, other.single_differences
    yield len(change_groups(one)), len(change_groups(other))


def _without_names(a: Program, b: Program, matcher: Matcher) -> Diff:
    beginning = matcher.begin("positions", one_compilation=False)
    match_arguments(beginning.pairs)
    match_places(beginning.pairs)
    return Diff(a, b, matcher.finish(beginning))


def _program(source: Any) -> Program:
    from opscope.recording.recorder import as_program

    inner = getattr(source, "program", None)
    return inner if isinstance(inner, Program) else as_program(source)


def _keys(side: Side) -> list[NodeKey]:
    return [(side.graphs[g].name, node.id) for g, node in zip(side.graph, side.nodes, strict=True)]
