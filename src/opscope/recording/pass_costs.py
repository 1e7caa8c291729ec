"""What the program costs after each pass: FLOPs, bytes, and the time that it needs at best on a device. All of it is estimated."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opscope.analysis.cost import CostModel
from opscope.analysis.devices import Device
from opscope.analysis.roofline import ESTIMATED_FOR, Roofline
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.model import Recording, Snapshot
from opscope.recording.per_pass import per_pass


class PassCost(NamedTuple):
    flops: int
    bytes: int
    unknown: int
    """Operations of unknown cost, which the numbers leave out: FLOPs of `unknown_flops` of them, bytes of `unknown_bytes`."""
    unknown_flops: int = 0
    unknown_bytes: int = 0
    estimated_seconds: float | None = None


def pass_costs(snapshots: Iterable[Snapshot], device: Device | None = None, progress: Progress | None = None) -> dict[int, PassCost]:
    """The cost after each pass, by the index of its snapshot."""

    def cost(program: Program) -> PassCost:
        roofline = None if device is None else Roofline(program, device)
        total = (CostModel(program) if roofline is None else roofline.costs).total
        seconds = None if roofline is None else sum(roofline.seconds[program.entry].values())
        return PassCost(total.flops, total.bytes, total.unknown, total.unknown_flops, total.unknown_bytes, seconds)

    return per_pass(snapshots, cost, progress)


def estimate_for(recording: Recording, device: Device) -> Recording:
    """The recording, with the time of each program at best on a device wherever it is shown."""
    recording.attrs = {**recording.attrs, ESTIMATED_FOR: device.to_dict()}
    return recording
