"""Which line of an MLIR text is which operation.

Names are unique only among the values that an operation sees, so that regions side by side use the same ones. The lines of a function
are in the order in which its operations are printed: each before its regions, and these before the next."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from opscope.program import Graph, Program
from opscope.readers.located_text import LocatedText, Spans

_LINE = re.compile(
    r'^[ \t]*+(?P<line>(?:(?P<node>%[\w$.-]++)(?::\d++)? = |"?(?P<op>[a-z_]\w*\.[\w.]++)"?)[^\r\n]*+)',
    re.MULTILINE,
)
_FUNCTION = re.compile(r'@(?:([\w$.-]+)|"([^"\n]+)")')
_GENERIC_FUNCTION = re.compile(r'\bsym_name = "([^"\n]+)"')
_UNNAMED = ""
_ARGUMENT = re.compile(r"%[\w$.-]++(?=[ \t]*+:)")
_MOST_REPEATED = 1 << 20
"""Characters of a function's first line, counted once for each parameter. Beyond, a parameter has its own part of the line."""


def with_own_text(program: Program, read: Callable[[], str]) -> Program:
    return replace(program, own_text=LocatedText(read, partial(_spans, program)))


def _spans(program: Program, text: str) -> dict[str, Spans]:
    spans = {graph.name: Spans.none(len(graph)) for graph in program}
    places = _places(program, program.main)
    functions: defaultdict[str, deque[Graph]] = defaultdict(deque)
    for graph in program:
        functions[graph.name.rpartition("::")[2]].append(graph)
    functions[_UNNAMED].append(program.main)
    for match in _LINE.finditer(text):
        start, end = match.span("line")
        key = match["node"] or match["op"]
        if key.endswith(".func"):
            function = _function(functions[_function_name(match["line"])], match["line"])
            places = _places(program, function) if function else defaultdict(deque)
            if function:
                _locate_parameters(function, spans[function.name], match["line"], start)
        elif places[key]:
            name, position = places[key].popleft()
            spans[name].starts[position], spans[name].ends[position] = start, end
    return spans


def _locate_parameters(function: Graph, spans: Spans, line: str, start: int) -> None:
    """The parameters of a function are in its first line."""
    parts: dict[str, tuple[int, int]] = {}
    is_long = len(function.parameters) * len(line) > _MOST_REPEATED
    if is_long:
        found = list(_ARGUMENT.finditer(line))
        ends = [*(match.start() for match in found[1:]), len(line)]
        parts = {match[0]: (match.start(), end) for match, end in zip(found, ends, strict=False)}
    for parameter in function.parameters:
        first, last = parts.get(parameter.id, (0, 0)) if is_long else (0, len(line))
        position = function.position[parameter.id]
        spans.starts[position], spans.ends[position] = start + first, start + last


def _function_name(line: str) -> str:
    named = (_GENERIC_FUNCTION if line.startswith('"') else _FUNCTION).search(line)
    return named[named.lastindex or 0] if named else _UNNAMED


def _function(named: deque[Graph], line: str) -> Graph | None:
    """The function that a line begins: modules may have functions of the same name, and they are printed in the order of their graphs.
    What is only declared has none."""
    has_body = line.rstrip().endswith(("{", "(", ",")) or "return" in line
    return named.popleft() if has_body and named else None


def _places(program: Program, function: Graph) -> defaultdict[str, deque[tuple[str, int]]]:
    """The operations of a function by what their lines begin with, in the order of the text."""
    places: defaultdict[str, deque[tuple[str, int]]] = defaultdict(deque)
    for graph, position in _printed(program, function):
        node = graph.nodes[position]
        places[node.id if node.id.startswith("%") else node.op].append((graph.name, position))
    return places


def _printed(program: Program, function: Graph) -> Iterator[tuple[Graph, int]]:
    waiting = [(function, iter(range(len(function))))]
    while waiting:
        graph, positions = waiting[-1]
        position = next(positions, None)
        if position is None:
            waiting.pop()
            continue
        node = graph.nodes[position]
        if node.role != "parameter":
            yield graph, position
        regions = [program.graphs[called] for called in node.calls if called.startswith(f"{graph.name}/") and called in program.graphs]
        waiting.extend((region, iter(range(len(region)))) for region in reversed(regions))
