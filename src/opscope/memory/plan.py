"""Which buffers of a run are in which memory, as XLA plans it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from opscope.memory.aliases import Aliases
from opscope.memory.sharing import Takeover
from opscope.program import WHOLE

Span: TypeAlias = tuple[int, int]
"""First and last position, both included."""

_POINTER = 8
_MOST_TRIED = 64
"""How many allocations a temporary tries to reuse. XLA tries all of them, which takes too long for thousands of outputs."""
_MOST_PLACED = 512


@dataclass
class Allocation:
    """A buffer with its values. It is not always in use: a donated argument has been read, and the output in its place is not yet made."""

    in_use: list[Span]
    bytes: int = 0
    is_argument: bool = False
    is_constant: bool = False
    is_output: bool = False
    values: list[int] = field(default_factory=list)

    @property
    def is_temporary(self) -> bool:
        return bool(self.bytes) and not (self.is_argument or self.is_constant or self.is_output)


class Plan(NamedTuple):
    slots: dict[int, int]
    """Buffers that are in the memory of another one."""
    reserved: int
    split: dict[str, int]
    """The reserved bytes by use, as in XLA's `memory_analysis()`."""


def make_plan(aliases: Aliases, allocations: Mapping[int, Allocation], possible: Mapping[Takeover, bool]) -> Plan:
    split = {"argument": 0, "output": 0, "alias": 0, "temp": 0}
    constants = 0
    for allocation in allocations.values():
        split["argument"] += allocation.bytes * allocation.is_argument
        split["output"] += allocation.bytes * allocation.is_output
        split["alias"] += allocation.bytes * (allocation.is_argument and allocation.is_output)
        constants += allocation.bytes * allocation.is_constant
    slots = _in_outputs(allocations, possible)
    others = {buffer: each for buffer, each in allocations.items() if each.is_temporary and buffer not in slots}
    slots |= _over_operands(others, possible)
    split["temp"] = _heap(others, slots)
    main = aliases.program.main
    split["output"] += sum(_POINTER * len(main[name].outputs) for name, index in main.outputs if index == WHOLE)
    return Plan(slots, split["argument"] + split["output"] - split["alias"] + constants + split["temp"], split)


def allocations_of(aliases: Aliases, lifetimes: Sequence[Span]) -> dict[int, Allocation]:
    """What is in memory, by buffer."""
    spans: dict[int, list[Span]] = defaultdict(list)
    for number, span in enumerate(lifetimes):
        spans[aliases.buffer(number)].append(span)
    allocations = {buffer: Allocation(_merged(each)) for buffer, each in spans.items()}
    main = aliases.program.main
    for number, value in enumerate(aliases.values):
        allocation = allocations[aliases.buffer(number)]
        allocation.bytes = max(allocation.bytes, value.bytes or 0)
        allocation.values.append(number)
        allocation.is_argument |= value.node.is_argument and value.graph == main.name
        allocation.is_constant |= value.node.role == "constant"
    for number in aliases.results(main):
        allocations[aliases.buffer(number)].is_output = True
    return allocations


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _in_outputs(allocations: Mapping[int, Allocation], possible: Mapping[Takeover, bool]) -> dict[int, int]:
    """Temporaries that fit into the memory of an output, by size: the largest chooses first, and takes the smallest that fits."""
    by_size = sorted(allocations.items(), key=lambda item: -item[1].bytes)
    reusable = [(buffer, each.bytes, [(*span, buffer) for span in each.in_use]) for buffer, each in by_size if each.is_output]
    slots: dict[int, int] = {}
    large_enough = 0
    for buffer, temporary in by_size:
        if not temporary.is_temporary:
            continue
        while large_enough < len(reusable) and reusable[large_enough][1] >= temporary.bytes:
            large_enough += 1
        spans = [(*span, buffer) for span in temporary.in_use]
        for number in range(large_enough - 1, max(0, large_enough - _MOST_TRIED) - 1, -1):
            output, _, in_use = reusable[number]
            if _is_free(in_use, spans[0], possible) and all(_is_free(in_use, span, possible) for span in spans[1:]):
                slots[buffer] = output
                for span in spans:
                    insort(in_use, span)
                break
    return slots


def _is_free(in_use: list[tuple[int, int, int]], span: tuple[int, int, int], possible: Mapping[Takeover, bool]) -> bool:
    """Whether a span does not meet those in use, or only where one buffer takes over from the other."""
    first, last, _ = span
    place = bisect_left(in_use, span)
    if place < len(in_use) and in_use[place][0] <= last and not _takes_over(in_use[place], span, possible):
        return False
    return place == 0 or in_use[place - 1][1] < first or _takes_over(in_use[place - 1], span, possible)


def _takes_over(one: tuple[int, int, int], span: tuple[int, int, int], possible: Mapping[Takeover, bool]) -> bool:
    """Whether two spans that meet share only the step at which one buffer takes over from the other."""
    start, end, other = one
    first, last, buffer = span
    return (end == first and Takeover(other, buffer, first) in possible) or (last == start and Takeover(buffer, other, start) in possible)


def _over_operands(temporaries: Mapping[int, Allocation], possible: Mapping[Takeover, bool]) -> dict[int, int]:
    """Temporaries that are written over an operand. As in XLA, both are single values that nothing else aliases, and not copies."""
    slots: dict[int, int] = {}
    last = {buffer: each.in_use[-1][1] for buffer, each in temporaries.items()}
    for (operand, result, position), computes in sorted(possible.items(), key=lambda item: item[0].position):
        one, other = temporaries.get(operand), temporaries.get(result)
        if one is None or other is None or not computes or operand == result or result in slots:
            continue
        if len(one.values) == len(other.values) == 1 and last[operand] == position == other.in_use[0][0]:
            slots[result] = slots.get(operand, operand)
            last[operand] = -1  # it has been taken over
    return slots


def _heap(temporaries: Mapping[int, Allocation], slots: Mapping[int, int]) -> int:
    """The bytes of the memory for temporaries. Those in one slot follow each other.

    XLA places them twice, by size and by age, and takes the better result. Gaps arise between large buffers, and small ones fill them.
    So only the largest are placed one by one; with the others, the memory has at least the most bytes that are in use at one position.
    """
    spans: dict[int, list[Span]] = defaultdict(list)
    for buffer, each in temporaries.items():
        spans[slots.get(buffer, buffer)] += each.in_use
    merged = [(temporaries[slot].bytes, _merged(each)) for slot, each in spans.items()]
    age = _ages(merged)
    by_size = sorted(merged, key=lambda slot: (-slot[0], -age(slot[1])))[:_MOST_PLACED]
    by_age = sorted(by_size, key=lambda slot: (-age(slot[1]), -slot[0]))
    return max(_most_in_use(merged), min(_height(by_size), _height(by_age)))


def _ages(slots: Sequence[tuple[int, list[Span]]]) -> Callable[[list[Span]], int]:
    """How long a slot is in use, as XLA measures it: by how many others are allocated or freed in the meantime."""
    made = sorted(first for _, in_use in slots for first, _ in in_use)
    freed = sorted(last for _, in_use in slots for _, last in in_use)

    def age(in_use: list[Span]) -> int:
        first, last = in_use[0][0], in_use[-1][1]
        start = bisect_left(made, first) + bisect_left(freed, first)
        return bisect_right(made, last) + bisect_left(freed, last) - start

    return age


def _most_in_use(spans: Sequence[tuple[int, list[Span]]]) -> int:
    changes: dict[int, int] = defaultdict(int)
    for size, in_use in spans:
        for first, last in in_use:
            changes[first] += size
            changes[last + 1] -= size
    total = most = 0
    for position in sorted(changes):
        total += changes[position]
        most = max(most, total)
    return most


def _height(spans: Sequence[tuple[int, list[Span]]]) -> int:
    """The bytes from the lowest to the highest address if each in turn takes the smallest gap that it fits into."""
    placed: list[tuple[int, int, list[Span]]] = []
    for size, in_use in spans:
        best, smallest_gap, free_from = -1, 0, 0
        first, last = in_use[0][0], in_use[-1][1]
        for start, end, other in placed:  # in the order of their addresses
            if other[-1][1] < first or other[0][0] > last or not (len(other) == len(in_use) == 1 or _overlap(in_use, other)):
                continue
            gap = start - free_from
            if gap >= size and (best < 0 or gap < smallest_gap):
                best, smallest_gap = free_from, gap
            free_from = max(free_from, end)
        offset = free_from if best < 0 else best
        insort(placed, (offset, offset + size, in_use))
    return max((end for _, end, _ in placed), default=0)


def _overlap(one: list[Span], other: list[Span]) -> bool:
    for first, last in one:
        place = bisect_left(other, (first, last))
        if (place > 0 and other[place - 1][1] >= first) or (place < len(other) and other[place][0] <= last):
            return True
    return False
