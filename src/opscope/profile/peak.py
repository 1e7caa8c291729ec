"""The most bytes that were in memory during a run of a program, as an allocator counted them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from opscope.program import Program
from opscope.quantities import short_bytes

_PEAK = "measured_peak"
"""The attribute of a program that was run."""


class MeasuredPeak(NamedTuple):
    bytes: int | None
    """None if it cannot be known."""
    why_unknown: str = ""

    def __str__(self) -> str:
        return f"unknown: {self.why_unknown}" if self.bytes is None else f"{short_bytes(self.bytes)} ({self.bytes:,} bytes)"


def with_peak(program: Program, peak: MeasuredPeak) -> Program:
    """The program with the peak of its run, and a note about it."""
    about = {"unknown": peak.why_unknown} if peak.bytes is None else {"bytes": peak.bytes}
    notes = (*program.attrs.get("notes", ()), f"measured peak of memory: {peak}")
    return replace(program, attrs={**program.attrs, "notes": notes, _PEAK: about})


def measured_peak(program: Program) -> MeasuredPeak | None:
    """The peak of the run of a program; None if it was not run. The attribute may come from a file, which can say anything."""
    about = program.attrs.get(_PEAK)
    if not isinstance(about, dict):
        return None
    size = about.get("bytes")
    is_size = isinstance(size, int) and not isinstance(size, bool)
    return MeasuredPeak(size if is_size else None, "" if is_size else str(about.get("unknown", "")))
