"""From a source's name to its memory: reported by a compiler, measured by an allocator, or computed from a schedule."""

from __future__ import annotations

from pathlib import Path

from opscope.demo import source_path
from opscope.errors import SourceError, in_source
from opscope.loading import load_all
from opscope.memory.model import Memory
from opscope.memory.xla_files import Reports, find_reports, reported_memory, reports_about
from opscope.naming import find_module
from opscope.plugin import Progress
from opscope.program import Program
from opscope.readers import read
from opscope.readers.source import Source


def read_memory(source: str, module: str | None = None, format: str | None = None, progress: Progress | None = None) -> list[Memory]:
    """The memory of every module of a source, or only of one."""
    path = source_path(source)
    reports = find_reports(path) if path.is_dir() else []
    if reports:
        if module is not None:
            with in_source(source):
                reports = [reports[find_module(module, [each.module for each in reports])]]
        return [reported_memory(each, _program(each)) for each in reports]
    programs = load_all(source, module=module, format=format, progress=progress)
    if path.is_file() and len(programs) == 1:
        about = reports_about(path, programs[0])
        if about is not None:
            return [reported_memory(about, programs[0])]
    raise SourceError("has no memory report; pass a directory that XLA wrote with xla_dump_to, or the HLO text in it", source)


def _program(reports: Reports) -> Program | None:
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
