"""The peak before and after each pass, and which pass raised it."""

from __future__ import annotations

import json

import pytest
from support.wire_reader import WireReader

from opscope.cli import main
from opscope.memory import pass_peaks
from opscope.memory.pass_peaks import PassPeak, highest_rise
from opscope.memory.schedule import computed_memory
from opscope.quantities import short_bytes
from opscope.recording.sources import open_recording
from opscope.render.wire.recording import encode_recording


@pytest.mark.slow
def test_passes_have_the_peak_before_and_after_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "demo:passes", "--memory", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    recording = open_recording("demo:passes")
    for row, snapshot in list(zip(rows, recording, strict=True))[:: max(1, len(rows) // 4)]:
        memory = computed_memory(snapshot.program)
        assert (row["peak_bytes"], row["peak_at"], row["unknown_sizes"]) == (memory.live_peak, memory.step_at(memory.peak), 0)
    assert [row["peak_before_bytes"] for row in rows] == [None, *(row["peak_bytes"] for row in rows[:-1])]
    highest = max(rows[1:], key=lambda row: row["peak_bytes"] - row["peak_before_bytes"])
    assert main(["passes", "demo:passes", "--memory", "--touching", "op:dot"]) == 0
    out = capsys.readouterr().out
    assert f"{highest['index']} {highest['pass']} raised the peak most: {short_bytes(highest['peak_before_bytes'])} → " in out
    assert next(line for line in out.splitlines() if "removed" in line).split()[-3:] == ["peak", "peak", "change"]


@pytest.mark.slow
def test_a_page_has_the_peaks_unless_its_passes_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = open_recording("demo:passes").only(8)
    rows = WireReader(encode_recording(recording, to_read=True)).fields["passes"]
    assert [row["peak"] for row in rows] == [computed_memory(snapshot.program).live_peak for snapshot in recording]
    monkeypatch.setattr(pass_peaks, "_MOST_UNASKED", 10)
    assert not any("peak" in row for row in WireReader(encode_recording(recording, to_read=True)).fields["passes"])


def test_a_pass_that_lowers_the_peak_is_not_the_one_that_raised_it() -> None:
    first, lower = PassPeak(100, None, "a", 0), PassPeak(60, 100, "a", 0)
    assert highest_rise({0: first, 1: lower}) is None
    assert highest_rise({0: first, 1: lower, 2: PassPeak(90, 60, "b", 0), 3: PassPeak(95, 90, "b", 0)}) == 2
