"""A diff by module: equal changes of repeated modules are one row ("in each of 24 layers (h.*/mlp): +1 multiply")."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from opscope.program import NodeKey, Path, Program
from opscope.recording.diff import Diff, Match

_NUMBER = re.compile(r"\d+")
_MOST_KINDS = 6
_MOST_FIELDS = 3


class ChangeGroup(NamedTuple):
    """The same changes in modules of the same name, numbers aside."""

    where: str
    """The modules with `*` for the numbers that differ: "h.*/mlp"; the name of a graph for nodes without a module."""
    modules: tuple[str, ...]
    what: str
    """What changed in each of them: "−1 add, +1 multiply", or "rms_norm replaced layer_norm (−3 +1 ops)"."""
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
    """Where a change is reported: a module, or a graph if there is no module; or a part of it that is new or gone as a whole."""

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
        unit = _unit(diff.b, key)
        units[unit].changed.append(key)
        units[unit].kinds["~", _change_text(diff, match)] += 1
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
    if unit.part:
        return f"{unit.part} ({' '.join(f'{sign}{count}' for (sign, _), count in sorted(changes.kinds.items(), reverse=True))} ops)"
    kinds = sorted(changes.kinds.items(), key=lambda item: ("−+~".index(item[0][0]), -item[1], item[0][1]))
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


def _unit(program: Program, key: NodeKey) -> _Unit:
    graph, id = key
    return _Unit(graph != program.entry, _place(program[graph][id].scope) or graph)


def _place(scope: Path) -> str:
    """The names of modules without their classes: the numbers of `GPT2Model` and `Conv1D` do not count layers."""
    return "/".join(name.partition(": ")[0] for name in scope)


class _Parts:
    """Modules that are new or gone as a whole. A new one replaces one that is gone if both were parts of the same module, and either
    were its only such parts or have the same numbers in their names."""

    def __init__(self, diff: Diff) -> None:
        added = _sizes(diff.b[graph][id].scope for graph, id in diff.all_added)
        removed = _sizes(diff.a[graph][id].scope for graph, id in diff.all_removed)
        in_a, in_b = (_sizes(_scopes(program)) if added or removed else Counter() for program in (diff.a, diff.b))
        new, gone = _whole(added, in_b, in_a), _whole(removed, in_a, in_b)
        replaced = _replacements(new, gone)
        origins = {now: was for was, now in replaced.items()}
        self.new = {path: f"{path[-1]} replaced {origins[path][-1]}" if path in origins else f"{path[-1]} is new" for path in new}
        self.gone = {path: f"{replaced[path][-1]} replaced {path[-1]}" if path in replaced else f"{path[-1]} is gone" for path in gone}

    def unit(self, program: Program, key: NodeKey, parts: Mapping[Path, str]) -> _Unit:
        graph, id = key
        scope = program[graph][id].scope
        for depth in range(1, len(scope) + 1):
            part = parts.get(scope[:depth])
            if part is not None:
                return _Unit(graph != program.entry, _place(scope[: depth - 1]) or graph, part)
        return _unit(program, key)


def _scopes(program: Program) -> Iterator[Path]:
    return (node.scope for graph in program for node in graph.nodes)


def _sizes(scopes: Iterable[Path]) -> Counter[Path]:
    """How many nodes each module has, with everything in it."""
    sizes: Counter[Path] = Counter()
    for scope, count in Counter(scopes).items():
        for depth in range(1, len(scope) + 1):
            sizes[scope[:depth]] += count
    return sizes


def _whole(touched: Counter[Path], here: Counter[Path], there: Counter[Path]) -> set[Path]:
    """The outermost modules that only one of the programs has."""
    whole = {path for path, count in touched.items() if count == here[path] and path not in there}
    return {path for path in whole if path[:-1] not in whole}


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
