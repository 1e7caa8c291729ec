"""Memory snapshots of PyTorch's CUDA allocator: what allocated memory, in order, with its place in the program. They have no data flow."""

from __future__ import annotations

from opscope.gc_pause import without_collecting
from opscope.program import DIRECTION_ATTR, Metric, Program, ProgramBuilder
from opscope.readers import Progress, Verdict
from opscope.readers.source import Source
from opscope.readers.torch_memory.snapshot import Device, is_snapshot, keep_devices, read_devices

ENTRY = "main"
ALLOCATOR = "allocator"
"""The attribute of a program that is a snapshot."""
_ALLOCATED = Metric("allocated bytes", "B", "sum", "measured")


def sniff(source: Source) -> Verdict:
    return Verdict(0.5, "begins like a pickle") if is_snapshot(source) else Verdict(0, "not a pickle of protocol 2 or later")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    """A program for each device: its allocations as nodes."""
    with without_collecting():
        devices = read_devices(source, progress)
        keep_devices(source, devices)
        return [_program(device) for device in devices]


def _program(device: Device) -> Program:
    builder = ProgramBuilder(device.name, ENTRY)
    builder.attrs[ALLOCATOR] = "PyTorch's CUDA allocator"
    builder.metric(_ALLOCATED)
    graph = builder.graph(ENTRY)
    for id, place, size in device.steps:
        if size:
            frames = [place.frame] if place.frame else []
            graph.node(id, place.name, attrs={DIRECTION_ATTR: place.direction}, scope=place.scope, source=frames)
            graph.measure(_ALLOCATED.name, id, size)
    return builder.build()
