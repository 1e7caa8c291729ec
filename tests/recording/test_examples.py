"""The examples do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import diff_of

import opscope

pytestmark = pytest.mark.frameworks

ROOT = Path(__file__).resolve().parents[2]


def run_example(name: str, directory: Path, python: Path | str = sys.executable, through: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(directory)}
    command = [str(python), *([str(through)] if through else []), str(ROOT / "examples" / name)]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_toy_compiler(tmp_path: Path) -> None:
    output = run_example("passes_toy.py", tmp_path)
    assert "['exp+tanh']" in output
    recording = opscope.open_recording(tmp_path / "toy.opscope")
    assert [s.nodes for s in recording] == [5, 3, 2]
    (match,) = [match for match in diff_of(recording, 2).matched if match.evidence == "rewrite"]
    assert [id for _, id in match.a] == ["a", "d"]
    printed = subprocess.run(
        [sys.executable, "-m", "opscope", "diff", "toy.opscope@1", "@2"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "rewritten (1)\na, d became " in printed.stdout, "rewrites reported by the compiler are listed, not only counted"


def test_a_jax_function_through_xla(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    output = run_example("passes_xla.py", tmp_path)
    assert "before optimizations" in output and "became" in output
    assert len(opscope.open_recording(tmp_path / "xla.opscope")) > 20


@pytest.mark.parametrize("version", ["0.6.1", "0.3.1"])
def test_hidets_tutorial(version: str, tmp_path: Path) -> None:
    python = ROOT / f".venv-hidet-{version}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no environment with hidet {version} (tests/support/hidet_env.sh)")
    output = run_example("passes_hidet.py", tmp_path, python)
    assert re.search(r"(x_\d+): .* = Rearrange\(.*\n  return \1\n", output), "the graph is printed as hidet prints it"
    assert "SubgraphRewritePass: " in output
    assert opscope.open_recording(tmp_path / "hidet.opscope").snapshot("FuseOperatorPass").nodes > 30


def test_aitemplates_transforms(tmp_path: Path) -> None:
    """With an imitation of AITemplate, which is on no package index. In a checkout of it, the example runs as its first lines say."""
    run_example("passes_aitemplate.py", tmp_path, through=ROOT / "tests" / "support" / "aitemplate_standin.py")
    recording = opscope.open_recording(tmp_path / "aitemplate.opscope")
    fusing = diff_of(recording, "fuse_mm_elementwise")
    (match,) = [match for match in fusing.matched if match.evidence == "output" and match.changes]
    assert len(match.a) == 2 and match.b[0][1].startswith("gemm_rcr_bias_add") and fusing.added == fusing.removed == ()
    assert (tmp_path / "aitemplate.html").read_text().lower().startswith("<!doctype html")
