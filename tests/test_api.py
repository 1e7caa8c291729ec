"""The public API as a script uses it: each function returns one type, or raises an error that says which function to use."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TWO_MODULES, everything

import opscope
from opscope.analysis.enrich import enrich


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


def test_load_returns_one_program_or_lists_the_modules(two: Path) -> None:
    assert opscope.load(two, module="second").main.name == "b"
    with pytest.raises(opscope.SourceError, match=r"two\.hlo: has 2 modules; choose one .* \(in Python module=NAME\): first, second$"):
        opscope.load(two)
    with pytest.raises(opscope.SourceError, match=r"two\.hlo: no module named 'third'; there are: first, second"):
        opscope.load(two, module="third")


def test_load_all_always_returns_a_list(two: Path, run: Path) -> None:
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
    with pytest.raises(opscope.SourceError, match="contains no compiler passes"):
        opscope.open_recording(tmp_path)


def test_a_recording_is_saved_and_never_replaced_by_accident(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.opscope"
    opscope.save(opscope.open_recording(run), copy)
    assert [snapshot.name for snapshot in opscope.open_recording(copy)] == ["before", "after"]
    with pytest.raises(opscope.OpscopeError, match=r"copy\.opscope: already exists; .* \(in Python overwrite=True\)"):
        opscope.save(opscope.open_recording(run), copy)
    opscope.save(opscope.open_recording(run).only(0), copy, overwrite=True)
    assert [snapshot.name for snapshot in opscope.open_recording(copy)] == ["before"]
    with pytest.raises(opscope.OpscopeError, match=r"contain the passes of a recording, but jit_step is a single program"):
        opscope.save(everything(), tmp_path / "program.opscope")


@pytest.mark.parametrize(
    ("suffix", "kind"), [("svg", "an SVG"), ("html", "an HTML"), ("hlo", "an HLO"), ("png", "a PNG"), ("dot", "a DOT")]
)
def test_a_file_that_is_not_replaced_is_named_in_english(suffix: str, kind: str, tmp_path: Path) -> None:
    target = tmp_path / f"notes.{suffix}"
    target.write_text("my notes")
    with pytest.raises(opscope.OpscopeError, match=f"does not look like {kind} file; choose another name"):
        opscope.save(everything(), target)


def test_save_replaces_files_of_its_own_kind_only(tmp_path: Path) -> None:
    notes, target = tmp_path / "notes.json", tmp_path / "step.json"
    notes.write_text("my notes")
    with pytest.raises(opscope.OpscopeError, match=r"already exists and does not look like a JSON file"):
        opscope.save(everything(), notes)
    assert notes.read_text() == "my notes"
    opscope.save(everything(), notes, overwrite=True)
    for _ in range(2):
        opscope.save(everything(), target)
    assert opscope.load(target) == opscope.load(notes) == enrich(everything())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.json", "step.json"], "no part is left behind"


class Doubling:
    """Something that can be captured with its inputs."""

    def __opscope_program__(self, *inputs: int) -> opscope.Program:
        builder = opscope.ProgramBuilder("doubling")
        graph = builder.graph("main")
        for number in inputs:
            graph.node(f"x{number}", "parameter", outputs=[opscope.TensorType("f32")], role="parameter")
        return builder.build()


def test_save_takes_inputs_as_capture_does(tmp_path: Path) -> None:
    opscope.save(Doubling(), tmp_path / "doubling.json", 1, 2)
    assert opscope.load(tmp_path / "doubling.json") == opscope.capture(Doubling(), 1, 2)


@pytest.mark.parametrize(
    ("function", "arguments", "misspelt", "nearest"),
    [
        ("load", ("demo:detach",), "modules", "module"),
        ("load_all", ("demo:detach",), "format_name", "format"),
        ("open_recording", ("demo:passes",), "progress_bar", "progress"),
        ("record", (), "overwritee", "overwrite"),
        ("diff", (everything(), everything()), "match_by_names", "match_by_name"),
        ("save", (everything(), "x.svg"), "overwrit", "overwrite"),
        ("summary", (everything(),), "dept", "depth"),
    ],
)
def test_every_function_names_the_nearest_keyword(function: str, arguments: tuple[object, ...], misspelt: str, nearest: str) -> None:
    with pytest.raises(TypeError, match=rf"^{function}\b.* has no option '{misspelt}'; did you mean '{nearest}'"):
        getattr(opscope, function)(*arguments, **{misspelt: None})


def test_a_summary_of_a_program_takes_no_inputs() -> None:
    with pytest.raises(opscope.OpscopeError, match="leave out input_size and input_data"):
        opscope.summary(everything(), (1, 2))
