"""The code that Inductor generated while it was watched: one node for each launch, which a profiler's times can be put on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opscope.program import Program
from opscope.readers.torch.export import ENTRY
from opscope.recording.dumps.inductor_code import COMPUTES, GeneratedCode
from opscope.recording.hooks.torch_compile.scheduler import BUFFERS
from opscope.recording.model import Origin

if TYPE_CHECKING:
    from opscope.recording.hooks.torch_compile.chain import Chain

GENERATED = "Inductor: generated code"
_REPEATED = re.compile(r"_\d+$")


def record_launches(chain: Chain, part: str, generated: Any, seconds: float) -> None:
    """Record what `GraphLowering.codegen` returned: the code of the wrapper, with its line numbers."""
    wrapper = generated[0]
    code = GeneratedCode(str(getattr(wrapper, "value", wrapper)))
    schedule = chain.parts[part].program
    computed = {buffer: node.attrs.get(COMPUTES, ()) for node in schedule.main for buffer in node.attrs.get(BUFFERS, ())}
    program = code.program(chain.title, chain.inputs_of(part), computed)
    chain.lowered(program, _origins(schedule, program), "launches", _pipeline(part), part, seconds)


def _pipeline(part: str) -> tuple[str, ...]:
    return ("code generation", part) if part else ("code generation",)


def _origins(schedule: Program, launches: Program) -> Iterator[Origin]:
    """A launch has the name of the first buffer that it writes, and the scheduler says which of its nodes computes that."""
    writers = {buffer: node.id for node in schedule.main for buffer in node.attrs.get(BUFFERS, ())}
    for node in launches.main:
        writer = writers.get(node.id) or writers.get(_REPEATED.sub("", node.id))
        if node.role == "op" and writer is not None:
            yield Origin(((ENTRY, writer),), ((ENTRY, node.id),), "rewrite", GENERATED)
