"""The history of a node: which pass created it, what changed, and what it became."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.hlo_texts import write_dump

from opscope.cli.pass_history import step_lines
from opscope.errors import OpscopeError
from opscope.recording.dumps.xla import read_dump
from opscope.recording.model import Recording


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return read_dump(write_dump(tmp_path / "dump"))


def test_a_fusion_names_its_parts_and_its_pass(recording: Recording) -> None:
    steps = recording.history("fusion.12")
    fused = next(step for step in steps if step.kind == "fused")
    assert fused.snapshot.name == "fusion"
    assert fused.old == (("main.9", "tanh.4"), ("main.9", "negate.5"))
    assert str(fused) == "tanh.4, negate.5 fused into fusion.12"


def test_every_link_of_a_history_has_its_evidence(recording: Recording) -> None:
    """Also that of a fusion, which rests on the nodes in it, and those through passes that did nothing to the node."""
    assert [(step.kind, step.evidence) for step in recording.history("fusion.12")][-1] == ("fused", "neighbourhood")
    steps = recording.history(("main.9", "dot.3"), carried=True)
    assert [(step.snapshot.index, step.kind, step.evidence) for step in steps] == [
        (3, "carried", "name"),
        (4, "carried", "name"),
        (5, "changed", "name"),
    ]
    assert recording.history(("main.9", "dot.3")) == steps[-1:]


def test_passes_that_did_nothing_are_one_row(recording: Recording) -> None:
    _, folded, _ = step_lines(recording.history(("main.9", "dot.3"), carried=True), "dot.3")
    assert folded.split() == ["3–4", "2", "passes", "name", "nothing"]
    unchanged, _, folded = step_lines(recording.history(("region_0.1", "sum"), carried=True), "sum")
    assert unchanged == "no pass changed sum"
    assert folded.split() == ["3–5", "3", "passes", "name", "nothing"]


def test_an_early_node_names_what_it_became(recording: Recording) -> None:
    fused = [step for step in recording.history("tanh.4", 0) if step.kind == "fused"]
    assert [step.new for step in fused] == [(("main.9", "fusion.12"),)]


def test_changes_show_their_values_and_unchanged_nodes_have_no_history(recording: Recording) -> None:
    changed = [step for step in recording.history(("main.9", "dot.3")) if step.kind == "changed"]
    assert changed and all(step.changes for step in changed)
    assert "dot.3 changed: " in str(changed[-1])
    assert recording.history(("region_0.1", "sum")) == []


def test_an_unknown_name_is_an_error(recording: Recording) -> None:
    with pytest.raises(OpscopeError, match=r"no node 'fusion\.12' after pass 0"):
        recording.history("fusion.12", 0)


@pytest.mark.slow
def test_the_prompt_prints_the_history(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    command = [sys.executable, "-m", "opscope", "repl", f"{dump}@0"]
    done = subprocess.run(command, input="history TANH.4\nhistory zero.6\nhistory fusion.12\n", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "outer / fusion" in done.stdout and "tanh.4, negate.5 fused into fusion.12" in done.stdout
    assert "no pass changed zero.6" in done.stdout
    assert done.stdout.count("tanh.4, negate.5 fused into fusion.12") == 2, "a node of a later pass is found too"
