"""The memory that a snapshot of PyTorch's CUDA allocator measured: what each block was for, judged by where it was allocated and freed."""

from __future__ import annotations

from opscope.memory.model import Buffer, Kind, Memory
from opscope.plugin import Progress
from opscope.readers.source import Source
from opscope.readers.torch_memory import ENTRY
from opscope.readers.torch_memory.frames import Place
from opscope.readers.torch_memory.snapshot import Device, Life, read_devices

_WORKSPACE = "CUDABlas"
"""In the name of the function that allocates the workspace of cuBLAS."""


def read_snapshot(source: Source, progress: Progress | None = None) -> list[Memory]:
    """The memory of each device that the snapshot has events of."""
    return [_memory(device) for device in read_devices(source, progress)]


def _memory(device: Device) -> Memory:
    clears_gradients = any(life.freed_at is not None and life.freed_at.clears_gradients for life in device.lives)
    buffers = [_buffer(life, clears_gradients) for life in device.lives]
    buffers.sort(key=lambda buffer: (buffer.born, buffer.last))
    return Memory(device.name, "measured", [step.id for step in device.steps], buffers, held=device.held)


def _buffer(life: Life, clears_gradients: bool) -> Buffer:
    made_by, freed_at = life.made_by, life.freed_at
    if made_by is None:
        ending = "" if freed_at is None else f", freed by {freed_at.name}"
        return Buffer("", life.bytes, "earlier", life.born, life.last, why=f"there before recording began{ending}")
    place = made_by.place
    kind, why = _kind_and_why(place, freed_at, clears_gradients)
    source = "" if place.frame is None else str(place.frame)
    return Buffer(made_by.id, life.bytes, kind, life.born, life.last, ENTRY, why=why, scope=place.scope, source=source)


def _kind_and_why(made: Place, freed: Place | None, clears_gradients: bool) -> tuple[Kind, str]:
    """What a block is for, by where it is allocated and freed. `clears_gradients` is whether the run ever does so."""
    ending = "alive at the end of the recording" if freed is None else f"freed by {freed.name}"
    if any(_WORKSPACE in str(frame.get("name")) for frame in made.frames):
        return "workspace", f"workspace of a library, {ending}"
    if made.calls("nn/modules/module.py", "_apply", "convert"):
        return "parameter", f"parameter or buffer of a module, {ending}"
    if made.calls("optim/"):
        return ("optimizer state", f"optimizer state, {ending}") if freed is None else ("temporary", ending)
    if made.in_backward:
        is_gradient = not clears_gradients if freed is None else freed.clears_gradients
        return ("gradient", f"gradient, {ending}") if is_gradient else ("temporary", ending)
    if freed is not None and freed.in_backward:
        return "saved", f"saved for backward: {ending}"
    return "temporary", ending
