"""A memory snapshot of PyTorch's CUDA allocator, as `torch.cuda.memory._dump_snapshot` writes it.

It has the events of the allocator in order, and the blocks that are there at the end. What was there when recording began follows
from both. The allocator rounds sizes up, and does not split a block if little would be left of it; events have the sizes that were
asked for, so the sizes of blocks are worked out from what was next to them. They add up to `torch.cuda.max_memory_allocated()`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opscope.errors import SourceError, blamed_on_source
from opscope.memory.model import Buffer, Memory
from opscope.memory.plain_pickle import is_pickle, read_plain_pickle
from opscope.memory.torch_frames import Place, place_of
from opscope.plugin import Progress
from opscope.readers.source import Source

_UNIT = 512
"""Blocks are multiples of this."""
_SMALL = 1 << 20
"""Requests up to this size come from small segments, and from a large one no less is split off."""

Event = Mapping[str, Any]


def is_snapshot(source: Source) -> bool:
    return not source.is_directory and is_pickle(source.head)


def read_snapshot(source: Source, progress: Progress | None = None) -> list[Memory]:
    """The memory of each device that the snapshot has events of."""
    snapshot = read_plain_pickle(source.read_bytes(), progress)
    if not isinstance(snapshot, dict) or not {"segments", "device_traces"} <= snapshot.keys():
        raise SourceError("is a pickle, but not a memory snapshot; write one with torch.cuda.memory._dump_snapshot(file)")
    with blamed_on_source("is a memory snapshot that opscope does not understand"):
        traces = snapshot["device_traces"]
        memories = [_memory(snapshot, device, traces[device]) for device in range(len(traces)) if traces[device]]
    if not memories:
        raise SourceError("has no events; call torch.cuda.memory._record_memory_history() before the run")
    return memories


class _Life(NamedTuple):
    """A block from its allocation to its release."""

    bytes: int
    born: int
    last: int
    made_at: Place | None
    """None if it was there before recording began."""
    freed_at: Place | None
    """None if it is there at the end."""


def _memory(snapshot: Mapping[str, Any], device: int, events: Sequence[Event]) -> Memory:
    segments = [segment for segment in snapshot["segments"] if segment.get("device", 0) == device]
    has_stacks = any(event.get("frames") for event in events)
    steps = [event for event in events if event["action"] in ("alloc", "free_requested")]
    lives = _Replay(segments, events, bool(snapshot.get("allocator_settings", {}).get("expandable_segments"))).lives(has_stacks)
    clears_gradients = any(life.freed_at is not None and life.freed_at.clears_gradients for life in lives)
    buffers = [_buffer(life, clears_gradients) for life in lives]
    buffers.sort(key=lambda buffer: (buffer.born, buffer.last))
    names = [place_of(event, has_stacks).name for event in steps]
    return Memory(f"device {device}", "measured", names, buffers)


class _Replay:
    """Follows the allocator's events from the blocks that were there before the first one."""

    def __init__(self, segments: Sequence[Mapping[str, Any]], events: Sequence[Event], expandable: bool) -> None:
        self.events = events
        self.expandable = expandable
        self.ends: dict[int, int] = {segment["address"]: segment["address"] + segment["total_size"] for segment in segments}
        for event in events:
            if event["action"].startswith("segment_"):
                self.ends[event["addr"]] = max(self.ends.get(event["addr"], 0), event["addr"] + event["size"])
        self.starts = sorted(self.ends)
        self.at_end = {address: size for segment in segments for address, size in _active_blocks(segment)}

    def before(self) -> dict[int, int]:
        """The blocks that were there before the first event: address and size."""
        made: set[int] = set()
        sizes: dict[int, int] = {}
        for event in self.events:
            if event["action"] == "alloc":
                made.add(event["addr"])
            elif event["action"] == "free_requested" and event["addr"] not in made:
                sizes.setdefault(event["addr"], _rounded(event["size"]))
        return {address: size for address, size in self.at_end.items() if address not in made} | sizes

    def lives(self, has_stacks: bool) -> list[_Life]:
        alive: dict[int, tuple[int, int, Place | None]] = {address: (size, 0, None) for address, size in self.before().items()}
        occupied = sorted(alive)
        lives: list[_Life] = []
        position = 0
        for event in self.events:
            address = event.get("addr", 0)
            if event["action"] == "alloc":
                size = self._block_size(occupied, address, event["size"])
                alive[address] = (size, position, place_of(event, has_stacks))
                insort(occupied, address)
                position += 1
            elif event["action"] == "free_requested":
                if address in alive:
                    size, born, made_at = alive.pop(address)
                    lives.append(_Life(size, born, position - 1, made_at, place_of(event, has_stacks)))
                position += 1
            elif event["action"] == "free_completed":
                at = bisect_left(occupied, address)
                if at < len(occupied) and occupied[at] == address:
                    del occupied[at]
        lives += [_Life(size, born, position, made_at, None) for size, born, made_at in alive.values()]
        return lives

    def _block_size(self, occupied: list[int], address: int, requested: int) -> int:
        """The size of the block that a request gets: all of the free space there, if what would be left over is too small to split off."""
        size = _rounded(requested)
        segment = bisect_right(self.starts, address) - 1
        end = self.ends[self.starts[segment]] if segment >= 0 else address + size
        following = bisect_right(occupied, address)
        if following < len(occupied):
            end = min(end, occupied[following])
        rest = end - address - size
        if rest <= 0:
            return size
        is_split = rest >= _UNIT if size <= _SMALL or self.expandable else rest > _SMALL
        return size if is_split else size + rest


def _active_blocks(segment: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    """Addresses and sizes of the blocks in use; old versions of torch give only the address of the segment."""
    address = segment["address"]
    for block in segment["blocks"]:
        if block["state"].startswith("active"):
            yield address, block["size"]
        address += block["size"]


def _rounded(size: int) -> int:
    return max(_UNIT, -(-size // _UNIT) * _UNIT)


def _buffer(life: _Life, clears_gradients: bool) -> Buffer:
    made_at, freed_at = life.made_at, life.freed_at
    if made_at is None:
        ending = "" if freed_at is None else f", freed by {freed_at.name}"
        return Buffer("", life.bytes, "earlier", life.born, life.last, why=f"there before recording began{ending}")
    kind, why = made_at.kind_until(freed_at, clears_gradients)
    return Buffer(made_at.name, life.bytes, kind, life.born, life.last, why=why, scope=made_at.scope, source=made_at.source)
