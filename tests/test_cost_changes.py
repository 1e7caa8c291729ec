"""Two programs compared by cost: `opscope cost A B`, and what programs cost after each pass."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from support.cost_command import cost

import opscope
from opscope.analysis.info import info_of
from opscope.cli import main

SAMPLES = Path(__file__).resolve().parent / "samples" / "kineto"


@pytest.fixture
def slower(tmp_path: Path) -> tuple[Path, float]:
    """The trace of a run in which the forward kernels of GELU take three times as long, and how much longer a step takes."""
    data = json.loads(gzip.decompress((SAMPLES / "eager.json.gz").read_bytes()))
    longer = 0.0
    for event in data["traceEvents"]:
        if event.get("cat") == "kernel" and "GeluCUDAKernelImpl" in event["name"]:
            longer += 2 * event["dur"] * 1e-6 / 2
            event["dur"] *= 3
    path = tmp_path / "slower.json"
    path.write_text(json.dumps(data))
    return path, longer


def test_what_got_slower_comes_first(slower: tuple[Path, float], capsys: pytest.CaptureFixture[str]) -> None:
    path, longer = slower
    data = cost(capsys, SAMPLES / "eager.json.gz", path)
    assert longer > 0 and data["after"] - data["before"] == pytest.approx(longer)
    grown = [row for row in data["rows"] if row["change"] > 1e-12]
    assert sorted(row["module"] for row in grown) == ["Net_0/Block_0", "Net_0/Block_1"] and data["rows"][: len(grown)] == grown
    assert sum(row["change"] for row in grown) == pytest.approx(longer) and data["matched_share"] == pytest.approx(1)
    operations = cost(capsys, SAMPLES / "eager.json.gz", path, "--per", "op")["rows"]
    assert operations[0]["op"] == "aten.gelu" and sum(row["after"] for row in operations) == pytest.approx(data["after"])
    assert main(["cost", str(SAMPLES / "eager.json.gz"), str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "eager → slower" in lines[0] and "100.0% of it on nodes that both have" in lines[2]


def test_a_module_that_was_renamed_is_the_same_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    renamed = tmp_path / "renamed.json"
    renamed.write_text((SAMPLES / "net.native").read_text().replace("blocks.1: Block", "layers.1: Block"))
    data = cost(capsys, SAMPLES / "net.native", renamed, "--by", "flops")
    rows = {row["module"]: row for row in data["rows"]}
    assert rows["blocks.1: Block/up: Linear"]["before"] == rows["blocks.1: Block/up: Linear"]["after"] > 0
    assert all(row["change"] == 0 for row in data["rows"]) and not any("layers" in name for name in rows)


def test_two_sources_share_no_profile(capsys: pytest.CaptureFixture[str]) -> None:
    trace = str(SAMPLES / "eager.json.gz")
    assert main(["cost", trace, trace, "--profile", trace]) == 2
    assert "--profile applies to one source" in capsys.readouterr().err
    assert main(["cost", trace, trace, "--per", "kernel"]) == 2
    assert "two sources are compared --per node, op, module, source" in capsys.readouterr().err


def test_passes_have_the_cost_of_the_program_after_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["passes", "demo:passes", "--cost", "--device", "h200", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    recording = opscope.open_recording("demo:passes")
    for row, snapshot in list(zip(rows, recording, strict=True))[:: max(1, len(rows) // 4)]:
        info = info_of(snapshot.program)
        assert (row["flops"], row["bytes"]) == (info.flops, info.bytes)
    assert all(row["estimated_seconds"] > 0 for row in rows) and len({row["flops"] for row in rows}) > 1
    assert main(["passes", "demo:passes", "--cost"]) == 0
    head = next(line for line in capsys.readouterr().out.splitlines() if "removed" in line)
    assert head.split()[-2:] == ["flops", "bytes"], "the time at best needs a device"
    assert main(["passes", "demo:passes", "--device", "h200"]) == 2
    assert "--device applies to --cost" in capsys.readouterr().err
