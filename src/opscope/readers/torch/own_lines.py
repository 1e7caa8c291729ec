"""Which line of a readable fx graph (`print_readable`) is which node."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from opscope.program import Program
from opscope.readers.located_text import LocatedText, Spans

_LINE = re.compile(
    r"^(?P<indent>[ \t]*+)(?P<line>(?:class <?(?P<graph>\w++)|def (?P<function>\w++)\(|(?P<node>[A-Za-z_]\w*+)(?::[^=\n]*)? = "
    r"|(?P<end>return)\b|(?P<names>[A-Za-z_]\w*+(?=[:,] )))[^\n]*+)",
    re.MULTILINE,
)
_MOST_REPEATED = 1 << 20
"""Characters of a line, counted once for each name that it binds. Beyond, a name has its own part of the line."""
_NAME = re.compile(r"\b([A-Za-z_]\w*+)\s*(?=[:,)])")
"""A name that is bound: `def forward(self, x: "f32[2]", y):`, `x: "f32[2]"; y: "f32[2]"`, `x, y, = tree_flatten_spec(…)`."""


def with_own_text(program: Program, text: str) -> Program:
    return replace(program, own_text=LocatedText(lambda: text, partial(_spans, program)))


def _spans(program: Program, text: str) -> dict[str, Spans]:
    spans = {graph.name: Spans.none(len(graph)) for graph in program}
    classes: list[tuple[int, str]] = []
    graph = program.main

    def put(name: str, start: int, end: int) -> None:
        if name in graph.position and not spans[graph.name].ends[graph.position[name]]:
            spans[graph.name].starts[graph.position[name]], spans[graph.name].ends[graph.position[name]] = start, end

    for match in _LINE.finditer(text):
        start, end = match.start("line"), match.end()
        if match["graph"]:
            while classes and classes[-1][0] >= len(match["indent"]):
                classes.pop()
            classes.append((len(match["indent"]), match["graph"]))
            graph = program.graphs.get(".".join(name for _, name in classes[1:]), program.main)
        elif match["node"] or match["end"]:
            put(match["node"] or "output", start, end)
        else:
            for first, last in _lines(text, start) if match["function"] else [(start, end)]:
                names = list(_NAME.finditer(text, first, last))
                is_long = len(names) * (last - first) > _MOST_REPEATED
                for name, following in zip(names, [*(each.start() for each in names[1:]), last], strict=False):
                    put(name[1], *((name.start(), following) if is_long else (first, last)))
    return spans


def _lines(text: str, start: int) -> list[tuple[int, int]]:
    """The lines of a definition, up to the one that ends with a colon, without the blanks around them."""
    lines = []
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start:end]
        lines.append((start + len(line) - len(line.lstrip()), start + len(line.rstrip())))
        if line.partition("#")[0].rstrip().endswith(":"):
            break
        start = end + 1
    return lines
