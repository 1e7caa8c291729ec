"""The memory of a program that is shown: as its compiler reported it, if the source has that, or else computed from its order.

A page asks for it only when somebody looks, so a program remembers where it came from, and its memory once it is known.
"""

from __future__ import annotations

from dataclasses import replace

from opscope.analysis.enrich import enrich
from opscope.errors import OpscopeError
from opscope.memory.model import Memory
from opscope.memory.read_from import source_of
from opscope.memory.schedule import computed_memory
from opscope.memory.sources import known, reported_about
from opscope.memory.what_if import Planner
from opscope.memory.xla_proto import captured_memory
from opscope.profile.peak import measured_peak
from opscope.program import Program
from opscope.readers.torch_memory import ALLOCATOR
from opscope.recording.dumps.inductor_code import GENERATED_BY
from opscope.recording.model import Recording

_RESULT, _PLANNER = "_memory", "_memory_planner"
_MOST_UNASKED = 10_000


def memory_of(program: Program, recording: Recording | None = None) -> Memory:
    """The memory of a program, or of a snapshot of a recording. Computed once and cached on the program, as `enrich` does."""
    cached: Memory | None = vars(program).get(_RESULT)
    if cached is not None:
        return cached
    enriched = _enriched(program, recording)
    source = source_of(program if recording is None else recording)
    memory = captured_memory(enriched) or computed_memory(enriched) if source is None else _reported_or_computed(source, enriched)
    memory = vars(program)[_RESULT] = replace(known(memory), measured=measured_peak(program))
    return memory


def planner_of(program: Program, recording: Recording | None = None) -> Planner:
    """Answers what-if questions about a program, or a snapshot of a recording. Cached on the program, because a person asks many."""
    cached: Planner | None = vars(program).get(_PLANNER)
    if cached is None:
        memory = memory_of(program, recording)
        cached = vars(program)[_PLANNER] = Planner(_enriched(program, recording), memory)
    return cached


def is_worth_computing(program: Program) -> bool:
    """Whether memory is worth computing before somebody asks: the nodes have types and are in the order in which they run, and it takes a
    second."""
    attrs = program.attrs
    if len(program.main) > _MOST_UNASKED or not any(program.main.types):  # a profile has no types
        return False
    if ALLOCATOR in attrs:
        return source_of(program) is not None
    return attrs.get("is_scheduled") == "true" or GENERATED_BY in attrs or any(op.startswith("aten.") for op in program.main.ops)


def _enriched(program: Program, recording: Recording | None) -> Program:
    return enrich(program, snapshot=recording is not None and len(recording) > 1)


def _reported_or_computed(source: str, program: Program) -> Memory:
    """What the compiler reported, or else what is computed. A page has the program even if the report next to it is damaged."""
    try:
        return reported_about(source, program) or computed_memory(program)
    except OpscopeError as error:
        return replace(computed_memory(program), remark=f"the compiler's report cannot be read: {error}")
