"""What the program costs after each pass: FLOPs, bytes, and the time that it needs at best on a device. All of it is estimated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opscope.analysis.cost import CostModel
from opscope.analysis.devices import Device
from opscope.analysis.roofline import Roofline
from opscope.plugin import Progress
from opscope.recording.model import Snapshot


class PassCost(NamedTuple):
    flops: int
    bytes: int
    unknown: int
    """Operations of unknown cost, which the numbers leave out."""
    estimated_seconds: float | None = None


def pass_costs(snapshots: Iterable[Snapshot], device: Device | None = None, progress: Progress | None = None) -> dict[int, PassCost]:
    """The cost after each pass, by the index of its snapshot. Passes that changed nothing share one estimate."""
    snapshots = list(snapshots)
    by_content: dict[int, PassCost] = {}
    costs = {}
    for done, snapshot in enumerate(snapshots):
        if snapshot.content not in by_content:
            program = snapshot.program
            total = CostModel(program).total
            seconds = None if device is None else sum(Roofline(program, device).seconds[program.entry].values())
            by_content[snapshot.content] = PassCost(total.flops, total.bytes, total.unknown, seconds)
        costs[snapshot.index] = by_content[snapshot.content]
        if progress is not None:
            progress((done + 1) / len(snapshots))
    return costs
