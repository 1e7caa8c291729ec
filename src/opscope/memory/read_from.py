"""Where programs that are shown were read from: their compiler's report on memory is looked for there, if anybody asks."""

from __future__ import annotations

from opscope.program import Program
from opscope.recording.model import Recording
from opscope.recording.sources import split_at

_SOURCE = "_memory_source"


def remember_source(source: str, *shown: Program | Recording) -> None:
    for each in shown:
        vars(each)[_SOURCE] = split_at(source)[0]


def source_of(shown: Program | Recording) -> str | None:
    """None if nobody noted it."""
    source: str | None = vars(shown).get(_SOURCE)
    return source
