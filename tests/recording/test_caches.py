"""Slow work is done once: comparisons are cached in the recording file, large dumps in the cache directory. Results stay the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest
from support.hlo_texts import write_dump
from support.wire_reader import WireReader

from opscope.recording.diff import diff
from opscope.recording.dumps.xla import read_dump
from opscope.recording.model import Recording
from opscope.recording.sources import open_recording
from opscope.recording.store.store import save_recording
from opscope.render.wire.compare_passes import compared, compared_rows
from opscope.render.wire.diff import FORMAT, encode_diff


def refuse(*_: object, **__: object) -> NoReturn:
    raise AssertionError("done again")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.opscope"
    read_dump(write_dump(tmp_path / "dump"), path=path)
    return path


def test_passes_are_compared_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = list(compared(open_recording(run)))
    assert any(each.added for each in first) and any(each.diff for each in first)
    monkeypatch.setattr("opscope.render.wire.compare_passes.compare", refuse)
    assert list(compared(open_recording(run))) == first
    monkeypatch.setattr("opscope.recording.store.comparison_cache.MATCHING", -1)
    with pytest.raises(AssertionError, match="done again"):
        list(compared(open_recording(run)))


def test_the_passes_of_one_module_are_compared_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a recording uses, and adds to, the comparisons of the whole: a loop over histories would compare every pass each time."""
    module = open_recording(run).modules[0]
    first = list(compared(open_recording(run).of_module(module)))
    assert any(each.diff for each in first)
    monkeypatch.setattr("opscope.render.wire.compare_passes.compare", refuse)
    assert list(compared(open_recording(run).of_module(module))) == first
    assert list(compared(open_recording(run))) == first, "the whole has those of its part"


def test_a_recording_without_a_file_keeps_what_it_compared(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small dump is in no cache: every history of it compared every pass."""
    read = open_recording(run)
    small = Recording(read.name, read.snapshots, read.attrs)
    first = list(compared(small))
    assert any(each.diff for each in first)
    monkeypatch.setattr("opscope.render.wire.compare_passes.compare", refuse)
    assert list(compared(small)) == first
    module = small.modules[0]
    assert list(compared(small.of_module(module))) == [each for each, of in zip(first, small, strict=True) if of.module == module]


def test_diffs_of_another_format_are_ignored(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    list(compared(open_recording(run)))
    monkeypatch.setattr("opscope.render.wire.compare_passes.FORMAT", FORMAT + 1)
    monkeypatch.setattr("opscope.render.wire.compare_passes.compare", refuse)
    with pytest.raises(AssertionError, match="done again"):
        list(compared(open_recording(run)))


def test_a_diff_has_the_columns_of_its_format(run: Path) -> None:
    """If this fails, increment `FORMAT` in `render/wire/diff.py` and list the new columns here."""
    wire = WireReader(next(each.diff for each in compared(open_recording(run)) if each.diff))
    columns = (
        "added byModule.after.rows byModule.after.value byModule.before.rows byModule.before.value byModule.counts byModule.texts "
        "changed changes.rows changes.texts counterpart evidence fusionsBodies.rows fusionsBodies.value fusionsNew "
        "fusionsOld.rows fusionsOld.value groupEvidence groupRule "
        "groupsNew.rows groupsNew.value groupsOld.rows groupsOld.value removed ruled rules strings strings.rows"
    )
    assert (FORMAT, wire.version) == (5, 1)
    assert sorted(wire.fields["sections"]) == columns.split()
    assert sorted(wire.fields) == ["basis", "before", "byName", "kind", "places", "sections"]


@pytest.mark.slow
def test_several_processes_compare_like_one(run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "copy.opscope"
    save_recording(open_recording(run), copy)
    alone = list(compared(open_recording(run)))
    monkeypatch.setattr("opscope.render.wire.compare_passes._FEW", 0)
    assert list(compared(open_recording(copy))) == alone


def test_an_unfinished_recording_is_left_alone(run: Path) -> None:
    recording = open_recording(run)
    before = run.read_bytes()
    unfinished = Recording(recording.name, recording.snapshots, {"ids": "names"}, recording.file)
    assert len(list(compared_rows(unfinished))) == len(recording)
    assert run.read_bytes() == before


def test_graphs_that_no_pass_touched_match_without_being_compared(run: Path) -> None:
    recording = open_recording(run)
    fusion = recording.snapshot("fusion")
    before = recording.before(fusion)
    assert before is not None
    stored = diff(before.program, fusion.program, match_by_name=True)
    other = open_recording(run)[fusion.index].program  # equal, and none of its graphs is the same object
    fresh = diff(before.program, other, match_by_name=True)
    assert stored.untouched == {"region_0.1"} and fresh.untouched == set()
    assert encode_diff(stored) == encode_diff(fresh)
    assert sorted(stored.matched) == sorted(fresh.matched) and sorted(stored.pairs()) == sorted(fresh.pairs())


def test_a_large_dump_is_read_once_and_nothing_is_written_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("opscope.recording.dumps.xla._WORTH_CACHING", 0)
    dump = write_dump(tmp_path / "dump")
    names = sorted(os.listdir(dump))
    first = read_dump(dump)
    rows = [row.to_json() for row in compared_rows(first)]
    with monkeypatch.context() as again:
        again.setattr("opscope.recording.dumps.xla.packed_in_order", refuse)
        again.setattr("opscope.render.wire.compare_passes.compare", refuse)
        second = read_dump(dump)
        assert second.name == str(dump) and second.skipped == first.skipped
        assert [row.to_json() for row in compared_rows(second)] == rows
    assert sorted(os.listdir(dump)) == names and len(list((tmp_path / "cache").iterdir())) == 1

    os.utime(dump / names[0], ns=(1, 1))
    monkeypatch.setattr("opscope.recording.dumps.xla.packed_in_order", refuse)
    with pytest.raises(AssertionError, match="done again"):
        read_dump(dump)


def test_the_cache_is_limited_and_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("opscope.recording.dumps.xla._WORTH_CACHING", 0)
    monkeypatch.setattr("opscope.recording.dumps.cache._MOST_BYTES", 1)
    for name in ("one", "two"):
        read_dump(write_dump(tmp_path / name))
    (left,) = (tmp_path / "cache").iterdir()
    assert open_recording(left).attrs["source"] == "two"
    others = [tmp_path / "cache" / name for name in ("thesis.txt", "run.opscope", f"{'a' * 32}.opscope.txt")]
    for other in others:
        other.touch()
        os.utime(other, (1e9, 1e9))
    read_dump(write_dump(tmp_path / "four"))
    assert all(other.exists() for other in others), "the directory may have been there before"
    (left,) = set((tmp_path / "cache").iterdir()) - set(others)
    for other in others:
        other.unlink()
    monkeypatch.setenv("OPSCOPE_CACHE", "off")
    assert read_dump(write_dump(tmp_path / "three")).file is None
    assert [left] == list((tmp_path / "cache").iterdir())
