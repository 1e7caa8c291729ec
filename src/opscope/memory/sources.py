"""From a source's name to its memory: reported by a compiler, measured by an allocator, or computed from a schedule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opscope.demo import source_path
from opscope.errors import OpscopeError, in_source
from opscope.loading import load_all, sources_in
from opscope.memory.model import Memory
from opscope.memory.schedule import computed_memory
from opscope.memory.torch_snapshot import read_snapshot
from opscope.memory.xla_files import Reports, find_reports, is_about, program_of, reported_memory, reports_about
from opscope.memory.xla_proto import captured_memory, proto_memory
from opscope.naming import WHOLE_SOURCE, Part, find_module
from opscope.plugin import Progress
from opscope.profile.peak import measured_peak
from opscope.program import Program
from opscope.readers.source import Source
from opscope.readers.torch_memory import ALLOCATOR
from opscope.readers.torch_memory.snapshot import is_snapshot


def read_memory(
    source: str,
    module: str | None = None,
    format: str | None = None,
    progress: Progress | None = None,
    part: Part = WHOLE_SOURCE,
    *,
    measure: bool = False,
) -> list[Memory]:
    """The memory of every module of a source, or only of one. What a compiler reports is of a whole program; a `part` is computed. With
    `measure`, the model that a `module:callable` names runs, and its peak is measured."""
    path = source_path(source)
    reports = find_reports(path) if path.is_dir() else []
    inside = sources_in(source) if path.is_dir() and not reports and format is None else []
    if inside:
        return _memories_in(source, inside, module, progress)
    if reports and part == WHOLE_SOURCE and not measure:
        if module is not None:
            with in_source(source):
                reports = [reports[find_module(module, [each.module for each in reports])]]
        return [reported_memory(each, program_of(each)) for each in reports]
    if path.is_file() and format is None and not measure and is_snapshot(opened := Source(source)):
        with in_source(source):
            memories = read_snapshot(opened, progress)
            return memories if module is None else [memories[find_module(module, [each.name for each in memories])]]
    programs = load_all(source, module=module, format=format, measure=measure, stage=part.stage, inside=part.inside, progress=progress)
    reported = [reported_about(source, program, reports) if part.inside is None else None for program in programs]
    with in_source(source):
        memories = [memory or known(computed_memory(program)) for memory, program in zip(reported, programs, strict=True)]
    return [replace(memory, measured=measured_peak(program)) for memory, program in zip(memories, programs, strict=True)]


def _memories_in(source: str, inside: Sequence[str], module: str | None, progress: Progress | None) -> list[Memory]:
    """The memory of what is in a directory, without profiles, whose memory is not known."""
    memories: list[Memory] = []
    for each in inside:
        try:
            memories += read_memory(each, progress=progress)
        except OpscopeError as error:
            if not isinstance(error.__cause__, MemoryUnknown):
                raise
    if not memories:
        raise OpscopeError(f"{source}: nothing in it says what its memory is; pass the program, or a memory snapshot")
    with in_source(source):
        return memories if module is None else [memories[find_module(module, [each.name for each in memories])]]


class MemoryUnknown(OpscopeError):
    """Nothing is known about the memory of a program."""


def known(memory: Memory) -> Memory:
    """Refuse a memory without any buffer, such as that of a profile: zero bytes would be a lie."""
    if not memory.buffers:
        raise MemoryUnknown(f"the memory of {memory.name} is unknown: its nodes have no types; pass the program, or a memory snapshot")
    return memory


def reported_about(source: str, program: Program, reports: Sequence[Reports] | None = None) -> Memory | None:
    """What a source says about the memory of one of its programs: in the program itself, in XLA's reports next to it, or in the file.
    `reports` are those of the directory, for who asks about many programs."""
    if program.memory_plan is not None:
        return captured_memory(program)
    path = source_path(source)
    if reports is None:
        reports = find_reports(path) if path.is_dir() else []
    about = next((each for each in reports if is_about(each, program)), None)
    if about is not None:
        return reported_memory(about, program)
    if not path.exists() or reports or (opened := Source(source)).is_directory:
        return None
    if ALLOCATOR in program.attrs:
        with in_source(source):
            return next((memory for memory in read_snapshot(opened) if memory.name == program.name), None)
    about = reports_about(opened.path, program)
    if about is not None:
        return reported_memory(about, program)
    with in_source(source):
        return proto_memory(opened, program)
