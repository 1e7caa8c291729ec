"""Memory as XLA assigned it: from its buffer assignment and live ranges, with reasons from the program where its text is at hand.

XLA reserves every allocation before the run, so the bytes of a run are the sum of its allocations. The curve is what is in use
of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from opscope.memory.model import Buffer, Kind, Memory
from opscope.memory.reasons import Reasons
from opscope.memory.xla_reports import Allocation, Assigned, LiveRanges
from opscope.program import Program


def assigned_memory(name: str, allocations: Sequence[Allocation], live: LiveRanges, program: Program | None = None) -> Memory:
    """The memory of a module, as reported. Values that are never scheduled (inside reducers) count as reserved and are not listed."""
    reasons = None if program is None else Reasons(program)
    buffers: list[Buffer] = []
    device = [allocation for allocation in allocations if not allocation.on_host]
    for allocation in device:
        for value in allocation.values:
            bounds = live.ranges.get((value.instruction, value.output))
            if bounds is not None:
                buffers.append(_buffer(allocation, value, bounds, live, reasons))
    buffers.sort(key=lambda buffer: (buffer.born, buffer.last))
    split = {
        "argument": sum(each.size for each in device if each.parameter is not None),
        "output": sum(each.size for each in device if each.is_output),
        "alias": sum(each.size for each in device if each.parameter is not None and each.is_output),
        "temp": sum(each.size for each in device if each.is_temporary),
    }
    return Memory(name, "reported", live.steps, buffers, reserved=sum(each.size for each in device), split=split)


def _buffer(allocation: Allocation, value: Assigned, bounds: tuple[int, int], live: LiveRanges, reasons: Reasons | None) -> Buffer:
    born, last = bounds
    output = "" if value.output == "{}" else value.output
    kind, why = _kind(allocation, value, last >= len(live.steps), born == 0)
    buffer = Buffer(value.instruction, value.size, kind, born, last, output=output, slot=(allocation.number, value.offset), why=why)
    last_use = live.steps[last] if last < len(live.steps) else ""
    return (
        reasons.explained(buffer, last_use) if reasons else buffer._replace(why=why or (f"used last by {last_use}" if last_use else kind))
    )


def _kind(allocation: Allocation, value: Assigned, to_the_end: bool, from_the_start: bool) -> tuple[Kind, str]:
    number = allocation.parameter
    if number is not None:
        if from_the_start and value.offset == min(other.offset for other in allocation.values):
            return "parameter", f"parameter {number}" + (", donated" if allocation.is_output else "")
        return ("output", f"output, aliases parameter {number}") if to_the_end else ("temporary", f"aliases parameter {number}")
    if allocation.is_constant:
        return "constant", "constant"
    return ("output" if allocation.is_output and to_the_end else "temporary"), ""
