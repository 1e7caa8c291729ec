"""Graphviz, as WebAssembly in Node.js: what it draws of a DOT text, without an installation of Graphviz."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def render(text: str, format: str = "plain") -> str:
    """The picture of a DOT text ("plain", "svg", …). Fails if Graphviz has any complaint, except about the fonts that it lacks here."""
    process = _graphviz()
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(json.dumps([text, format]) + "\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    complaints = [
        error for error in answer["errors"] if not error.startswith(("Warning: no hard-coded metrics", "Warning: no value for width"))
    ]
    assert not complaints, complaints
    picture: str = answer["output"]
    return picture


@cache
def _graphviz() -> subprocess.Popen[str]:
    """One process for all tests of a worker: it ends with its input."""
    script = ROOT / "web" / "test" / "graphviz.mjs"
    return subprocess.Popen(["node", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
