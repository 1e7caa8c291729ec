"""The examples in the package: complete, opened by every command, and never written to."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from conftest import Run

import opscope
from opscope.demo import EXAMPLES, source_path
from opscope.render.wire.compare_passes import compared_rows

NAMES = [example.name for example in EXAMPLES]


def test_the_table_lists_what_is_in_the_directory() -> None:
    (directory,) = {example.path.parent for example in EXAMPLES}
    assert {path.name for path in directory.iterdir()} == {example.file for example in EXAMPLES} | {"README.md"}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_can_be_loaded_and_holds_no_path_of_the_machine_that_made_it(name: str) -> None:
    for program in opscope.load_all(f"demo:{name}"):
        files = {frame.file for graph in program for node in graph for frame in node.source}
        assert files and not [file for file in files if Path(file).is_absolute()]


@pytest.mark.slow
def test_looking_at_the_recording_writes_nothing_into_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparisons are cached in recordings of users, never in the package, whatever the cache in the example is worth."""
    monkeypatch.setattr("opscope.recording.store.comparison_cache.MATCHING", 999)
    before = source_path("demo:passes").read_bytes()
    recording = opscope.open_recording("demo:passes")
    assert recording.name == "demo:passes"
    assert sum(row.added for row in compared_rows(recording)) > 0
    assert source_path("demo:passes").read_bytes() == before


@pytest.mark.slow
def test_every_command_takes_an_example(run: Run, tmp_path: Path) -> None:
    assert json.loads(run("info", "demo:train_step", "--json").stdout)["name"] == "jit_train_step"
    assert "transpose-folding" in run("passes", "demo:passes").stdout
    assert "transpose" in run("diff", "demo:passes@24", "@25").stdout
    assert "history" in run("repl", "demo:passes@24", stdin="help\n").stdout
    assert run("export", "demo:detach", "-o", "detach.dot").returncode == 0
    assert (tmp_path / "detach.dot").read_text("utf-8").startswith("digraph")
    listed = run("demo", "--list")
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [f"demo:{name}" for name in NAMES]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["demo:train_stp", "demo:train_stp@3"])
def test_an_unknown_name_is_one_line_with_the_nearest(run: Run, source: str) -> None:
    for command in ("info", "passes", "view"):
        done = run(command, source)
        assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
        assert "no example named 'train_stp" in done.stderr and "did you mean 'train_step'?" in done.stderr


def test_a_module_that_is_called_demo_is_still_a_module(run: Run, tmp_path: Path) -> None:
    (tmp_path / "demo.py").write_text("import opscope\ndef make():\n    return opscope.load('demo:detach')\n")
    assert "SelfDistillation" in run("info", "demo:make").stdout


def test_a_file_of_that_name_is_still_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "demo:detach").write_bytes(source_path("demo:train_step").read_bytes())
    assert "jit_train_step" in run("info", "demo:detach").stdout


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["demo"], ["demo", "passes"], ["demo:passes"]])
def test_demo_serves_the_viewer(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "opscope", *arguments, "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            page = urlopen(server.stdout.readline().strip()).read().decode()
        finally:
            server.terminate()
    assert f'"name":"demo:{"passes" if "passes" in arguments[-1] else "train_step"}"' in page.replace('": "', '":"')


@pytest.mark.slow
def test_a_server_stopped_with_control_c_has_succeeded(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "opscope", "demo", "--no-browser"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        urlopen(server.stdout.readline().strip()).read()
        server.send_signal(signal.SIGINT)
        assert (server.wait(), server.stderr.read()) == (0, "")


@pytest.mark.slow
def test_what_is_not_a_recording_is_named_as_it_was_asked_for(run: Run) -> None:
    assert run("passes", "demo:train_step").stderr.startswith("demo:train_step: is not an opscope recording")
    assert run("passes", "demo:passes@12").stderr == "demo:passes@12: is one pass of a recording; leave out @12 to open all of them\n"
    assert run("diff", "demo:train_step", "@25").stderr == "demo:train_step: is not a recording, so @25 names no pass in it\n"


@pytest.mark.slow
def test_a_recording_is_compared_with_its_passes(run: Run) -> None:
    """Without a pass, A is the program after the last one."""
    assert run("diff", "demo:passes", "@25").stdout == run("diff", "demo:passes@-1", "@25").stdout != ""
