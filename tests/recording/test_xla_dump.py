"""Directories written with --xla_dump_to: order, nesting, skipped files, and reading in several processes."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from conftest import Corpus, Run
from support.hlo_texts import AFTER, BEFORE, parse, renamed, write_dump

import opscope
from opscope.errors import OpscopeError, SourceError
from opscope.readers.source import Source
from opscope.recording.dumps.xla import Step, find_steps, pipelines, read_dump
from opscope.recording.model import Recording, Snapshot
from opscope.recording.sources import open_passes, open_recording
from opscope.render.wire.compare_passes import compared_rows


def test_steps_come_in_order_with_their_pipelines(tmp_path: Path) -> None:
    recording = read_dump(write_dump(tmp_path / "dump"))
    assert [(s.pipeline, s.name) for s in recording] == [
        ((), "before optimizations"),
        (("outer",), "pipeline-start"),
        (("outer", "inner"), "pipeline-start"),
        (("outer", "inner"), "algsimp"),
        (("outer",), "inner"),
        (("outer",), "fusion"),
        ((), "after optimizations"),
    ]
    assert recording[5].program == parse(AFTER)
    assert recording[0].content == recording[1].content == recording[2].content != recording[3].content


def test_other_files_are_skipped_with_name_and_reason(tmp_path: Path) -> None:
    skipped = read_dump(write_dump(tmp_path / "dump")).skipped
    assert len(skipped) == 2
    assert any("buffer-assignment" in line and "memory" in line for line in skipped)
    assert any(".ll: generated code" in line for line in skipped)


def test_a_broken_text_is_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    (dump / "module_0007.jit_step.0002.inner.after_algsimp.before_pipeline-end.txt").write_text(BEFORE[:700])
    recording = read_dump(dump)
    assert len(recording) == 6
    assert any(re.search(r"after_algsimp\S*\.txt: line \d+, column \d+: ", line) for line in recording.skipped), recording.skipped


def test_one_skipped_file_is_one_file(run: Run, tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    for other in [path for path in dump.iterdir() if path.suffix != ".txt" or "buffer-assignment" in path.name]:
        other.unlink()
    (dump / "module_0007.jit_step.0002.inner.after_algsimp.before_pipeline-end.txt").write_text(BEFORE[:700])
    assert "\n1 file skipped: module_0007" in run("passes", dump).stdout


def test_several_modules_and_compressed_files(tmp_path: Path) -> None:
    dump = write_dump(write_dump(tmp_path / "dump"), "module_0001.jit_add.3")
    plain = dump / "module_0001.jit_add.3.0004.outer.after_fusion.before_pipeline-end.txt"
    (dump / f"{plain.name}.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    recording = read_dump(dump)
    assert recording.modules == ["module_0001.jit_add.3", "module_0007.jit_step"]
    assert len(recording) == 14
    assert recording[5].program == parse(AFTER)
    assert recording.before(recording[7]) is None


def test_a_pass_of_several_modules_is_chosen_by_number_and_the_error_names_the_modules() -> None:
    passes = [Snapshot(i, "fusion", module=f"module_{i}") for i in range(2)]
    with pytest.raises(OpscopeError, match=r"ran 2 times; choose one of 0 \(module_0\); 1 \(module_1\)$"):
        Recording("dump", passes).snapshot("fusion")


@pytest.mark.slow
def test_several_processes_read_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opscope.recording.dumps.workers._SMALL", 0)
    dump = write_dump(tmp_path / "dump")
    fractions: list[float] = []
    alone, together = read_dump(dump, jobs=1), read_dump(dump, fractions.append, jobs=3)
    assert [s.program for s in alone] == [s.program for s in together]
    assert fractions == sorted(fractions) and fractions[-1] == 1


def test_one_pass_is_read_without_reading_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = write_dump(tmp_path / "dump")
    whole = read_dump(dump)
    names: list[str] = []
    text = Source.read_text

    def recorded(source: Source) -> str:
        names.append(source.name)
        return text(source)

    monkeypatch.setattr(Source, "read_text", recorded)
    passes = open_passes(dump)
    with pytest.raises(OpscopeError, match="no pass 999; there are 7, from 0 to 6"):
        passes.snapshot("999")
    with pytest.raises(OpscopeError, match="no pass 'x'"):
        passes.snapshot("x")
    assert names == []
    assert passes.snapshot("5").program == whole.snapshot(5).program
    assert len(names) == 1 and "0004.outer.after_fusion" in names[0]
    assert [(s.title, s.module, s.attrs) for s in passes] == [(s.title, s.module, s.attrs) for s in whole]
    assert passes.attrs == whole.attrs


def test_passes_keep_their_numbers_next_to_a_truncated_text(tmp_path: Path) -> None:
    dump = write_dump(tmp_path / "dump")
    next(dump.glob("*0002*")).write_text(BEFORE[:400])
    assert [s.title for s in open_passes(dump)] == [s.title for s in read_dump(dump)]
    assert len(open_passes(dump)) == 6


def test_a_directory_without_texts_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "module_0001.jit_f.before_optimizations.hlo.pb").write_bytes(b"\x0a")
    with pytest.raises(SourceError, match="xla_dump_hlo_as_text"):
        read_dump(tmp_path)


def test_a_pipeline_that_runs_twice_is_two_pipelines() -> None:
    names = [("a", "pipeline-start"), ("b", "pipeline-start"), ("a", "x"), ("b", "pipeline-start"), ("b", "y")]
    steps = [Step(Path(str(i)), "m", i, pipeline, name) for i, (pipeline, name) in enumerate(names)]
    assert pipelines(steps) == [("a",), ("a", "b"), ("a",), ("b",), ("b",)]


def test_rows_count_the_changes_of_each_pass(tmp_path: Path) -> None:
    rows = list(compared_rows(read_dump(write_dump(tmp_path / "dump"))))
    assert [(row.added, row.removed, row.changed) for row in rows[:4]] == [(0, 0, 0)] * 3 + [(0, 0, 1)]
    assert (rows[5].added, rows[5].removed) == (2, 0)
    assert rows[6].unchanged


def test_rows_distinguish_renaming_and_reordering_from_changes() -> None:
    hidden, _ = renamed(AFTER)
    line = "  %zero.6 = f32[] constant(0)\n"
    moved = AFTER.replace(line, "").replace("  %dot.3 =", f"{line}  %dot.3 =")
    with opscope.record() as rec:
        rec.set(ids="names")
        for text, name in ((AFTER, "first"), (moved, "schedule"), (hidden, "rename")):
            rec.snapshot(parse(text), name)
    rows = list(compared_rows(rec.recording))
    assert [(row.unchanged, row.aside) for row in rows] == [(True, ""), (False, "reordered"), (False, "14 renamed")]
    assert {count for row in rows for count in (row.added, row.removed, row.changed)} == {0}


@pytest.fixture(scope="module")
def gpu_dump(corpus: Corpus) -> Path:
    return next(path for path in corpus("xla_gpu_scan_passes").rglob("*") if path.is_dir() and find_steps(path)[0])


@pytest.mark.slow
def test_a_real_gpu_dump_is_small_and_whole(gpu_dump: Path, tmp_path: Path) -> None:
    """At most 1/50 of the size of the texts, and every snapshot is equal to its text."""
    path = tmp_path / "gpu.opscope"
    recording = read_dump(gpu_dump, path=path)
    assert len(recording) == 108
    files = [gpu_dump / snapshot.attrs["file"] for snapshot in recording]
    assert path.stat().st_size <= sum(file.stat().st_size for file in files) / 50
    again = open_recording(path)
    for index in (0, 5, 63, 107):
        assert again[index].program == parse(files[index].read_text())
    nested = next(s for s in recording if s.name == "scatter_simplifier")
    assert nested.pipeline == ("optimization", "simplification")


def test_a_dump_without_passes_says_which_flag_was_missing(tmp_path: Path) -> None:
    whole = write_dump(tmp_path / "whole")
    assert "remarks" not in open_recording(whole).attrs
    for path in whole.glob("*.after_*"):
        path.unlink()
    (remark,) = open_recording(whole).attrs["remarks"]
    assert "xla_dump_hlo_pass_re=.*" in remark
