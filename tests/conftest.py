"""What all tests share: deterministic hypothesis, the sample data where it is present, and commands as a person runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "train_step.hlo"

settings.register_profile("opscope", derandomize=True, deadline=None, database=None)
settings.load_profile("opscope")

os.environ.setdefault("JAX_PLATFORMS", "cpu")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Samples made by the real tools, which lie beside the repository and may be absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("sample data beside the repository (../shared/data) is not here")
    return folder


@pytest.fixture(scope="session")
def example() -> Path:
    """The train step that `make view` opens."""
    return EXAMPLE


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs `opscope …` in a process of its own, in an empty folder."""

    def run(*args: str | Path, stdin: str | bytes = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        command = [sys.executable, "-m", "opscope", *map(str, args)]
        settings = {**os.environ, **(env or {})}
        done = subprocess.run(command, input=given, capture_output=True, cwd=tmp_path, env=settings, check=False)
        return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
