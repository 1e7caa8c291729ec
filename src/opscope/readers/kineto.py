"""Traces of PyTorch's profiler (`export_chrome_trace`): the operators that ran, with their times, or times for a program from elsewhere."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path

from opscope.errors import SourceError
from opscope.gc_pause import without_collecting
from opscope.limits import Budget
from opscope.naming import listed
from opscope.profile.kineto.calls import Calls
from opscope.profile.kineto.operators import place_operators, vocabulary_of
from opscope.profile.kineto.place import has_launches, place_launches
from opscope.profile.kineto.program import program_of_calls, with_outside
from opscope.profile.kineto.times import timed_by_calls
from opscope.profile.kineto.trace import read_trace
from opscope.profile.place import PART_ATTR
from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.source import Source
from opscope.readers.timed import CUT_ATTR, Timed

_PROGRAMS = "open what ran: the exported model of an eager run, or of compiled code its TORCH_TRACE log or a recording with codegen=True"
_PACKED = 15
"""How much smaller gzip makes a trace, about."""
_HEAD = re.compile(rb'\s*\{.*?"(?:traceEvents|deviceProperties)"\s*:', re.DOTALL)


def is_trace(source: Source) -> bool:
    """Whether a file begins like a chrome trace."""
    return not source.is_directory and _HEAD.match(source.head) is not None


def sniff(source: Source) -> Verdict:
    return Verdict(0.96, "has traceEvents") if is_trace(source) else Verdict(0, "not a chrome trace")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    return [timed.program for timed in timed_programs(source, progress)]


def timed_programs(source: Source, progress: Progress | None = None) -> list[Timed]:
    """What ran, as a program of its own."""
    calls = read_calls(source, progress)
    name = Path(source.name).name.removesuffix(".gz").removesuffix(".json")
    program, times = program_of_calls(calls, name)
    return [Timed(_noted(program, calls), None if calls.is_of_host else times)]


def timed_with(programs: Sequence[Program], source: Source) -> list[Timed]:
    """Programs from elsewhere, with the times of a trace. Raises an error that says why if it is of none of them."""
    is_compiled = any(map(has_launches, programs))
    calls = read_calls(source, vocabulary=frozenset() if is_compiled else vocabulary_of(programs))
    placement = place_launches(programs, calls) if is_compiled else place_operators(programs, calls)
    if not placement:
        cuts = "; ".join(dict.fromkeys(str(program.attrs[CUT_ATTR]) for program in programs if CUT_ATTR in program.attrs))
        names = listed([program.name for program in programs])
        if cuts:
            raise SourceError(f"cannot be placed on {names}: {cuts}")
        ran = Counter(call.name for call in calls.calls)
        raise SourceError(
            f"is a trace of another program: it has {listed([name for name, _ in ran.most_common()])}, and less than half of it is in "
            f"{names}; {_PROGRAMS}"
        )
    if is_compiled:
        programs, placement = with_outside(programs, calls, placement)
    timed = [_noted(program, calls) for program in programs]
    return [Timed(program, times if times.seconds else None) for program, times in timed_by_calls(timed, calls, placement)]


def _noted(program: Program, calls: Calls) -> Program:
    """The program with what is to be said about its trace."""
    if not calls.problem:
        return program
    notes = (*program.attrs.get("notes", ()), calls.problem)
    return replace(program, attrs={**program.attrs, "notes": notes, **({PART_ATTR: calls.part} if calls.part else {})})


def read_calls(source: Source, progress: Progress | None = None, vocabulary: Set[str] = frozenset()) -> Calls:
    """The operators of a trace, and what they launched."""
    budget = Budget(source.size)
    done = 0

    def took(size: int) -> None:
        nonlocal done
        done += size
        if is_packed:
            budget.take(size)
        if progress is not None:
            progress(min(0.9, done / (_PACKED * source.size + 1 if is_packed else source.size + 1)))

    with source.stream() as stream, without_collecting():
        is_packed = isinstance(stream, gzip.GzipFile)
        trace = read_trace(stream, took)
        if not len(trace.spans) and not len(trace.work):
            what = trace.problem or f"{trace.events:,} events, none of which is an operator or a kernel"
            raise SourceError(
                f"has nothing of PyTorch's profiler: {what}; call prof.export_chrome_trace after the profiled steps, "
                "with a schedule in on_trace_ready "
                "(for a trace of JAX, open the .xplane.pb file next to it)"
            )
        return Calls(trace, vocabulary)
