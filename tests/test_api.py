"""The public API as a script meets it: each function gives one type, or one sentence that says which function to use."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import everything

import opscope

TWO_MODULES = """HloModule first
ENTRY a { ROOT x = f32[2] parameter(0) }

HloModule second
ENTRY b { y = f32[2] parameter(0)
  ROOT z = f32[2] tanh(y) }
"""


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.hlo"
    path.write_text(TWO_MODULES)
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A recording of two passes."""
    path = tmp_path / "run.opscope"
    with opscope.record(path) as recorder:
        recorder.snapshot(everything(), "before")
        recorder.snapshot(everything(), "after")
    return path


def test_load_gives_one_program_or_says_which_there_are(two: Path) -> None:
    assert opscope.load(two, module="second").main.name == "b"
    with pytest.raises(opscope.SourceError, match=r"two\.hlo: has 2 modules; choose one .* \(in Python module=NAME\): first, second$"):
        opscope.load(two)
    with pytest.raises(opscope.SourceError, match=r"two\.hlo: no module named 'third'; there are: first, second"):
        opscope.load(two, module="third")


def test_load_all_gives_a_list_however_many_there_are(two: Path, run: Path) -> None:
    assert [program.name for program in opscope.load_all(two)] == ["first", "second"]
    assert [program.name for program in opscope.load_all(two, module="first")] == ["first"]
    assert opscope.load_all(run) == [everything()], "of a recording, what each module became"


def test_a_recording_is_opened_as_one(run: Path) -> None:
    recording = opscope.open_recording(run)
    assert isinstance(recording, opscope.Recording) and [snapshot.name for snapshot in recording] == ["before", "after"]
    assert isinstance(recording[1], opscope.Snapshot) and isinstance(recording.diff(1), opscope.Diff)
    assert opscope.load(f"{run}@1") == everything()
    with pytest.raises(opscope.SourceError, match=r"is a recording; use opscope\.open_recording, or name one of its passes: .*@12"):
        opscope.load(run)


def test_what_is_not_a_recording_is_refused(two: Path, tmp_path: Path) -> None:
    with pytest.raises(opscope.SourceError, match=r"two\.hlo"):
        opscope.open_recording(two)
    with pytest.raises(opscope.SourceError, match="holds no passes"):
        opscope.open_recording(tmp_path)
