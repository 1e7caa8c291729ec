"""Data is never code: what lies in the current directory, next to a file that a stranger made, is not imported by any process."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opscope.child import child_environment, python_command

SRC = Path(__file__).resolve().parent.parent / "src" / "opscope"
SAMPLES = Path(__file__).resolve().parent / "samples"
NAMES = ("json", "struct", "zlib", "jax", "jaxlib", "numpy", "executorch", "sitecustomize", "opscope")
"""What a child imports."""


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A directory with modules that leave a mark if they are imported."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("import os\nos.close(os.open('imported', os.O_CREAT | os.O_WRONLY))\n")
    return tmp_path


DRAWN = """
import opscope
from opscope.render.draw import host
from opscope.render.writers.svg import svg_text
host._first_user = -1  # another process has used V8
print(len(svg_text(opscope.load({!r}))) > 100)
"""
READ = """
from opscope.recording.processes import answers_in_order
print([len(answer) > 100 for answer in answers_in_order("opscope.recording.dumps.workers", [{!r}])])
"""


def run(code: str, directory: Path) -> str:
    """What Python prints in that directory, with a path on which the directory is not."""
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(command, cwd=directory, env=child_environment(), capture_output=True, text=True, check=True).stdout


def test_a_child_of_python_would_import_from_the_current_directory(trap: Path) -> None:
    """Otherwise the tests below would protect nothing."""
    subprocess.run([sys.executable, "-m", "json.tool"], cwd=trap, capture_output=True, input=b"{}", check=False)
    assert (trap / "imported").exists()


@pytest.mark.slow
def test_a_child_imports_nothing_from_the_current_directory(trap: Path) -> None:
    done = subprocess.run(python_command("opscope", "formats"), cwd=trap, env=child_environment(), capture_output=True, check=True)
    assert b"HLO" in done.stdout and not (trap / "imported").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("code", "printed"), [(DRAWN, "True\n"), (READ, "[True]\n")], ids=["picture", "dump"])
def test_work_that_is_done_in_a_child(trap: Path, code: str, printed: str) -> None:
    assert run(code.format(str(SAMPLES / "hlo" / "written.hlo")), trap) == printed
    assert not (trap / "imported").exists()


@pytest.mark.frameworks
def test_mlir(trap: Path) -> None:
    pytest.importorskip("jaxlib")
    (trap / "a.mlir").write_text("module { func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> } }")
    assert run("import opscope\nprint(opscope.load('a.mlir').node_count)", trap) == "1\n"
    assert not (trap / "imported").exists()


def test_an_empty_entry_is_not_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}a{os.pathsep}")
    assert child_environment()["PYTHONPATH"] == f"{SRC.parent}{os.pathsep}a"
    assert child_environment(["", "b"])["PYTHONPATH"] == "b"


def test_every_child_is_started_in_this_way() -> None:
    elsewhere = [
        f"{path.relative_to(SRC)}:{node.lineno}"
        for path in sorted(SRC.rglob("*.py"))
        if path.name != "child.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "executable"
    ]
    assert elsewhere == [], "start Python with opscope.child.python_command, which does not import from the current directory"
