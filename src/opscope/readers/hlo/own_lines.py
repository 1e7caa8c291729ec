"""Which line of an HLO text is which instruction."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from opscope.program import Program
from opscope.readers.located_text import LocatedText, Spans

_NAME = r"%?+([A-Za-z_][A-Za-z0-9_.-]*+)"
_LINE = re.compile(rf"^(?:(?:ENTRY )?+{_NAME} (?:\([^\n]*)?\{{[ \t]*$|[ \t]*+((?:ROOT )?+{_NAME} = [^\n]*+))", re.MULTILINE)
_MODULE = re.compile(r"^[ \t]*+HloModule[ \t]", re.MULTILINE)


def with_own_text(programs: list[Program], read: Callable[[], str]) -> list[Program]:
    """The modules of a text, each with its part of it. `read` returns the text again: it is not kept until somebody looks at it."""
    return [
        replace(program, own_text=LocatedText(partial(_part, read, number, len(programs)), partial(_spans, program)))
        for number, program in enumerate(programs)
    ]


def _part(read: Callable[[], str], number: int, count: int) -> str:
    """The text of one of several modules; empty if it is not clear where it begins."""
    text = read()
    if count == 1:
        return text
    starts = [match.start() for match in _MODULE.finditer(text)]
    return text[starts[number] : [*starts, len(text)][number + 1]] if len(starts) == count else ""


def _spans(program: Program, text: str) -> dict[str, Spans]:
    graph = program.main
    spans = {each.name: Spans.none(len(each)) for each in program}
    position, (starts, ends) = graph.position, spans[graph.name]
    for match in _LINE.finditer(text):
        computation, name = match.group(1, 3)
        if name is None:
            graph = program.graphs.get(computation, graph)
            position, (starts, ends) = graph.position, spans[graph.name]
        elif (place := position.get(name)) is not None:
            starts[place], ends[place] = match.span(2)
    return spans
