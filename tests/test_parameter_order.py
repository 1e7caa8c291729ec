"""Operands are bound to the right parameters, even if a computation lists its parameters out of order."""

from __future__ import annotations

import re
from pathlib import Path

import opscope
from opscope.readers.hlo import parse_hlo

TEXT = """HloModule swapped
body {
  second = f32[3] parameter(1)
  first = f32[2] parameter(0)
  a = f32[2] tanh(first)
  b = f32[3] cosine(second)
  ROOT t = (f32[2], f32[3]) tuple(a, b)
}
ENTRY main {
  x = f32[2] parameter(0)
  y = f32[3] parameter(1)
  u = f32[2] exponential(x)
  v = f32[3] negate(y)
  ROOT c = (f32[2], f32[3]) call(u, v), to_apply=body
}
"""


def edges(path: Path) -> set[tuple[str, str]]:
    text = path.read_text()
    titles = {
        name: title.partition("\\n")[0] for name, title in re.findall(r"^\s*\"([^\"]+)\" \[.*?label=\"([^\"]*)\"", text, re.MULTILINE)
    }
    joined = re.findall(r"^\s*\"([^\"]+)\" -> \"([^\"]+)\"", text, re.MULTILINE)
    return {(titles.get(a, a), titles.get(b, b)) for a, b in joined}


def test_an_opened_call_binds_operands_by_parameter_number(tmp_path: Path) -> None:
    program = parse_hlo(TEXT)[0]
    opscope.save(program, tmp_path / "swapped.dot", depth=3)
    drawn_edges = edges(tmp_path / "swapped.dot")
    assert any("exponential" in a and "tanh" in b for a, b in drawn_edges), drawn_edges
    assert any("negate" in a and "cosine" in b for a, b in drawn_edges), drawn_edges
    assert not any("exponential" in a and "cosine" in b for a, b in drawn_edges), drawn_edges
