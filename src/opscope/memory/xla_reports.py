"""XLA's own texts about memory, as it writes them next to the HLO of a module.

*-buffer-assignment.txt     which values share an allocation, at which offset
*-live-range.txt            the order in which instructions run, and when each value is alive
"""

from __future__ import annotations

import re
from typing import NamedTuple

from opscope.errors import SourceError

_ALLOCATION = re.compile(r"allocation (\d{1,9}): size (\d{1,19})(.*):")
_VALUE = re.compile(r" value: <\d+ ([\w.:-]+)(\{[\d,]*\})?(?: \(phi\))? @\d+> \(size=(\d{1,19}),offset=(\d{1,19})\): (.*)")
_SHAPE = re.compile(r"\|[^|]*\|")
_PARAMETER = re.compile(r"parameter (\d{1,9})")
_COLOR = re.compile(r"color (\d{1,9})")
_HEADER = re.compile(r"HloLiveRange \(max (\d{1,9})\):")
_STEP = re.compile(r" {4}(\d{1,9}):([\w.:-]+)")
_RANGE = re.compile(r" {4}([\w.:-]+)(\{[\d,]*\}):(\d{1,9})-(\d{1,9})")
_PEAK = re.compile(r" {2}Live ranges at (-?\d{1,9}) \(peak\):")
_AT_PEAK = re.compile(r" {4}([\w.:-]+)(\{[\d,]*\}): (\d{1,19}) bytes")
HOST = 5
"""XLA's number for the memory of the host."""

ValueName = tuple[str, str]
"""(instruction, index): ("while.15", "{2}")"""


class Assigned(NamedTuple):
    """A value and its place in an allocation."""

    instruction: str
    output: str
    size: int
    offset: int
    shape: str


class Allocation(NamedTuple):
    number: int
    size: int
    parameter: int | None
    """The number of the argument that it holds."""
    is_output: bool
    is_temporary: bool
    is_constant: bool
    on_host: bool
    values: list[Assigned]
    is_thread_local: bool = False
    """Of a computation that is not scheduled, such as that of a reduction."""


class LiveRanges(NamedTuple):
    """Time is the position in `steps`; its end is `len(steps)`. The last position of a range belongs to it."""

    steps: list[str]
    ranges: dict[ValueName, tuple[int, int]]
    peak: int | None
    """Where XLA sees the peak. It counts values that share memory twice, and tuples once for each element."""
    at_peak: dict[ValueName, int]
    """The values alive there, and their bytes."""
    end: int
    """How many instructions there are, as the first line says."""


def read_assignment(text: str) -> list[Allocation]:
    """The allocations of a buffer-assignment text."""
    lines = text.splitlines()
    if not lines or lines[0] != "BufferAssignment:":
        raise SourceError("is not a buffer assignment; expected `BufferAssignment:` in the first line", line=1)
    allocations: list[Allocation] = []
    for number, line in enumerate(lines[1:], 2):
        allocation = _ALLOCATION.fullmatch(line)
        if allocation:
            allocations.append(_allocation(allocation))
            continue
        value = _VALUE.fullmatch(line)
        if value:
            if not allocations:
                raise SourceError("has a value before the first allocation", line=number)
            allocations[-1].values.append(_assigned(value, allocations[-1], number))
        elif line.startswith(("allocation", " value:")):
            raise SourceError("expected `allocation N: size BYTES, …:` or ` value: <N name @0> (size=…,offset=…): shape`", line=number)
    return allocations


def _assigned(match: re.Match[str], allocation: Allocation, line: int) -> Assigned:
    value = Assigned(match[1], match[2] or "{}", int(match[3]), int(match[4]), match[5])
    check_place(value, allocation, line)
    return value


def check_place(value: Assigned, allocation: Allocation, line: int = 0) -> None:
    """Refuse a value that is not inside its allocation."""
    if value.offset + value.size > allocation.size:
        place = f"{value.size:,} bytes at offset {value.offset:,} of allocation {allocation.number}, which has {allocation.size:,}"
        raise SourceError(f"{value.instruction} has {place}; the buffer assignment is damaged, dump it again", line=line)


def _allocation(match: re.Match[str]) -> Allocation:
    words = _SHAPE.sub("", match[3]).split(", ")
    parameter = next((int(number[1]) for word in words if (number := _PARAMETER.fullmatch(word))), None)
    color = next((int(number[1]) for word in words if (number := _COLOR.fullmatch(word))), 0)
    return Allocation(
        int(match[1]),
        int(match[2]),
        parameter,
        "maybe-live-out" in words,
        "preallocated-temp" in words,
        "constant" in words,
        color == HOST,
        [],
        "thread-local" in words,
    )


def read_live_ranges(text: str) -> LiveRanges:
    """The contents of a live-range text."""
    header = _HEADER.match(text)
    if not header:
        raise SourceError("is not a live-range text; expected `HloLiveRange (max N):` in the first line", line=1)
    steps: list[str] = []
    ranges: dict[ValueName, tuple[int, int]] = {}
    at_peak: dict[ValueName, int] = {}
    peak: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if step := _STEP.fullmatch(line):
            if int(step[1]) != len(steps):
                raise SourceError(f"instruction {step[1]} is out of order; expected {len(steps)}", line=number)
            steps.append(step[2])
        elif bounds := _RANGE.fullmatch(line):
            ranges[bounds[1], bounds[2]] = (int(bounds[3]), int(bounds[4]))
        elif point := _PEAK.fullmatch(line):
            peak = int(point[1])
        elif value := _AT_PEAK.match(line):
            at_peak[value[1], value[2]] = int(value[3])
    return LiveRanges(steps, ranges, peak, at_peak, int(header[1]))
