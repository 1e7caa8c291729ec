"""Which line of an HLO text is which instruction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from opscope.errors import SourceError
from opscope.program import Program
from opscope.readers.hlo.module import parse_hlo
from opscope.readers.hlo.printed import PrintedLines
from opscope.readers.located_text import LocatedText, Spans

_NAME = r"%?+([A-Za-z_][A-Za-z0-9_.-]*+)"
_LINE = re.compile(rf"^(?:(?:ENTRY )?+{_NAME} (?:\([^\n]*)?\{{[ \t\r]*$|[ \t]*+((?:ROOT )?+{_NAME} = [^\r\n]*+))", re.MULTILINE)
_MODULE = re.compile(r"^[ \t]*+HloModule[ \t]", re.MULTILINE)
_MOST_KEPT = 1 << 20


_Parsed: TypeAlias = Sequence[tuple[Program, Mapping[str, PrintedLines]]]


def with_own_text(programs: _Parsed, text: str, read: Callable[[], str], cut: int | None = None) -> list[Program]:
    """The modules of a text, each with its part of it. `read` returns the text again: it is not kept until somebody looks at it. `cut` is
    where the instructions of a computation are missing in it."""
    rest = _rest(programs, text, cut)
    texts = [
        LocatedText(partial(_part, read if rest is None else lambda: rest, number, len(programs)), partial(_spans, program), printed)
        for number, (program, printed) in enumerate(programs)
    ]
    return [replace(program, own_text=text) for (program, _), text in zip(programs, texts, strict=True)]


def _rest(programs: _Parsed, text: str, cut: int | None) -> str | None:
    """What is in the text besides very large computations, whose lines are known. None if that is too much to be kept."""
    spans = sorted(lines.span for _, printed in programs for lines in printed.values())
    if (
        (cut is not None and (cut, cut) not in spans)
        or not spans
        or "\r" in text
        or len(text) - sum(end - start for start, end in spans) > _MOST_KEPT
    ):
        return None
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return "".join(map(text.__getitem__, map(slice, starts, ends)))


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
    starts, ends = spans[graph.name]
    for match in _LINE.finditer(text):
        computation, name = match.group(1, 3)
        if name is None:
            graph = program.graphs.get(computation, graph)
            starts, ends = spans[graph.name]
        elif (place := graph.position.get(name)) is not None:  # not asked of a large graph whose lines are not in the text
            starts[place], ends[place] = match.span(2)
    return spans


def read_again(program: Program) -> Program | None:
    """A program of a recording as it was first read from HLO, from the lines that the recording kept; None if these are not HLO, or if some
    of them are missing."""
    if program.own_text is None:
        return None
    text = [f"HloModule {program.name}", ""]
    for graph in program:
        lines = program.own_text.lines(graph.name, 0, len(graph))
        if not all(lines):
            return None
        text += [f"{'ENTRY ' if graph.name == program.entry else ''}%{graph.name} {{", *lines, "}", ""]
    try:
        (again,) = parse_hlo("\n".join(text))
    except SourceError:  # other texts; an instruction of several lines
        return None
    return replace(again, attrs=program.attrs) if _instructions(again) == _instructions(program) else None


def _instructions(program: Program) -> dict[str, list[tuple[str, str]]]:
    return {graph.name: list(zip(graph.ids, graph.ops, strict=True)) for graph in program}
