"""Whether XLA's texts about the memory of a module are whole and agree. A truncated one would give numbers that are too low."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from opscope.errors import SourceError
from opscope.memory.xla_reports import HOST, Allocation, LiveRanges, ValueName

_TOTAL = re.compile(r"^Memory Space: [^\n]*\(color=(\d{1,9})\)\nTotal bytes: (\d{1,19})\b", re.MULTILINE)
_AGAIN = "dump it again"


def check_live_ranges(live: LiveRanges, allocations: Sequence[Allocation]) -> None:
    """Refuse a live-range text that is truncated, or that is not about these allocations."""
    steps = len(live.steps)
    if live.end != steps:
        raise SourceError(f"has {steps:,} of {live.end:,} instructions, so it is not complete; {_AGAIN}")
    for name, (born, last) in live.ranges.items():
        if not born <= last <= steps:
            raise SourceError(f"says that {_shown(name)} is alive from {born} to {last}, but the run has {steps:,} instructions; {_AGAIN}")
    sizes = {(value.instruction, value.output): value.size for each in allocations for value in each.values}
    needed = (
        (value.instruction, value.output)
        for each in allocations
        if not (each.on_host or each.is_thread_local or each.is_constant)
        for value in each.values
    )
    _refuse(needed, live.ranges, "has no live range for {}, which the buffer assignment has")
    _refuse(live.ranges, sizes, "has a live range for {}, which the buffer assignment does not have")
    if live.peak is None:
        raise SourceError(f"ends before the values that are alive at the peak, so it is not complete; {_AGAIN}")
    at_peak = {name: sizes[name] for name, (born, last) in live.ranges.items() if born <= live.peak <= last}
    if at_peak != live.at_peak:
        stated, found = (f"{len(each):,} values of {sum(each.values()):,} bytes" for each in (live.at_peak, at_peak))
        raise SourceError(f"lists {stated} at its peak, and its live ranges and the buffer assignment have {found} there; {_AGAIN}")


def check_usage(text: str, allocations: Iterable[Allocation]) -> None:
    """Refuse a memory usage report with another total than that of the allocations."""
    totals = [int(size) for color, size in _TOTAL.findall(text) if int(color) != HOST]
    reserved = sum(each.size for each in allocations if not each.on_host)
    if not totals:
        raise SourceError(f"is not a memory usage report; expected `Total bytes: N` below `Memory Space: …`; {_AGAIN}, or delete it")
    if sum(totals) != reserved:
        raise SourceError(f"has a total of {sum(totals):,} bytes, and the allocations of the buffer assignment {reserved:,}; {_AGAIN}")


def _refuse(names: Iterable[ValueName], known: Iterable[ValueName], problem: str) -> None:
    missing = set(names).difference(known)
    if missing:
        named = _shown(min(missing)) + (f" and {len(missing) - 1:,} more" if len(missing) > 1 else "")
        raise SourceError(f"{problem.format(named)}, so one of the two files is not complete; dump both again")


def _shown(name: ValueName) -> str:
    return name[0] + ("" if name[1] == "{}" else name[1])
