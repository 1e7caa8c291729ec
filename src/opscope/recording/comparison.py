"""Two programs as a recording of two snapshots: whatever shows what a pass did also shows how two programs differ."""

from __future__ import annotations

from typing import NamedTuple

from opscope.program import Program
from opscope.recording.diff import Diff
from opscope.recording.model import COMPARES, EITHER, Origin, Recording, Snapshot
from opscope.recording.time_changes import has_times, with_time_changes


class Side(NamedTuple):
    """A program with the name that people know it by; if it is a snapshot of a recording, also what the recording says about it."""

    name: str
    program: Program
    origins: tuple[Origin, ...] = ()
    """Where its nodes came from in the other program, as a compiler reported it."""


def compare(a: Side, b: Side, ids: str | None = EITHER) -> Recording:
    """A recording of both programs. `ids` says what equal ids mean (see `diff_passes`). If both have times, their nodes have the change."""
    comparison = _recording(a, b, ids)
    if not has_times(a.program, b.program):
        return comparison
    diff = diff_of(comparison)
    before, after = with_time_changes(diff)
    timed = _recording(a._replace(program=before), b._replace(program=after), ids)
    timed.remember_diff(timed[-1].index, diff)
    return timed


def _recording(a: Side, b: Side, ids: str | None) -> Recording:
    sides = (a, b)
    snapshots = [
        Snapshot(
            index,
            side.name,
            nodes=side.program.node_count,
            content=index,
            _program=lambda content: sides[content].program,
            _origins=lambda number: sides[number].origins,
        )
        for index, side in enumerate(sides)
    ]
    return Recording(f"{a.name} → {b.name}", snapshots, {"ids": ids, COMPARES: True})


def comparison_of(diff: Diff) -> Recording:
    """The recording of a diff between two programs."""
    return compare(Side(diff.a.name, diff.a), Side(diff.b.name, diff.b, diff.origins), diff.ids)


def diff_of(comparison: Recording) -> Diff:
    diff = comparison.diff(1)
    assert diff is not None
    return diff
