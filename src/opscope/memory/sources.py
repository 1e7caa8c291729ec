"""From a source's name to its memory: reported by a compiler, measured by an allocator, or computed from a schedule."""

from __future__ import annotations

from opscope.demo import source_path
from opscope.errors import in_source
from opscope.loading import load_all
from opscope.memory.model import Memory
from opscope.memory.schedule import computed_memory
from opscope.memory.torch_snapshot import is_snapshot, read_snapshot
from opscope.memory.xla_files import find_reports, program_of, reported_memory, reports_about
from opscope.memory.xla_proto import read_proto
from opscope.naming import find_module
from opscope.plugin import Progress
from opscope.readers.source import Source


def read_memory(source: str, module: str | None = None, format: str | None = None, progress: Progress | None = None) -> list[Memory]:
    """The memory of every module of a source, or only of one."""
    path = source_path(source)
    reports = find_reports(path) if path.is_dir() else []
    if reports:
        if module is not None:
            with in_source(source):
                reports = [reports[find_module(module, [each.module for each in reports])]]
        return [reported_memory(each, program_of(each)) for each in reports]
    if path.is_file() and format is None:
        of_file = _memory_of_file(Source(source), progress)
        if of_file:
            return of_file
    programs = load_all(source, module=module, format=format, progress=progress)
    if path.is_file() and len(programs) == 1:
        about = reports_about(path, programs[0])
        if about is not None:
            return [reported_memory(about, programs[0])]
    return [computed_memory(program) for program in programs]


def _memory_of_file(source: Source, progress: Progress | None) -> list[Memory]:
    """The memory that a file itself has: a snapshot of an allocator, or a buffer assignment; none if it has a program alone."""
    with in_source(source.name):
        if is_snapshot(source):
            return read_snapshot(source, progress)
        return read_proto(source)
