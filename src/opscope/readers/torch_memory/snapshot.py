"""A memory snapshot of PyTorch's CUDA allocator, as `torch.cuda.memory._dump_snapshot` writes it.

It has the events of the allocator in order, and the blocks that are there at the end. What was there when recording began follows
from both. The allocator rounds sizes up, and does not split a block if little would be left of it; events have the sizes that were
asked for, so the sizes of blocks are worked out from what was next to them. They add up to `torch.cuda.max_memory_allocated()`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opscope.errors import SourceError
from opscope.limits import MOST_FRAMES, Budget
from opscope.plugin import Progress
from opscope.readers.source import Source
from opscope.readers.torch_memory.frames import Place
from opscope.readers.torch_memory.plain_pickle import is_pickle, read_plain_pickle

_UNIT = 512
"""Blocks are multiples of this."""
_SMALL = 1 << 20
"""Requests up to this size come from small segments, and from a large one no less is split off."""
_GROWS = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
"""Events with which the allocator takes memory from the device, or gives it back."""

_STRANGE = "is a memory snapshot that opscope does not understand:"
_LARGEST = 2**63
_AGAIN = "write it again with torch.cuda.memory._dump_snapshot(file)"

Event = Mapping[str, Any]


class Step(NamedTuple):
    """A call of the allocator."""

    id: str
    """Of an allocation, a name that no other one has."""
    place: Place
    bytes: int
    """The size of the block that was allocated; 0 if one was freed."""


class Life(NamedTuple):
    """A block from its allocation to its release. Positions count steps."""

    bytes: int
    born: int
    last: int
    made_by: Step | None
    """None if it was there before recording began."""
    freed_at: Place | None
    """None if it is there at the end."""


class Device(NamedTuple):
    """What the allocator of one device did."""

    name: str
    steps: list[Step]
    lives: list[Life]
    held: list[tuple[int, int]]
    """(position, bytes that the allocator holds from there on, in use or not)."""


def is_snapshot(source: Source) -> bool:
    return not source.is_directory and is_pickle(source.head)


_kept: dict[tuple[str, int, int], list[Device]] = {}
"""At most one snapshot, from when it is read as a program until its memory is asked for: reading takes longest of all."""


def _identity(source: Source) -> tuple[str, int, int] | None:
    """What a file has to have in common with one that was read before; None for a stream."""
    if not source.path.is_file():
        return None
    state = source.path.stat()
    return str(source.path.resolve()), state.st_mtime_ns, state.st_size


def keep_devices(source: Source, devices: list[Device]) -> None:
    """Keep what was read for the next one who asks for it."""
    identity = _identity(source)
    _kept.clear()
    if identity is not None:
        _kept[identity] = devices


def read_devices(source: Source, progress: Progress | None = None) -> list[Device]:
    """Each device that the snapshot has events of."""
    identity = _identity(source)
    if identity is not None and identity in _kept:
        return _kept.pop(identity)
    content = source.read_bytes()
    snapshot = read_plain_pickle(content, progress)
    if not isinstance(snapshot, dict) or not {"segments", "device_traces"} <= snapshot.keys():
        raise SourceError("is a pickle, but not a memory snapshot; write one with torch.cuda.memory._dump_snapshot(file)")
    try:
        _check_counts(snapshot, len(content))
        segments = defaultdict(list)
        for segment in snapshot["segments"]:
            segments[segment.get("device", 0)].append(segment)
        traces = snapshot["device_traces"]
        names = Budget(len(content))
        devices = [_device(snapshot, number, segments[number], traces[number], names) for number in range(len(traces)) if traces[number]]
    except KeyError as error:
        raise SourceError(f"{_STRANGE} a part of it has no {error}; {_AGAIN}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise SourceError(f"{_STRANGE} a part of it is not of the type that torch writes; {_AGAIN}") from error
    if not devices:
        raise SourceError("has no events; call torch.cuda.memory._record_memory_history() before the run")
    return devices


def _check_counts(snapshot: Mapping[str, Any], size: int) -> None:
    """Refuse lists that are shared, which torch does not write: a small pickle can mean billions of blocks and events with them."""
    blocks = sum(len(segment.get("blocks", ())) for segment in snapshot["segments"])
    if blocks + sum(map(len, snapshot["device_traces"])) > size:
        raise SourceError(f"has more blocks and events than bytes; {_AGAIN}")


def _device(
    snapshot: Mapping[str, Any], number: int, segments: Sequence[Mapping[str, Any]], events: Sequence[Event], names: Budget
) -> Device:
    _check_sizes(segments, events)
    replay = _Replay(segments, events, bool(snapshot.get("allocator_settings", {}).get("expandable_segments")), names)
    replay.run()
    return Device(f"device {number}", replay.steps, replay.lives, _held(segments, events))


def _check_sizes(segments: Sequence[Mapping[str, Any]], events: Sequence[Event]) -> None:
    """Refuse sizes that no allocator writes, instead of counting them."""
    for number, event in enumerate(events):
        if not 0 <= event.get("size", 0) < _LARGEST:
            raise SourceError(f"event {number} ({event['action']}) has a size of {event['size']} bytes; {_AGAIN}")
    for segment in segments:
        if any(not 0 <= size < _LARGEST for size in (segment["total_size"], *(block["size"] for block in segment["blocks"]))):
            raise SourceError(f"the segment at {segment['address']} has a size that no memory has; {_AGAIN}")


def _held(segments: Sequence[Mapping[str, Any]], events: Sequence[Event]) -> list[tuple[int, int]]:
    changes = sum(_GROWS.get(event["action"], 0) * event["size"] for event in events)
    held = sum(segment["total_size"] for segment in segments) - changes
    points = [(0, held)]
    position = 0
    for event in events:
        held += _GROWS.get(event["action"], 0) * event.get("size", 0)
        if held != points[-1][1]:
            points.append((position, held))
        position += event["action"] in ("alloc", "free_requested")
    return points


class _Replay:
    """Follows the allocator's events from the blocks that were there before the first one."""

    def __init__(self, segments: Sequence[Mapping[str, Any]], events: Sequence[Event], expandable: bool, names: Budget) -> None:
        self.events = events
        self.names = names
        """What is left for names: a long one of a frame that many events share is written once."""
        self.expandable = expandable
        self.steps: list[Step] = []
        self.lives: list[Life] = []
        self.ends: dict[int, int] = {segment["address"]: segment["address"] + segment["total_size"] for segment in segments}
        for event in events:
            if event["action"].startswith("segment_"):
                self.ends[event["addr"]] = max(self.ends.get(event["addr"], 0), event["addr"] + event["size"])
        self.starts = sorted(self.ends)
        self._has_stacks = any(event.get("frames") for event in events)
        self._places: dict[int, Place] = {}
        """By the identity of their frames, which many events share."""
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

    def run(self) -> None:
        alive: dict[int, tuple[int, int, Step | None]] = {address: (size, 0, None) for address, size in self.before().items()}
        occupied = sorted(alive)
        counts: Counter[str] = Counter()
        for event in self.events:
            address, position = event.get("addr", 0), len(self.steps)
            if event["action"] == "alloc":
                place = self._place(event)
                counts[place.name] += 1
                id = place.name if counts[place.name] == 1 else f"{place.name}_{counts[place.name] - 1}"
                self.names.take(len(id))
                step = Step(id, place, self._block_size(occupied, address, event["size"]))
                alive[address] = (step.bytes, position, step)
                insort(occupied, address)
                self.steps.append(step)
            elif event["action"] == "free_requested":
                place = self._place(event)
                if address in alive:
                    size, born, made_by = alive.pop(address)
                    self.lives.append(Life(size, born, position - 1, made_by, place))
                self.names.take(len(place.name))
                self.steps.append(Step(f"free in {place.name}", place, 0))
            elif event["action"] == "free_completed":
                at = bisect_left(occupied, address)
                if at < len(occupied) and occupied[at] == address:
                    del occupied[at]
        self.lives += [Life(size, born, len(self.steps), made_by, None) for size, born, made_by in alive.values()]

    def _place(self, event: Event) -> Place:
        frames = event.get("frames")
        place = self._places.get(id(frames))
        if place is None:
            place = self._places[id(frames)] = Place((frames or ())[:MOST_FRAMES], self._has_stacks and frames is not None)
        return place

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
