"""The wheel is what users install: it is built, installed into a bare environment, and draws there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.frameworks]

MOST_BYTES = 3_000_000
BUILT_FROM = (".gitignore", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md", "ARCHITECTURE.md", "SECURITY.md")


def checkout(directory: Path) -> Path:
    """A copy of what a wheel is built from, because building must not touch the repository."""
    shutil.copytree(ROOT / "src", directory / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in BUILT_FROM:
        shutil.copy(ROOT / name, directory)
    return directory


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    outside = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run([str(part) for part in command], cwd=cwd, env=outside, capture_output=True, text=True, check=False)


def build(source: Path) -> subprocess.CompletedProcess[str]:
    command = ("pip", "wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--wheel-dir", "dist", ".")
    return run(sys.executable, "-m", *command, cwd=source)


def test_the_wheel_draws_in_a_bare_environment(tmp_path: Path) -> None:
    source = checkout(tmp_path / "source")
    built = build(source)
    assert built.returncode == 0, built.stderr
    (wheel,) = (source / "dist").glob("*.whl")
    assert wheel.stat().st_size < MOST_BYTES
    assert {"opscope/static/core.js", "opscope/static/viewer.js", "opscope/static/NOTICE.txt", "opscope/py.typed"} <= set(
        zipfile.ZipFile(wheel).namelist()
    )

    venv.create(tmp_path / "bare", with_pip=True)
    programs = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin")
    installed = run(programs / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel, cwd=tmp_path)
    if "Could not find a version" in installed.stderr or "connection" in installed.stderr.lower():
        pytest.skip("opscope's dependencies cannot be had without a package index")
    assert installed.returncode == 0, installed.stderr

    for shown, name, beginning in (
        ("demo:train_step", "step.svg", "<svg"),
        ("demo:passes", "passes.html", "<!doctype html>"),
        ("demo:detach", "detach.svg", "<svg"),
    ):
        drawn = run(programs / "opscope", "export", shown, "-o", name, cwd=tmp_path)
        assert drawn.returncode == 0, drawn.stderr
        assert (tmp_path / name).read_text("utf-8").lower().startswith(beginning)


def test_a_wheel_without_the_viewer_is_refused(tmp_path: Path) -> None:
    """It would install without an error, and every picture would fail."""
    source = checkout(tmp_path)
    (source / "src" / "opscope" / "static" / "viewer.js").unlink()
    built = build(source)
    assert built.returncode != 0 and "viewer is not built (viewer.js missing" in built.stdout + built.stderr
