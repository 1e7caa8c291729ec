"""Two recordings of one program, compiled with other flags or by another version: the first pass after which they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from opscope.errors import OpscopeError
from opscope.naming import listed
from opscope.plugin import Progress
from opscope.recording.diff import Diff, diff
from opscope.recording.model import Recording, Snapshot
from opscope.sequences import longest_increasing


class Pair(NamedTuple):
    """A pass that both recordings have, with the snapshots after it."""

    a: Snapshot
    b: Snapshot


class Bisection(NamedTuple):
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


def bisect(a: Recording, b: Recording, module: str | None = None, progress: Progress | None = None) -> Bisection:
    """Compares what both recordings have after each pass, in order, by structure: names, order and annotations do not count.

    Differences can vanish again, so nothing is skipped; programs that were compared already are not compared again.
    """
    passes_a, passes_b = _of_module(a, module), _of_module(b, module)
    pairs = list(_pairs(passes_a, passes_b))
    if not pairs:
        raise OpscopeError(f"{a.name} and {b.name} have no pass in common; record the same program with both")
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
                return Bisection(len(pairs), same, differs, pair, only_a, only_b, difference)
            equal.add(contents)
        last = pair
    return Bisection(len(pairs), last, None)


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


def _of_module(recording: Recording, module: str | None) -> list[Snapshot]:
    """The passes of the only module, or of the one that is named."""
    names = recording.modules
    if module is None and len(names) > 1:
        raise OpscopeError(f"{recording.name} has {len(names)} modules; choose one with --module NAME: {listed(names)}")
    name = recording.module_named(module) if module is not None else names[0] if names else ""
    return [snapshot for snapshot in recording if snapshot.module == name]


def _pairs(a: Sequence[Snapshot], b: Sequence[Snapshot]) -> Iterator[Pair]:
    """Passes with the same name, pipeline and number of earlier runs, as many as are in the same order in both."""
    at_b = {key: i for i, key in enumerate(_keys(b))}
    shared = [(i, at_b[key]) for i, key in enumerate(_keys(a)) if key in at_b]
    for position in longest_increasing(j for _, j in shared):
        i, j = shared[position]
        yield Pair(a[i], b[j])


def _keys(passes: Sequence[Snapshot]) -> Iterator[tuple[str, int]]:
    runs: Counter[str] = Counter()
    for snapshot in passes:
        runs[snapshot.title] += 1
        yield snapshot.title, runs[snapshot.title]


def _between(passes: Sequence[Snapshot], first: Snapshot | None, last: Snapshot) -> tuple[Snapshot, ...]:
    start = -1 if first is None else first.index
    return tuple(each for each in passes if start < each.index < last.index)
