"""The memory of compiled programs: XLA's report, what opscope reads from it, and what it computes from the schedule alone.

    python benchmarks/memory.py [--keep] [DUMP_DIRECTORY …]

Compiles the programs of `memory_programs.py` for the CPU, and reads further dumps of XLA (of a GPU, say) that are named.
`--keep` appends the errors to benchmarks/results/memory.jsonl.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from memory_programs import CASES, compile_to
from results import Figure, keep

from opscope.memory.schedule import computed_memory
from opscope.memory.xla_files import Reports, find_reports, program_of, reported_memory

MOST = 5.0
"""Percent."""


def main(words: list[str]) -> None:
    figures = []
    print(f"{'program':26} {'XLA: total':>14} {'read':>14} {'computed':>14} {'error':>8}  {'in use: XLA':>14} {'computed':>14}")
    with tempfile.TemporaryDirectory() as scratch:
        for name, case in CASES.items():
            directory = Path(scratch) / name
            compile_to(case, directory)
            figures += _measure(name, directory)
        for word in words:
            if word != "--keep":
                figures += _measure(Path(word).name, Path(word))
    if "--keep" in words:
        keep("memory", figures)


def _measure(name: str, directory: Path) -> list[Figure]:
    (reports,) = find_reports(directory)
    program = program_of(reports)
    assert program is not None, f"{directory} has no HLO text"
    total, reported, computed = _total(reports), reported_memory(reports, program), computed_memory(program)
    error = 100 * (computed.peak_bytes / total - 1)
    print(
        f"{name:26} {total:14,} {reported.peak_bytes:14,} {computed.peak_bytes:14,} {error:+7.2f} %  "
        f"{reported.live_peak:14,} {computed.live_peak:14,}"
    )
    return [
        Figure(
            "peak read from XLA's buffer assignment, error", float(reported.peak_bytes - total), "B", name, program.node_count, at_most=0
        ),
        Figure("peak computed from the schedule, error", abs(error), "%", name, program.node_count, at_most=MOST),
    ]


def _total(reports: Reports) -> int:
    """The total of XLA's own report."""
    report = reports.assignment.with_name(reports.assignment.name.replace("buffer-assignment", "memory-usage-report"))
    return sum(int(size) for size in re.findall(r"^Total bytes: (\d+)", report.read_text("utf-8"), re.MULTILINE))


if __name__ == "__main__":
    main(sys.argv[1:])
