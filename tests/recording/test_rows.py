"""The counts of a pass add up: nodes before, and what was added, copied, removed and merged, give the nodes after."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import opscope
from opscope.recording.model import Recording
from opscope.recording.rows import row_of

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
        recording.forget_diff(snapshot.index)
        compared += not row.unchanged
    assert compared, "no pass changed anything, so nothing was checked"
