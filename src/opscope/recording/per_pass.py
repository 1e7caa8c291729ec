"""A number of the program after each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.model import Snapshot

T = TypeVar("T")


def per_pass(snapshots: Iterable[Snapshot], measure: Callable[[Program], T], progress: Progress | None = None) -> dict[int, T]:
    """By the index of a snapshot, what `measure` says about its program. Passes that changed nothing share one answer."""
    snapshots = list(snapshots)
    by_content: dict[int, T] = {}
    answers = {}
    for done, snapshot in enumerate(snapshots, 1):
        if snapshot.content not in by_content:
            by_content[snapshot.content] = measure(snapshot.program)
        answers[snapshot.index] = by_content[snapshot.content]
        if progress is not None:
            progress(done / len(snapshots))
    return answers
