"""The lines of the user's program for a page: as they were recorded, or as the file of this machine has them now."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from opscope.analysis.source_files import read_source
from opscope.errors import OpscopeError
from opscope.program import Node, Program


def source_answer(program: Program, query: Mapping[str, str], recorded: Mapping[str, str], written: float | None) -> bytes:
    """The text of a file that a node of the program comes from, and nothing else. `written` is when the program was stored."""
    file = query["file"]
    if not any(frame.file == file for frame in _node(program, int(query["node"])).source):
        raise OpscopeError(f"the node does not come from {file}")
    text = recorded.get(file)
    if text is not None:
        return json.dumps({"text": text, "note": "as recorded"}).encode()
    text = read_source(file)
    if text is None:
        problem = f"{file} is not a Python file on this machine; opscope.record(…, sources=True) keeps the files"
        return json.dumps({"problem": problem}).encode()
    is_newer = written is not None and Path(file).stat().st_mtime > written
    return json.dumps({"text": text, "note": "changed after this program was written" if is_newer else ""}).encode()


def _node(program: Program, number: int) -> Node:
    """A node by its number over all graphs."""
    for graph in program:
        if 0 <= number < len(graph):
            return graph[number]
        number -= len(graph)
    raise KeyError(number)
