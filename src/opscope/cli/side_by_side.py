"""`opscope diff --text`: before and after as two columns of lines, aligned by the matches of the diff."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Any

from opscope.cli.table import count
from opscope.terminal import one_line

if TYPE_CHECKING:
    from opscope.recording.model import Recording

SIGNS = {"same": " ", "added": "+", "removed": "−", "changed": "~", "became": ">", "copied": "×"}
_WIDTH = 160
"""Of what is printed into a pipe or a file."""
_MARKS = (("[-", "-]"), ("{+", "+}"))
"""Around words that only the line before or after has, as in `git diff --word-diff`."""


def text_lines(comparison: Recording, whole: bool) -> Iterator[str]:
    """The lines of both programs side by side; what did not change is folded, unless it is to be `whole`."""
    from opscope.render.draw import host
    from opscope.render.wire.recording import encode_recording

    (_, answer) = host.run(encode_recording(comparison, to_read=True), [("load", None), ("listing", {"whole": whole})])
    graphs = json.loads(answer)
    width = shutil.get_terminal_size((_WIDTH, 0)).columns if sys.stdout.isatty() else _WIDTH
    columns = max(20, (width - 3) // 2)
    unchanged = [graph for graph in graphs if not graph["rows"]]
    for graph in graphs:
        if graph["rows"]:
            yield from _graph_lines(graph, columns)
            yield ""
    if unchanged:
        yield f"{count(len(unchanged), 'graph')} with {count(sum(graph['lines'] for graph in unchanged), 'line')} did not change"


def _graph_lines(graph: dict[str, Any], columns: int) -> Iterator[str]:
    yield graph["name"]
    for row in graph["rows"]:
        if isinstance(row, int):
            yield f"  … {count(row, 'line')}"
            continue
        left, right = (_wrapped(_marked(row[side], marks), columns) for side, marks in zip(("before", "after"), _MARKS, strict=True))
        sign = SIGNS[row["kind"]]
        for before, after in zip_longest(left, right, fillvalue=""):
            yield f"{before:{columns}} {sign} {after}".rstrip()


def _marked(pieces: Sequence[dict[str, Any]], marks: tuple[str, str]) -> str:
    opening, closing = marks
    runs = ((differs, "".join(piece["text"] for piece in run)) for differs, run in groupby(pieces, key=lambda piece: piece["differs"]))
    return one_line("".join(f"{opening}{text}{closing}" if differs else text for differs, text in runs))


def _wrapped(text: str, columns: int) -> list[str]:
    """The text in lines of that many columns; further lines are indented."""
    lines = [text[:columns]]
    rest, width = text[columns:], columns - 4
    while rest:
        lines.append("    " + rest[:width])
        rest = rest[width:]
    return lines
