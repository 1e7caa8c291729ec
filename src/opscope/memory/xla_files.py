"""Finds XLA's memory reports: in a dump directory, or next to the HLO text that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from opscope.analysis.moved import parameter_number, size_of
from opscope.errors import SourceError, in_source
from opscope.memory.model import Memory
from opscope.memory.xla import assigned_memory
from opscope.memory.xla_checks import check_live_ranges, check_usage
from opscope.memory.xla_reports import Allocation, read_assignment, read_live_ranges
from opscope.program import Program
from opscope.readers import read
from opscope.readers.source import Source
from opscope.recording.dumps.own_files import own_files
from opscope.recording.dumps.xla import AFTER

_ASSIGNMENT = re.compile(r"(.+)-buffer-assignment\.txt(?:\.gz)?")


class Reports(NamedTuple):
    """The files about one module."""

    module: str
    assignment: Path
    live_range: Path | None
    text: Path | None
    """The HLO text after optimizations."""
    usage: Path | None = None
    """XLA's memory usage report."""


def find_reports(directory: Path) -> list[Reports]:
    """The memory reports in a directory, in the order of their names."""
    names = {path.name: path for path in own_files(directory)}
    reports = []
    for name, path in names.items():
        match = _ASSIGNMENT.fullmatch(name)
        if match:
            module = AFTER.fullmatch(match[1])
            live, text = _first(names, f"{match[1]}-live-range.txt"), _first(names, f"{match[1]}.txt")
            usage = _first(names, f"{match[1]}-memory-usage-report.txt")
            reports.append(Reports(module["module"] if module else match[1], path, live, text, usage))
    return reports


def _first(names: dict[str, Path], name: str) -> Path | None:
    return names.get(name) or names.get(f"{name}.gz")


def reports_about(text: Path, program: Program) -> Reports | None:
    """The reports about an HLO text: named like it, or else the only ones in its directory whose instructions the program has."""
    reports = find_reports(text.parent)
    for each in reports:
        if each.text == text:
            return each
    ids = {node.id for graph in program for node in graph}
    fitting = [each for each in reports if each.text is None and _values(_assignment(each)) <= ids]
    return fitting[0] if len(fitting) == 1 else None


def is_about(reports: Reports, program: Program) -> bool:
    """Whether reports are about this program: their module has its name, and it has their instructions, as after optimization, and
    arguments of their sizes: two modules of one directory may have the same names."""
    if not reports.module.endswith(program.name):
        return False
    allocations = _assignment(reports)
    reserved = {each.parameter: each.size for each in allocations if each.parameter is not None}
    sizes = {parameter_number(node): size_of(node.outputs[0])[1] for node in program.main.parameters if len(node.outputs) == 1}
    if any(size != reserved.get(number, size) for number, size in sizes.items() if size):
        return False
    return _values(allocations) <= {node.id for graph in program for node in graph}


def _values(allocations: Iterable[Allocation]) -> set[str]:
    return {value.instruction for allocation in allocations for value in allocation.values}


def program_of(reports: Reports) -> Program | None:
    """The program that a module's reports are about; None if its text is not there."""
    if reports.text is not None:
        return _only(reports.text)
    for text in sorted(reports.assignment.parent.glob("*.hlo")):
        program = _only(text)
        if program is not None and reports_about(text, program) == reports:
            return program
    return None


def _only(text: Path) -> Program | None:
    programs = read(Source(text), "hlo")
    return programs[0] if len(programs) == 1 else None


def reported_memory(reports: Reports, program: Program | None) -> Memory:
    """The memory of a module, with reasons from its program if there is one."""
    if reports.live_range is None:
        raise SourceError("has no live-range.txt next to it, which XLA writes with it; dump both again", str(reports.assignment))
    allocations = _assignment(reports)
    with in_source(str(reports.live_range)):
        live = read_live_ranges(Source(reports.live_range).read_text())
        check_live_ranges(live, allocations)
    if reports.usage is not None:
        with in_source(str(reports.usage)):
            check_usage(Source(reports.usage).read_text(), allocations)
    return assigned_memory(reports.module, allocations, live, program)


def _assignment(reports: Reports) -> list[Allocation]:
    with in_source(str(reports.assignment)):
        return read_assignment(Source(reports.assignment).read_text())
