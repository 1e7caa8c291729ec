"""A diff by module: equal changes of repeated modules are one row ("in each of 24 layers (h.*/mlp): +1 multiply")."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import reduce
from typing import NamedTuple

from opscope.analysis.recomputed_parts import shared_prefix
from opscope.limits import MOST_AROUND
from opscope.program import Graph, NodeKey, Path, Program
from opscope.recording.diff import Diff, Match

_NUMBER = re.compile(r"\d+")
_MOST_KINDS = 6
_MOST_FIELDS = 3
_MOST_USERS = 100
"""The first users decide: one value may have as many as the program has nodes."""


class ChangeGroup(NamedTuple):
    """The same changes in modules of the same name, numbers aside."""

    where: str
    """The modules with `*` for the numbers that differ: "h.*/mlp"; the name of a graph for nodes without a module."""
    modules: tuple[str, ...]
    what: str
    """What changed in each of them: "−1 add, +1 multiply", or "rms_norm replaced layer_norm (−3 +1 ops)", with ~2 for nodes of the
    old module that the new one still has."""
    inside: bool
    """Whether the nodes are in a graph that another calls, such as the body of a fusion, and not instructions of the entry."""
    added: tuple[NodeKey, ...]
    removed: tuple[NodeKey, ...]
    changed: tuple[NodeKey, ...]
    """Nodes of the program after, one for each changed match."""

    def __str__(self) -> str:
        return f"{self.place}: {self.what}"

    @property
    def place(self) -> str:
        if len(self.modules) == 1:
            return self.where
        several = "layers" if self.where.count("*") == 1 else "modules"
        return f"in each of {len(self.modules)} {several} ({self.where})"


class _Unit(NamedTuple):
    """Where a change is reported: a module, or a graph if there is no module; or a part of it that only one of the programs has."""

    inside: bool
    module: str
    part: str = ""


class _Changes:
    """The changes of one unit."""

    def __init__(self) -> None:
        self.added: list[NodeKey] = []
        self.removed: list[NodeKey] = []
        self.changed: list[NodeKey] = []
        self.kinds: Counter[tuple[str, str]] = Counter()
        """{(sign, what): how many}"""


def change_groups(diff: Diff) -> list[ChangeGroup]:
    """All added, removed and changed nodes of a diff by module: first those of the entry, then those in called graphs, each in the order
    of the program."""
    parts = _Parts(diff)
    units: dict[_Unit, _Changes] = defaultdict(_Changes)
    for key in diff.all_added:
        unit = parts.unit(diff.b, key, parts.new)
        units[unit].added.append(key)
        units[unit].kinds["+", "" if unit.part else diff.b[key[0]][key[1]].op] += 1
    for key in diff.all_removed:
        unit = parts.unit(diff.a, key, parts.gone)
        units[unit].removed.append(key)
        units[unit].kinds["−", "" if unit.part else diff.a[key[0]][key[1]].op] += 1
    for match in diff.changed:
        key = match.b[0]
        unit = parts.unit_of_change(match)
        units[unit].changed.append(key)
        units[unit].kinds["~", "" if unit.part else _change_text(diff, match)] += 1
    return _grouped(diff, units)


def _grouped(diff: Diff, units: Mapping[_Unit, _Changes]) -> list[ChangeGroup]:
    alike: dict[tuple[bool, str, str], list[_Unit]] = defaultdict(list)
    for unit, changes in units.items():
        alike[unit.inside, _NUMBER.sub("*", unit.module), _what(unit, changes)].append(unit)
    groups = []
    for (inside, pattern, what), members in alike.items():
        modules = tuple(unit.module for unit in members)
        of = [units[unit] for unit in members]
        added, removed, changed = (tuple(key for each in of for key in getattr(each, name)) for name in ("added", "removed", "changed"))
        groups.append(ChangeGroup(modules[0] if len(modules) == 1 else pattern, modules, what, inside, added, removed, changed))

    place_a, place_b = _Places(diff.a), _Places(diff.b)

    def order(group: ChangeGroup) -> tuple[bool, float]:
        after, before = (*group.added, *group.changed), group.removed
        return group.inside, min([*map(place_b.of, after), *map(place_a.of, before)])

    return sorted(groups, key=order)


def _what(unit: _Unit, changes: _Changes) -> str:
    kinds = sorted(changes.kinds.items(), key=lambda item: ("−+~".index(item[0][0]), -item[1], item[0][1]))
    if unit.part:
        return f"{unit.part} ({' '.join(f'{sign}{count}' for (sign, _), count in kinds)} ops)"
    texts = [f"{sign}{count} {what}" for (sign, what), count in kinds[:_MOST_KINDS]]
    left_out = sum(count for _, count in kinds[_MOST_KINDS:])
    return ", ".join(texts) + (f" and {left_out} more" if left_out else "")


def _change_text(diff: Diff, match: Match) -> str:
    old, new = diff.a[match.a[-1][0]][match.a[-1][1]].op, diff.b[match.b[0][0]][match.b[0][1]].op
    if old != new:
        return f"{old} → {new}"
    fields = list(dict.fromkeys(change.field.removeprefix("attrs.") for change in match.changes))
    return f"{new} ({', '.join(fields[:_MOST_FIELDS])}{', …' if len(fields) > _MOST_FIELDS else ''})"


class _Places:
    """Where nodes are in their program, from 0 to 1, so that those of two programs have one order."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._count = max(1, program.node_count)
        self._first: dict[str, int] = {}
        at = 0
        for graph in program:
            self._first[graph.name] = at
            at += len(graph)

    def of(self, key: NodeKey) -> float:
        graph, id = key
        return (self._first[graph] + self._program[graph].position[id]) / self._count


def _place(scope: Path) -> str:
    """The names of modules without their classes: the numbers of `GPT2Model` and `Conv1D` do not count layers."""
    return "/".join(name.partition(": ")[0] for name in scope)


class _Parts:
    """Modules that only one of the programs has: "is new", "is gone", or "replaced" if one was put in the place of another.

    A module was replaced by one of the same parent that has most of its matched nodes or is in most of its slots; otherwise by one that is
    new as a whole, if both are their parent's only such modules or have the same numbers in their names."""

    def __init__(self, diff: Diff) -> None:
        self._diff = diff
        self.new: dict[Path, _Part] = {}
        self.gone: dict[Path, _Part] = {}
        self._units: dict[tuple[bool, bool, str, bool, Path], _Unit] = {}
        """Many nodes are at one place."""
        added = _sizes(diff.b[graph][id].scope for graph, id in diff.all_added)
        removed = _sizes(diff.a[graph][id].scope for graph, id in diff.all_removed)
        if not (added or removed):
            return
        if not _have_own_modules(diff):
            return
        in_a, in_b = (_sizes(node.scope for graph in program for node in graph.nodes) for program in (diff.a, diff.b))
        only_a, only_b = _outermost(in_a, in_b), _outermost(in_b, in_a)
        inner = _inner_names(in_a, only_a), _inner_names(in_b, only_b)
        replaced = {
            was: now
            for was, now in _most_linked(self._links(only_a, only_b)).items()
            if (removed[was] or added[now]) and not inner[0][was] & inner[1][now]
        }
        taken = {*replaced, *replaced.values()}
        gone, new = ({path for path in only - taken if touched[path] == here[path]}
                     for only, touched, here in ((only_a, removed, in_a), (only_b, added, in_b)))  # fmt: skip
        replaced |= _replacements(new, gone)
        entry_a, entry_b = (_sizes(node.scope for node in program[program.entry].nodes) for program in (diff.a, diff.b))
        for was, now in replaced.items():
            self.gone[was] = self.new[now] = _Part(f"{now[-1]} replaced {was[-1]}", not (entry_a[was] or entry_b[now]))
        for path in gone - replaced.keys():
            self.gone[path] = _Part(f"{path[-1]} is gone", not entry_a[path])
        for path in new - set(replaced.values()):
            self.new[path] = _Part(f"{path[-1]} is new", not entry_b[path])

    def _links(self, only_a: set[Path], only_b: set[Path]) -> Counter[tuple[Path, Path]]:
        """How many matches and replaced slots lead from each module that is gone to each new one of the same parent."""
        links: Counter[tuple[Path, Path]] = Counter()
        for match in (*self._diff.changed, *self._diff.replaced):
            (graph_a, old), (graph_b, now) = match.a[-1], match.b[0]
            was, became = _within(self._diff.a[graph_a][old].scope, only_a), _within(self._diff.b[graph_b][now].scope, only_b)
            if was and became and was[:-1] == became[:-1]:
                links[was, became] += 1
        return links

    def unit(self, program: Program, key: NodeKey, parts: Mapping[Path, _Part]) -> _Unit:
        graph, id = key
        inside, scope = graph != program.entry, _scope_of(program[graph], id)
        place = parts is self.gone, parts is self.new, graph, inside, scope
        unit = self._units.get(place)
        if unit is None:
            path = _within(scope, parts)
            part = parts.get(path, _Part("", inside))
            module = _place(path[:-1] if path else scope)
            unit = self._units[place] = _Unit(part.inside, module or (graph if part.inside else self._diff.b.entry), part.what)
        return unit

    def unit_of_change(self, match: Match) -> _Unit:
        """A change is part of a replacement if it leads from the one module to the other."""
        if not self.new:
            return self.unit(self._diff.b, match.b[0], {})
        old, now = (self.unit(program, key, parts) for program, key, parts in (
            (self._diff.a, match.a[-1], self.gone), (self._diff.b, match.b[0], self.new)))  # fmt: skip
        return now if now.part and old == now else self.unit(self._diff.b, match.b[0], {})


def _scope_of(graph: Graph, id: str) -> Path:
    """The module of a node. A weight that says none (ONNX's do not) is drawn in the module that uses it, and is counted there."""
    node = graph[id]
    if node.scope or node.role not in ("parameter", "buffer", "constant"):
        return node.scope
    return reduce(shared_prefix, [graph[user].scope for user in graph.users.get(id, ())[:_MOST_USERS]] or [()])


class _Part(NamedTuple):
    what: str
    inside: bool
    """Whether all of its nodes are in graphs that others call."""


def _within(scope: Path, modules: Container[Path]) -> Path:
    """The outermost of the modules that contains a scope; empty if there is none."""
    return next((around for around in _around(scope) if around in modules), ())


def _around(scope: Path) -> Iterator[Path]:
    """The modules around an operation, from the outermost."""
    return (scope[:depth] for depth in range(1, min(len(scope), MOST_AROUND) + 1))


def _inner_names(sizes: Iterable[Path], modules: set[Path]) -> dict[Path, set[Path]]:
    """The modules inside each, by their names in it. Modules that have some in common are the same under another name."""
    names: dict[Path, set[Path]] = {path: set() for path in modules}
    for path in sizes:
        module = _within(path, modules)
        if module and path != module:
            names[module].add(path[len(module) :])
    return names


def _most_linked(links: Mapping[tuple[Path, Path], int]) -> dict[Path, Path]:
    """The pairs of modules of which each has more links to the other than to all others together."""
    of_old: Counter[Path] = Counter()
    of_new: Counter[Path] = Counter()
    for (was, now), count in links.items():
        of_old[was] += count
        of_new[now] += count
    return {was: now for (was, now), count in links.items() if 2 * count > of_old[was] and 2 * count > of_new[now]}


def _sizes(scopes: Iterable[Path]) -> Counter[Path]:
    """How many nodes each module has, with everything in it."""
    sizes: Counter[Path] = Counter()
    for scope, count in Counter(scopes).items():
        for around in _around(scope):
            sizes[around] += count
    return sizes


def _have_own_modules(diff: Diff) -> bool:
    """Whether one of the programs may have a module that the other has not: graphs that are untouched have the same in both, and what a
    pass leaves alone is the same object in both programs of a recording."""
    in_a, in_b = (
        {id(node): node for graph in program if graph.name not in diff.untouched for node in graph.nodes} for program in (diff.a, diff.b)
    )
    of_own = [{node.scope for number, node in here.items() if number not in there} for here, there in ((in_a, in_b), (in_b, in_a))]
    if of_own[0] == of_own[1]:
        return False
    shared = {node.scope for number, node in in_a.items() if number in in_b}
    return _sizes(shared | of_own[0]).keys() != _sizes(shared | of_own[1]).keys()


def _outermost(here: Mapping[Path, int], there: Mapping[Path, int]) -> set[Path]:
    """The outermost modules that only the first of two programs has."""
    return {path for path in here if path not in there and (len(path) == 1 or path[:-1] in there)}


def _replacements(new: Iterable[Path], gone: Iterable[Path]) -> dict[Path, Path]:
    """{module that is gone: module in its place}."""
    siblings: dict[Path, tuple[list[Path], list[Path]]] = defaultdict(lambda: ([], []))
    for path in gone:
        siblings[path[:-1]][0].append(path)
    for path in new:
        siblings[path[:-1]][1].append(path)
    replaced: dict[Path, Path] = {}
    for old, now in siblings.values():
        if len(old) == len(now) == 1:
            replaced[old[0]] = now[0]
            continue
        numbered: dict[tuple[str, ...], list[Path]] = defaultdict(list)
        for path in now:
            numbered[tuple(_NUMBER.findall(path[-1]))].append(path)
        alone = Counter(tuple(_NUMBER.findall(path[-1])) for path in old)
        for path in old:
            numbers = tuple(_NUMBER.findall(path[-1]))
            if numbers and alone[numbers] == 1 == len(numbered[numbers]):
                replaced[path] = numbered[numbers][0]
    return replaced
