"""What XLA's own reports say about memory, next to what opscope reads from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from opscope.memory.model import Memory
from opscope.memory.sources import read_memory
from opscope.memory.xla_files import find_reports
from opscope.memory.xla_reports import LiveRanges, read_live_ranges


def only(memories: list[Memory]) -> Memory:
    (memory,) = memories
    return memory


def xla_total(directory: Path) -> int:
    """The total of XLA's own report."""
    (report,) = directory.glob("*-memory-usage-report.txt")
    return sum(int(total) for total in re.findall(r"^Total bytes: (\d+)", report.read_text("utf-8"), re.MULTILINE))


def live_ranges(directory: Path) -> LiveRanges:
    (reports,) = find_reports(directory)
    assert reports.live_range
    return read_live_ranges(reports.live_range.read_text("utf-8"))


def check_reported(directory: Path, analysis: Mapping[str, int]) -> Memory:
    """The memory of a dump is to the byte what XLA reports: its total, what `memory_analysis()` says, and what is alive at the peak."""
    memory = only(read_memory(str(directory)))
    assert memory.origin == "reported"
    assert memory.peak_bytes == xla_total(directory)
    assert memory.split == analysis
    live = live_ranges(directory)
    assert live.peak is not None
    at_their_peak = {(buffer.node, buffer.output or "{}"): buffer.bytes for buffer in memory.alive(live.peak)}
    assert at_their_peak == live.at_peak
    assert sum(row.buffer.bytes or 0 for row in memory.live(memory.peak)) == memory.peak_bytes
    assert memory.bytes_at(memory.peak) == memory.live_peak <= memory.peak_bytes
    return memory
