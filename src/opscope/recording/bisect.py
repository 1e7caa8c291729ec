"""Two recordings of one program, compiled with other flags or by another version: the first pass after which they differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from opscope.errors import OpscopeError
from opscope.plugin import Progress
from opscope.recording.diff import Diff, diff
from opscope.recording.model import Recording, Snapshot
from opscope.sequences import longest_increasing

_NUMBER = re.compile(r"module_\d+\.")


class Pair(NamedTuple):
    """A pass that both recordings have, with the snapshots after it."""

    a: Snapshot
    b: Snapshot


class Bisection(NamedTuple):
    module: str
    """Of A."""
    shared: int
    """Passes that both recordings have."""
    same: Pair | None
    """The last pass after which they were still equal."""
    differs: Pair | None
    """Where they differ first; None if they never do. If a pass that only one recording has made the difference, the other one is still
    at `same`."""
    common: Pair | None = None
    """The first pass of both after which they differ, which is `differs` unless a pass of only one recording came before."""
    only_a: tuple[Snapshot, ...] = ()
    """Passes between `same` and `common` that only one recording has."""
    only_b: tuple[Snapshot, ...] = ()
    diff: Diff | None = None


def bisect(a: Recording, b: Recording, module: str | None = None, progress: Progress | None = None) -> list[Bisection]:
    """Compares what both recordings have after each pass, in order, by structure: names, order and annotations do not count. One result
    for each module that both have, or only for the one that is named."""
    modules = _modules(a, b) if module is None else [(a.module_named(module), b.module_named(module))]
    found: list[Bisection] = []
    for i, (name_a, name_b) in enumerate(modules):
        part = None if progress is None else lambda done, before=i: progress((before + done) / len(modules))
        result = _bisect(a.of_module(name_a), b.of_module(name_b), part)
        if result is not None:
            found.append(result)
    if not found:
        raise OpscopeError(f"{a.name} and {b.name} have no pass in common; record the same program with both")
    return found


def _modules(a: Recording, b: Recording) -> list[tuple[str, str]]:
    """The modules with the same name, in order: XLA's numbers differ if one of the programs compiled something more."""
    if len(a.modules) == len(b.modules) == 1:
        return [(a.modules[0], b.modules[0])]
    of_b: dict[str, list[str]] = {}
    for name in reversed(b.modules):
        of_b.setdefault(_NUMBER.sub("", name), []).append(name)
    counterparts = ((name, of_b.get(_NUMBER.sub("", name))) for name in a.modules)
    return [(name, names.pop()) for name, names in counterparts if names]


def _bisect(passes_a: Sequence[Snapshot], passes_b: Sequence[Snapshot], progress: Progress | None) -> Bisection | None:
    """Differences can vanish again, so nothing is skipped; programs that were compared already are not compared again. None if the
    passes are all others."""
    pairs = list(_pairs(passes_a, passes_b))
    if not pairs:
        return None
    module = pairs[0].a.module
    equal: set[tuple[int, int]] = set()
    last: Pair | None = None
    for number, pair in enumerate(pairs):
        if progress is not None:
            progress(number / len(pairs))
        contents = (pair.a.content, pair.b.content)
        if contents not in equal:
            difference = diff(pair.a.program, pair.b.program)
            if not difference.same:
                only_a = _between(passes_a, last and last.a, pair.a)
                only_b = _between(passes_b, last and last.b, pair.b)
                same, differs, difference = _first_of(last, pair, only_a, only_b, difference)
                return Bisection(module, len(pairs), same, differs, pair, only_a, only_b, difference)
            equal.add(contents)
        last = pair
    return Bisection(module, len(pairs), last, None)


def _first_of(
    same: Pair | None, common: Pair, only_a: Sequence[Snapshot], only_b: Sequence[Snapshot], difference: Diff
) -> tuple[Pair | None, Pair, Diff]:
    """Where a difference begins that is there after a pass of both: at a pass that only one recording has, if that changed something."""
    while same is not None:
        next_a, next_b = _first_change(same.a, only_a), _first_change(same.b, only_b)
        if next_a is None and next_b is None:
            break
        pair = Pair(next_a or same.a, next_b or same.b)
        here = diff(pair.a.program, pair.b.program)
        if not here.same:
            return same, pair, here
        same = pair  # one pass with two names
    return same, common, difference


def _first_change(since: Snapshot, passes: Sequence[Snapshot]) -> Snapshot | None:
    """The first later pass whose program has another structure."""
    equal = {since.content}
    for each in passes:
        if each.index > since.index and each.content not in equal:
            if not diff(since.program, each.program).same:
                return each
            equal.add(each.content)
    return None


def _pairs(a: Sequence[Snapshot], b: Sequence[Snapshot]) -> Iterator[Pair]:
    """Passes with the same name, pipeline and number of earlier runs, as many as are in the same order in both.

    Of a pass that one of them has more often, only runs that changed
    something count: with `.+`, XLA dumps the others too.
    """
    often_a, often_b = (Counter(each.title for each in passes) for passes in (a, b))
    uneven = {title for title in often_a if often_a[title] != often_b[title]}
    at_b = {key: j for j, key in _runs(b, uneven)}
    shared = [(i, at_b[key]) for i, key in _runs(a, uneven) if key in at_b]
    for position in longest_increasing(j for _, j in shared):
        i, j = shared[position]
        yield Pair(a[i], b[j])


def _runs(passes: Sequence[Snapshot], uneven: Container[str]) -> Iterator[tuple[int, tuple[str, int]]]:
    """Where each run of a pass is, with its name and which run it is."""
    runs: Counter[str] = Counter()
    content = None
    for i, snapshot in enumerate(passes):
        if snapshot.content != content or snapshot.title not in uneven:
            runs[snapshot.title] += 1
            yield i, (snapshot.title, runs[snapshot.title])
        content = snapshot.content


def _between(passes: Sequence[Snapshot], first: Snapshot | None, last: Snapshot) -> tuple[Snapshot, ...]:
    start = -1 if first is None else first.index
    return tuple(each for each in passes if start < each.index < last.index)
