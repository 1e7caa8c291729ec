"""`opscope passes -- COMMAND…` with real compilers: what they wrote down is shown, and nothing else is different for the command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_JAX = "import jax, jax.numpy as jnp; print(float(jax.jit(lambda x: jnp.tanh(x @ x).sum())(jnp.ones((8, 8)))))"
_TORCH = """
import sys, torch

@torch.compile(backend="aot_eager_decomp_partition")
def f(x):
    return torch.softmax(x @ x, 0).sum()

print(float(f(torch.ones(8, 8))))
sys.exit(3)
"""


def passes(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "opscope", "passes", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu", **environment})


@pytest.mark.frameworks
def test_passes_of_a_jax_program_are_shown_and_kept(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    kept = tmp_path / "run.opscope"
    run = passes("-o", str(kept), "--", sys.executable, "-c", _JAX)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("64.0\n") and "jit__lambda" in run.stdout and "fusion" in run.stdout
    assert f"saved {kept}" in run.stderr
    again = passes(str(kept))
    assert again.returncode == 0 and "jit__lambda" in again.stdout and "before optimizations" in again.stdout


@pytest.mark.frameworks
def test_a_directory_that_the_user_dumps_to_stays_theirs(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    theirs = tmp_path / "theirs"
    run = passes("--", sys.executable, "-c", _JAX, XLA_FLAGS=f"--xla_dump_to={theirs} --xla_dump_hlo_pass_re=.*")
    assert run.returncode == 0 and "jit__lambda" in run.stdout, run.stderr
    assert any(theirs.iterdir())


@pytest.mark.frameworks
def test_passes_of_torch_compile_are_shown_and_the_exit_code_is_the_commands(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "step.py"
    script.write_text(_TORCH)
    run = passes("--", sys.executable, str(script))
    assert run.returncode == 3, run.stderr
    assert "Dynamo graph" in run.stdout and "AOTAutograd" in run.stdout


def test_the_command_sees_its_own_environment_and_what_was_appended(tmp_path: Path) -> None:
    code = "import os, sys; print(os.environ['XLA_FLAGS'], os.environ['TORCH_TRACE'], sys.argv[1:]); sys.exit(5)"
    run = passes("--", sys.executable, "-c", code, "--json", "--", "x", XLA_FLAGS="--xla_cpu_use_thunk_runtime=true")
    assert run.returncode == 5
    flags, _, rest = run.stdout.partition(" --xla_dump_to=")
    assert flags == "--xla_cpu_use_thunk_runtime=true" and rest.endswith("['--json', '--', 'x']\n")
    directory = Path(rest.split()[0])
    assert not directory.parent.exists(), "what was dumped does not stay behind"


@pytest.mark.parametrize("existing", ["run.opscope", "run-xla.opscope", "run-torch.opscope"])
def test_a_file_that_is_there_is_refused_before_the_command_runs(tmp_path: Path, existing: str) -> None:
    (tmp_path / existing).write_text("mine")
    ran = tmp_path / "ran"
    run = passes("-o", str(tmp_path / "run.opscope"), "--", sys.executable, "-c", f"open({str(ran)!r}, 'w')")
    assert run.returncode == 2 and len(run.stderr.splitlines()) == 1, run.stderr
    assert f"{tmp_path / existing}: already exists" in run.stderr and "--force" in run.stderr
    assert not ran.exists() and (tmp_path / existing).read_text() == "mine"


def test_a_directory_that_is_not_there_is_refused_before_the_command_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    run = passes("-o", str(tmp_path / "none" / "run.opscope"), "--", sys.executable, "-c", f"open({str(ran)!r}, 'w')")
    assert run.returncode == 2 and "no such directory" in run.stderr and not ran.exists()


@pytest.mark.frameworks
def test_a_file_is_replaced_with_force(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    kept = tmp_path / "run.opscope"
    kept.write_text("old")
    run = passes("-f", "-o", str(kept), "--", sys.executable, "-c", _JAX)
    assert run.returncode == 0 and kept.read_bytes().startswith(b"SQLite"), run.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--", sys.executable, "-c", "pass"], "compiled nothing that XLA or torch.compile wrote down"),
        (["--", "no-such-program"], "cannot run no-such-program: No such file or directory"),
        (["--"], "-- needs a command"),
        (["dump", "--", "true"], "SOURCE and -- COMMAND exclude each other"),
        (["-o", "run.opscope", "dump"], "-o applies to -- COMMAND"),
        (["--force", "dump"], "--force applies to -- COMMAND"),
        (["--force", "--", "true"], "--force is about the file that -o FILE writes"),
        ([], "Missing argument 'SOURCE', or -- COMMAND"),
    ],
)
def test_what_cannot_be_run_is_one_line(arguments: list[str], message: str) -> None:
    run = passes(*arguments)
    assert run.returncode == 2 and message in run.stderr and len(run.stderr.splitlines()) == 1
