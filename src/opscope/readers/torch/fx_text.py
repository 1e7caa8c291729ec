"""Files with the text of an fx graph: what `print_readable` prints, `fx_graph_readable.py`, the graphs of depyf, vLLM and GraphNet.

They are Python, but are parsed and never run. A model that a person wrote is not one of them: torch calls the class GraphModule, frees
each value after its last use (`;  x = None`), or writes types as texts (`x: "f32[4, 8]"`).
"""

from __future__ import annotations

import re

from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.source import Source
from opscope.readers.torch.readable import program_of_text

_FORWARD = re.compile(r"^\s*def forward\(\s*self\b", re.M)
_PRINTED = re.compile(r"^class GraphModule\(torch\.nn\.Module\):|;\s+\w+ = None\b|\w: \"\w+\[[^\"\]]*\][^\"]*\"\s*[=,)]", re.M)


def is_fx_text(head: str) -> bool:
    """Whether the beginning of a file is that of an fx graph as torch prints it."""
    return bool(_FORWARD.search(head) and _PRINTED.search(head))


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    if is_fx_text(source.head_text):
        return Verdict(0.8, "begins like an fx graph as torch prints it")
    return Verdict(0, "no fx graph as torch prints it")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    return [program_of_text(source.read_text(), source.path.stem)]
