"""The memory of compiled programs: XLA's report, what opscope reads from it, and what it computes from the schedule alone.

    python benchmarks/memory.py [--keep] [DUMP_DIRECTORY …]

Compiles the programs of `memory_programs.py` for the CPU, reads dumps of the same programs for an H200, and further dumps that are
named. For each: the total of XLA's report, what opscope reads, and what it computes from the schedule alone; whether arguments, outputs,
aliased and temporary bytes are those of `memory_analysis()`, and whether XLA's list of what is alive at its peak is the same.
`--keep` appends the errors to benchmarks/results/memory.jsonl.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from memory_programs import CASES, analysis_of, compile_to
from results import Figure, keep

from opscope.memory.model import Memory
from opscope.memory.schedule import computed_memory
from opscope.memory.xla_files import Reports, find_reports, program_of, reported_memory
from opscope.memory.xla_reports import read_live_ranges

GPU_DUMPS = Path(__file__).parent.parent / "tests" / "memory" / "gpu_dumps.tar.gz"
MOST = 5.0
"""Percent."""


def main(words: list[str]) -> None:
    figures = []
    print(f"{'program':30} {'XLA: total':>14} {'read':>14} {'computed':>14} {'error':>8}  {'split':>5} {'live':>4}")
    with tempfile.TemporaryDirectory() as scratch:
        for name, case in CASES.items():
            directory = Path(scratch) / "cpu" / name
            analysis = analysis_of(compile_to(case, directory))
            figures += _measure(f"{name}, CPU", directory, analysis)
        with tarfile.open(GPU_DUMPS) as archive:
            archive.extractall(Path(scratch) / "gpu", filter="data")
        for directory in sorted((Path(scratch) / "gpu").iterdir()):
            figures += _measure(f"{directory.name}, GPU", directory, json.loads((directory / "analysis.json").read_text("utf-8")))
        for word in words:
            if word != "--keep":
                figures += _measure(Path(word).name, Path(word))
    if "--keep" in words:
        keep("memory", figures)


def _measure(name: str, directory: Path, analysis: Mapping[str, int] | None = None) -> list[Figure]:
    (reports,) = find_reports(directory)
    program = program_of(reports)
    assert program is not None, f"{directory} has no HLO text"
    total, reported, computed = _total(reports), reported_memory(reports, program), computed_memory(program)
    error = 100 * (computed.peak_bytes / total - 1)
    is_split = analysis is None or reported.split == analysis
    is_alive = _is_alive(reports, reported)
    print(
        f"{name:30} {total:14,} {reported.peak_bytes:14,} {computed.peak_bytes:14,} {error:+7.2f} %  "
        f"{'same' if is_split else 'OTHER':>5} {'same' if is_alive else 'OTHER'}"
    )
    of = (name, program.node_count)
    return [
        Figure("peak read from XLA's buffer assignment, error", float(reported.peak_bytes - total), "B", *of, at_most=0),
        Figure("splits and live sets that differ from XLA's", float((not is_split) + (not is_alive)), "", *of, at_most=0),
        Figure("peak computed from the schedule, error", abs(error), "%", *of, at_most=MOST),
    ]


def _is_alive(reports: Reports, memory: Memory) -> bool:
    """Whether the values alive at XLA's peak are those that XLA lists there."""
    assert reports.live_range is not None
    live = read_live_ranges(reports.live_range.read_text("utf-8"))
    alive = {(buffer.node, buffer.output or "{}"): buffer.bytes for buffer in memory.alive(live.peak or 0)}
    return alive == live.at_peak


def _total(reports: Reports) -> int:
    """The total of XLA's own report."""
    report = reports.assignment.with_name(reports.assignment.name.replace("buffer-assignment", "memory-usage-report"))
    return sum(int(size) for size in re.findall(r"^Total bytes: (\d+)", report.read_text("utf-8"), re.MULTILINE))


if __name__ == "__main__":
    main(sys.argv[1:])
