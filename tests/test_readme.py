"""Every snippet of README and docs/python.md runs as it is written, in an empty directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.frameworks

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/python.md")
SNIPPETS = [
    (page, kind, code)
    for page in PAGES
    for kind, code in re.findall(r"^```(bash|python)\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.M | re.S)
]


@pytest.mark.parametrize(("page", "kind", "code"), SNIPPETS, ids=[f"{page}-{i}" for i, (page, _, _) in enumerate(SNIPPETS)])
def test_a_snippet_runs_as_written(page: str, kind: str, code: str, tmp_path: Path) -> None:
    if ".svg" in code or ".png" in code:
        assert (ROOT / "src/opscope/static/core.js").exists(), "pictures need the bundle: make setup"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", "-euc", code] if kind == "bash" else [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "PATH": path}, check=False)
    assert done.returncode == 0, done.stderr
    for target in re.findall(r"-o ([\w.]+)|save\(\w+, \"([\w.]+)\"", code):
        file = tmp_path / "".join(target)
        assert file.stat().st_size > 200, f"{file.name} was not written"


def test_there_are_snippets_of_both_kinds() -> None:
    assert {kind for _, kind, _ in SNIPPETS} == {"bash", "python"} and len(SNIPPETS) >= 7
