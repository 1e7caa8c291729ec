"""The most bytes in use in the program after each pass of a recording, and which pass raised it.

Computed the same way for every pass, so that passes can be compared: from the order in which the program is written, without a compiler's
report. Before a compiler schedules the program, that is not yet the order of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opscope.memory.schedule import computed_memory
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.model import Recording, Snapshot
from opscope.recording.per_pass import per_pass

_MOST_UNASKED = 100_000
"""Nodes of all programs: it takes a second."""


class PassPeak(NamedTuple):
    peak_bytes: int
    """The most bytes in use at one point of the program after the pass."""
    peak_before_bytes: int | None
    """The same before the pass; None for the first program of a module."""
    peak_at: str
    """The node that runs there."""
    unknown_sizes: int
    """Buffers of unknown size, which the numbers leave out."""

    @property
    def rise(self) -> int:
        """By how much the pass raised the peak; negative if it lowered it."""
        return 0 if self.peak_before_bytes is None else self.peak_bytes - self.peak_before_bytes


def pass_peaks(recording: Recording, snapshots: Iterable[Snapshot], progress: Progress | None = None) -> dict[int, PassPeak]:
    """The peak before and after each pass, by the index of its snapshot."""
    earlier = {snapshot.index: recording.before(snapshot) for snapshot in snapshots}
    needed = sorted({*earlier, *(before.index for before in earlier.values() if before is not None)})
    after = per_pass((recording.snapshot(index) for index in needed), _peak, progress)
    return {
        index: after[index]._replace(peak_before_bytes=None if before is None else after[before.index].peak_bytes)
        for index, before in earlier.items()
    }


def peaks_of_page(recording: Recording) -> dict[int, PassPeak]:
    """The peaks for a page without a server: of every pass, if they are quick to compute, or else none."""
    nodes = {snapshot.content: snapshot.nodes for snapshot in recording}
    return {} if recording.compares or sum(nodes.values()) > _MOST_UNASKED else pass_peaks(recording, recording)


def _peak(program: Program) -> PassPeak:
    memory = computed_memory(program, explain=False)
    return PassPeak(memory.live_peak, None, memory.step_at(memory.peak), memory.unknown)


def highest_rise(peaks: Mapping[int, PassPeak]) -> int | None:
    """The pass that raised the peak most; None if none raised it."""
    highest = max(peaks, key=lambda index: (peaks[index].rise, -index), default=None)
    return highest if highest is not None and peaks[highest].rise > 0 else None
