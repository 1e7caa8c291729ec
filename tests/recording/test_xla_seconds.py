"""How long XLA's passes took, from two things that one compilation wrote (`timed`): the metadata of its dump, and a profile of it.

Both are the beginning of what XLA wrote for a training step on an H200 (jax 0.11.2, xla_dump_module_metadata): the pipelines up to
`optimization`; the profile without other threads and without stats. They were made by different code of XLA, so each checks the other.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.timed_dumps import METADATA, untimed_dump

from opscope.cli import main
from opscope.errors import SourceError
from opscope.recording.dumps.xla import timed_by_profile
from opscope.recording.model import Recording
from opscope.recording.sources import open_recording

SAMPLE = Path(__file__).parent / "timed"
PROFILE = SAMPLE / "compile.xplane.pb"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """A directory with the files that the metadata names; the programs do not matter here."""
    return untimed_dump(tmp_path / "dump")


def seconds_of(recording: Recording) -> dict[str, float]:
    return {str(each.attrs["file"]): each.seconds for each in recording if each.seconds is not None}


def test_the_metadata_and_the_profile_say_the_same_of_each_pass(dump: Path) -> None:
    by_profile = seconds_of(timed_by_profile(open_recording(dump), PROFILE.read_bytes()))
    shutil.copy(METADATA, dump)
    recording = open_recording(dump)
    by_metadata = seconds_of(recording)
    assert by_profile.keys() == by_metadata.keys() and len(by_profile) == 23
    passes = {str(each.attrs["file"]) for each in recording if not each.name.endswith(("pipeline-start", "up to simplification"))}
    assert by_profile.keys() == passes, "every pass has its seconds; the start of a pipeline is not a pass"
    slower = [by_profile[file] - by_metadata[file] for file in by_profile]
    assert all(-2e-6 < each < 320e-6 for each in slower), "the profile also counts a check of the program, of at most 311 µs"
    assert sum(each < 5e-6 for each in slower) == 18
    assert not any("metadata" in each for each in recording.skipped) and "writing its text" in recording.attrs["remarks"][0]


def test_a_pass_that_may_be_either_of_two_has_no_seconds(dump: Path) -> None:
    """Without the start of one run of `simplification`, the four others could be any of the five in the profile."""
    next(dump.glob("*0008*")).unlink()
    timed = timed_by_profile(open_recording(dump), PROFILE.read_bytes())
    assert not any("simplification" in each.pipeline for each in timed if each.seconds is not None and each.pipeline[-1] != "optimization")
    assert sum(each.seconds is not None for each in timed) == 7, "the passes of other pipelines keep theirs"


def test_passes_are_listed_by_the_seconds_of_a_profile(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", str(dump), "--sort", "time"]) == 2
    assert "xla_dump_module_metadata" in capsys.readouterr().err
    assert main(["passes", str(dump), "--sort", "time", "--profile", str(PROFILE)]) == 0
    first, second = capsys.readouterr().out.splitlines()[2:4]
    assert "simplification" in first and "0.0116" in first and "constant_folding" in second and "0.0022" in second


def test_a_profile_of_something_else_is_refused(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = PROFILE.read_bytes().replace(b"(jit_loss)", b"(jit_step)")
    with pytest.raises(SourceError, match="has no passes of jit_loss"):
        timed_by_profile(open_recording(dump), other)
    (tmp_path / "trace").mkdir()
    assert main(["passes", str(dump), "--profile", str(tmp_path / "trace")]) == 2
    assert "trace: has no profile (.xplane.pb) in it" in capsys.readouterr().err
