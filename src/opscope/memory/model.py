"""Memory: which buffers are alive at each step of a run, since when, and until when.

Time is the position in the order in which nodes run (`steps`), or in which an allocator was called. A buffer is alive from `born` to
`last`, both included. Buffers in the same slot share memory: one was written over another, or is the same value under another name. So
a slot counts once, with its largest buffer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.profile.peak import MeasuredPeak
from opscope.program import EMPTY, TensorType

Kind: TypeAlias = Literal[
    "earlier",
    "parameter",
    "input",
    "buffer",
    "gradient",
    "optimizer state",
    "constant",
    "output",
    "saved",
    "temporary",
    "workspace",
    "unused",
]
"""What a buffer is for. "saved" is saved for backward, "earlier" was there before an allocator was recorded, and "unused" is reserved but
not in use at a point."""
MemoryOrigin: TypeAlias = Literal["reported", "computed", "measured"]
"""Reported by a compiler, computed here from a schedule, or measured by an allocator."""

UNUSED: Mapping[MemoryOrigin, str] = {
    "reported": "reserved, but not in use at this point",
    "computed": "reserved, but not in use at this point",
    "measured": "held by the allocator, but not in use: cached, or lost to fragmentation",
}
"""What is to be said about bytes that are reserved and not in use."""

Slot: TypeAlias = tuple[int, int]
"""(allocation, offset)"""


class Buffer(NamedTuple):
    """A value in memory."""

    node: str
    """The id of the node that makes it."""
    bytes: int | None
    """None if the size is unknown."""
    kind: Kind
    born: int
    last: int
    graph: str = ""
    output: str = ""
    """Which of the node's outputs, as XLA writes it: `{1}`."""
    slot: Slot | None = None
    type: TensorType | None = None
    why: str = ""
    """Why it is alive."""
    scope: tuple[str, ...] = ()
    source: str = ""
    read: int | None = None
    """The position of what reads it last, if it stays longer than that."""
    part: str = ""
    """Of what the iterations of a loop save one after another: the node that computes the part of an iteration."""

    @property
    def name(self) -> str:
        return self.node + self.output


class Live(NamedTuple):
    """A buffer that is alive at a point, and the others that are in the same memory at that point."""

    buffer: Buffer
    shares: tuple[Buffer, ...] = ()


@dataclass(frozen=True)
class Memory:
    """The memory of one run of a program."""

    name: str
    origin: MemoryOrigin
    steps: Sequence[str]
    """What runs at each position: node ids."""
    buffers: Sequence[Buffer]
    graphs: Sequence[str] = ()
    """The graph of each step, where an id alone does not say which node it is."""
    reserved: int | None = None
    """Bytes that the run occupies throughout, if memory is reserved before it starts, as XLA does."""
    held: Sequence[tuple[int, int]] = ()
    """Of an allocator: (position, bytes that it has taken from the device from there on, in use or not)."""
    split: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    """The reserved bytes by use, as XLA's `memory_analysis()` splits them: argument, output, alias, temp."""
    measured: MeasuredPeak | None = None
    """The peak of a run of the program, if it was run."""
    remark: str = ""
    """Why it is not what the source reports, if there is a report that cannot be read."""

    @property
    def peak_bytes(self) -> int:
        return self.live_peak if self.reserved is None else self.reserved

    @property
    def live_peak(self) -> int:
        """The most bytes that are in use at one point."""
        return max((size for _, size in self.curve), default=0)

    @cached_property
    def curve(self) -> tuple[tuple[int, int], ...]:
        """(position, bytes in use from there on), where the number changes."""
        changes: dict[int, list[tuple[Buffer, int]]] = defaultdict(list)
        for buffer in self.buffers:
            if buffer.bytes:
                changes[buffer.born].append((buffer, 1))
                changes[buffer.last + 1].append((buffer, -1))
        sizes: dict[Slot, Counter[int]] = defaultdict(Counter)
        most: dict[Slot, int] = {}  # the largest of the sizes that are alive in a slot
        points: list[tuple[int, int]] = []
        total = 0
        for position in sorted(changes):
            for buffer, change in changes[position]:
                size = buffer.bytes or 0
                if buffer.slot is None:
                    total += change * size
                    continue
                alive = sizes[buffer.slot]
                before = most.get(buffer.slot, 0)
                alive[size] += change
                if alive[size] and size > before:
                    most[buffer.slot] = size
                elif not alive[size]:
                    del alive[size]
                    if size == before:
                        most[buffer.slot] = max(alive, default=0)
                total += most.get(buffer.slot, 0) - before
            if not points or points[-1][1] != total:
                points.append((position, total))
        return tuple(points)

    @cached_property
    def peak(self) -> int:
        """The first position at which the most bytes are in use."""
        return max(self.curve, key=lambda point: (point[1], -point[0]), default=(0, 0))[0]

    def bytes_at(self, position: int) -> int:
        """Bytes in use at a position."""
        return _at(self.curve, position)

    def step_at(self, position: int) -> str:
        """The node that runs at a position; empty before the first and after the last."""
        return self.steps[position] if 0 <= position < len(self.steps) else ""

    def position_of(self, node: str) -> int:
        """The position of a node in the order of the run."""
        position = self._positions.get(node)
        if position is None:
            raise OpscopeError(f"{self.name}: no node {node!r} runs here{suggest(node, self._positions)}")
        return position

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {node: position for position, node in reversed(list(enumerate(self.steps)))}

    def alive(self, position: int) -> list[Buffer]:
        """Every buffer that is alive at a position, also those that share memory, in the order of their birth."""
        return [buffer for buffer in self.buffers if buffer.born <= position <= buffer.last]

    def live(self, position: int) -> list[Live]:
        """The buffers alive at a position, the largest first, each slot once; those of unknown size come last.

        Of buffers in one slot, the largest one represents it, and of equal ones the youngest: what is in that memory now.
        """
        slots: dict[Slot | int, list[Buffer]] = defaultdict(list)
        for number, buffer in enumerate(self.alive(position)):
            slots[number if buffer.slot is None else buffer.slot].append(buffer)
        rows = []
        for sharing in slots.values():
            sharing.sort(key=lambda buffer: (-(buffer.bytes or 0), -buffer.born, buffer.last, buffer.name))
            rows.append(Live(sharing[0], tuple(sharing[1:])))
        rows.sort(key=lambda row: (row.buffer.bytes is None, -(row.buffer.bytes or 0), row.buffer.born, row.buffer.name))
        unused = self.reserved_at(position) - self.bytes_at(position)
        if unused > 0:
            rows.append(Live(Buffer("", unused, "unused", 0, len(self.steps), why=UNUSED[self.origin])))
        return rows

    def reserved_at(self, position: int) -> int:
        """Bytes that are reserved at a position, in use or not; 0 if nothing is."""
        return _at([(0, self.reserved)] if self.reserved is not None else self.held, position)

    @cached_property
    def unknown(self) -> int:
        """How many buffers are of unknown size. They are left out of every sum."""
        return sum(buffer.bytes is None for buffer in self.buffers)


def _at(points: Sequence[tuple[int, int]], position: int) -> int:
    """The value of a curve at a position."""
    at = bisect_right(points, position, key=lambda point: point[0])
    return points[at - 1][1] if at else 0
