"""The counts of a pass add up: nodes before, and what was added, copied, removed and merged, give the nodes after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from browser.recordings import start, without_idle

import opscope
from opscope.recording.change_groups import change_groups
from opscope.recording.model import Recording, Snapshot
from opscope.recording.rows import Row, row_of
from opscope.render.wire.recording import pass_rows

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "first"),
    [("xla_gpu_scan_passes", "*before_optimizations.txt"), ("hidet_passes", "1_*.json"), ("aitemplate_doc_passes", "00-*_graph.json")],
)
def test_every_row_of_a_dump_adds_up(name: str, first: str, corpus: Callable[[str], Path]) -> None:
    check(opscope.open_recording(min(corpus(name).rglob(first)).parent))


@pytest.mark.slow
@pytest.mark.parametrize("path", ["src/opscope/examples/passes.opscope", "tests/samples/torch_trace"])
def test_every_row_of_a_recording_adds_up(path: str) -> None:
    check(opscope.open_recording(ROOT / path))


def check(recording: Recording) -> None:
    compared = 0
    for snapshot in recording:
        before = recording.before(snapshot)
        if before is None:
            continue
        row = row_of(recording, snapshot)
        assert before.nodes + row.added + row.copied - row.removed - row.merged == snapshot.nodes, (snapshot.title, row)
        if not row.unchanged and not recording.repeats(snapshot):
            check_page(recording, snapshot, row)
        recording.forget_diff(snapshot.index)
        compared += not row.unchanged
    assert compared, "no pass changed anything, so nothing was checked"


def check_page(recording: Recording, snapshot: Snapshot, row: Row) -> None:
    """The page marks the nodes of the groups that it lists by module; the table of `opscope passes` counts them."""
    difference = recording.diff(snapshot.index)
    assert difference is not None
    groups = change_groups(difference)
    shown = [len({key for group in groups for key in getattr(group, name)}) for name in ("added", "removed")]
    assert shown == [row.added, row.removed], snapshot.title


def test_a_pass_keeps_its_number_in_a_part_of_its_recording(tmp_path: Path) -> None:
    """Otherwise `run.opscope@3`, its row in the table and the page of its module call it by three numbers."""
    with opscope.record(tmp_path / "run.opscope") as rec:
        for module in ("jit_convert", "jit_train"):
            for program, name in ((start(), "as written"), (without_idle("default"), "dce")):
                rec.snapshot(program, name, module=module)
    recording = opscope.open_recording(tmp_path / "run.opscope")
    for part in (recording.of_module("jit_train"), recording.only(3)):
        assert [snapshot.index for snapshot in part] == [2, 3]
        assert part.snapshot(3).name == "dce" and part.snapshot(-2).index == 2
        assert part.before(part.snapshot(3)) == part.snapshot(2) and part.before(part.snapshot(2)) is None
        assert row_of(part, part.snapshot(3)).removed == 1
        assert [(row["number"], row["before"]) for row in pass_rows(part, [None, None], {})] == [(2, -1), (3, 0)]
        with pytest.raises(opscope.OpscopeError, match="no pass 1; there are 2, from 2 to 3"):
            part.snapshot(1)
