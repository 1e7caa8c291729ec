"""The text of an fx graph (`print_readable`, as in torch's logs) as a Program. Parsed, never run; no torch import.

    class GraphModule(torch.nn.Module):
        def forward(self, primals_1: "f32[64, 32][32, 1]cpu"):
            # File: model.py:7 in forward, code: return self.fc1(x)
            permute: "f32[32, 64][1, 32]cpu" = torch.ops.aten.permute.default(primals_1, [1, 0]);  primals_1 = None

Logs may be cut or garbled: lines that cannot be parsed are left out, and the Program says how many.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections import deque
from typing import NamedTuple

from opscope.errors import SourceError
from opscope.program import Frame, Program, ProgramBuilder, line_number
from opscope.python_text import parsed_code
from opscope.readers.torch.own_lines import with_own_text
from opscope.readers.torch.readable_body import BodyReader

ENTRY = "main"
_MOST_REPAIRS = 40
_LOCATION = re.compile(r"^\s*# File: (?P<file>.+?):(?P<line>\d+) in (?P<function>.+?)(?:, code: .*)?$")
_UNNAMED = re.compile(r"^(\s*)class <(\w+)>\(")
"""Torch prints the graph of an unnamed function as `class <lambda>(torch.nn.Module):`."""
_HEADER = re.compile(r"\s*(?:class|def)\s")
_NO_LOCATION = re.compile(r"^\s*# No stacktrace")


class Text(NamedTuple):
    """A parsed text, with what is only in its comments."""

    tree: ast.Module
    lines: list[str]
    frames: list[Frame | None]
    """For each line, the line of the model that it came from."""
    left_out: int


def program_of_text(text: str, name: str = "") -> Program:
    """The graph in a text, with the graphs that it calls."""
    parsed = parse(text)
    top = next((item for item in parsed.tree.body if _forward(item) is not None), None)
    if top is None or not isinstance(top, ast.ClassDef | ast.FunctionDef):
        raise SourceError("contains no fx graph: expected a class or function `forward`")
    program = ProgramBuilder(name or top.name, ENTRY)
    waiting: deque[tuple[str, ast.stmt]] = deque([(ENTRY, top)])
    while waiting:
        graph_name, item = waiting.popleft()
        inner = {
            sub.name: sub.name if graph_name == ENTRY else f"{graph_name}.{sub.name}"
            for sub in (item.body if isinstance(item, ast.ClassDef) else ())
            if isinstance(sub, ast.ClassDef) and _forward(sub) is not None
        }
        waiting.extend((inner[sub.name], sub) for sub in getattr(item, "body", ()) if isinstance(sub, ast.ClassDef) and sub.name in inner)
        function = _forward(item)
        assert function is not None
        BodyReader(program.graph(graph_name), inner, parsed.frames, parsed.lines).read(function)
    if parsed.left_out:
        program.attrs["left_out"] = f"{parsed.left_out} line{'s' * (parsed.left_out != 1)} (truncated or not Python)"
    return with_own_text(program.build(), text)


def _forward(item: ast.stmt) -> ast.FunctionDef | None:
    if isinstance(item, ast.FunctionDef):
        return item
    if not isinstance(item, ast.ClassDef):
        return None
    return next((sub for sub in item.body if isinstance(sub, ast.FunctionDef) and sub.name == "forward"), None)


def parse(text: str) -> Text:
    """Parse a text, leaving out lines that make it fail: the last ones of a truncated text, or single ones in the middle."""
    lines = [_UNNAMED.sub(r"\1class \2_(", line) for line in textwrap.dedent(text).splitlines()]
    frames = _frames(lines)
    left_out = 0
    for _ in range(_MOST_REPAIRS):
        try:
            return Text(parsed_code("\n".join(lines)), lines, frames, left_out)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            bad = getattr(error, "lineno", None) or (_longest(lines) if isinstance(error, (RecursionError, MemoryError)) else len(lines))
        bad = min(max(bad, 1), len(lines)) if lines else 0
        if not bad:
            break
        left_out += 1
        follows = any(line.strip() for line in lines[bad:])
        broken = lines[bad - 1]
        if follows and not broken.rstrip().endswith(("(", "[", "{", ":", ",")):
            lines[bad - 1] = broken[: len(broken) - len(broken.lstrip())] + "pass"
        else:
            left_out += len(lines) - bad
            del lines[bad - 1 :]
    raise SourceError("contains no fx graph: expected Python code as torch prints it")


def _longest(lines: list[str]) -> int:
    """The number of the longest statement: an expression that is nested too deeply for Python's parser, which does not say where."""
    return max(range(1, len(lines) + 1), key=lambda number: (not _HEADER.match(lines[number - 1]), len(lines[number - 1])), default=0)


def _frames(lines: list[str]) -> list[Frame | None]:
    """The model's line for each line: a comment applies to all statements after it."""
    frames: list[Frame | None] = []
    current: Frame | None = None
    for line in lines:
        located = _LOCATION.match(line) if "# File: " in line else None
        if located:
            current = Frame(located["file"], line_number(located["line"]), located["function"])
        elif "# No stacktrace" in line and _NO_LOCATION.match(line):
            current = None
        frames.append(current)
    return frames
