"""`opscope cost`: the heaviest first, and sums that agree with the profile and with `opscope info`."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from support.cost_command import cost, refused

import opscope
from opscope.analysis.costs import PERS, costs_of
from opscope.analysis.info import info_of
from opscope.cli import main
from opscope.loading import load_timed

HERE = Path(__file__).resolve().parent
SAMPLE = HERE / "samples" / "xplane" / "loop.xplane.pb"
H200 = HERE.parents[1] / "shared" / "data" / "profiles" / "h200_jax_train_step.tar.gz"


@pytest.mark.parametrize("per", PERS)
def test_rows_add_up_to_the_time_of_the_device(capsys: pytest.CaptureFixture[str], per: str) -> None:
    data = cost(capsys, SAMPLE, "--per", per)
    (timed,) = load_timed(str(SAMPLE))
    assert timed.times is not None
    profile, rows = data["profile"], data["rows"]
    assert profile["device_seconds"] == pytest.approx(timed.times.device_seconds / 3)
    assert profile["steps"] == 3 and profile["unattributed"] == [] and profile["attributed_seconds"] == profile["device_seconds"]
    assert sum(row["seconds"] for row in rows) == pytest.approx(profile["device_seconds"], rel=1e-3)
    assert [row["seconds"] for row in rows] == sorted((row["seconds"] for row in rows), reverse=True)
    assert rows[0]["share"] == pytest.approx(rows[0]["seconds"] / profile["device_seconds"])
    assert rows[-1]["cumulative_share"] == pytest.approx(1.0)


def test_a_row_says_what_the_node_is(capsys: pytest.CaptureFixture[str]) -> None:
    data = cost(capsys, SAMPLE)
    assert (data["program"], data["by"], data["per"]) == ("jit_loop", "time", "node")
    (tanh,) = [row for row in data["rows"] if "tanh" in row["node"]]
    assert set(tanh) == {
        "node", "graph", "op", "module", "source", "calls", "seconds", "flops", "bytes", "share", "cumulative_share",
    }  # fmt: skip
    assert tanh["calls"] == 3 and tanh["flops"] == 3 * 64 * 64 and tanh["module"] == "loop/layers/while" and "make.py:" in tanh["source"]


def test_estimates_add_up_to_those_of_info(capsys: pytest.CaptureFixture[str]) -> None:
    """With a loop of known length, whose body is listed instead of the loop."""
    program = opscope.load(HERE / "samples" / "hlo" / "step_compiled.hlo")
    for by in ("flops", "bytes"):
        costs = costs_of(program, by=by)
        assert costs.total == getattr(info_of(program), by)
        assert any(row.calls > 1 for row in costs.rows) and not any(row.op == "while" for row in costs.rows)
    assert cost(capsys, "demo:train_step", "--per", "op")["rows"][0]["op"] == "dot"


def test_a_metric_ranks_too() -> None:
    program = opscope.load("demo:train_step")
    names = [node.id for node in program.main if node.op == "dot"]
    timed = program.with_metric(opscope.Metric("stalls", "1"), {names[0]: 2, names[1]: 6})
    costs = costs_of(timed, by="stalls")
    assert [(row.name, row.share, row.cumulative) for row in costs.rows] == [(names[1], 0.75, 0.75), (names[0], 0.25, 1.0)]
    assert costs.to_json()["rows"][0]["stalls"] == 6


def test_what_cannot_be_ranked_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert "has no measured times; name a profile" in refused(capsys, "demo:train_step", "--by", "time")
    assert "has kernels only in a profile" in refused(capsys, "demo:train_step", "--per", "kernel")
    assert "has no metric 'flop' that adds up; did you mean" in refused(capsys, "demo:train_step", "--by", "flop")
    assert "is a profile of another program" in refused(capsys, "demo:train_step", "--profile", SAMPLE)


def test_the_table_has_the_heaviest_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(SAMPLE)]) == 0
    text = capsys.readouterr().out
    assert "per step, measured in 3 steps" in text and "100.00% of it on nodes" in text
    (timed,) = load_timed(str(SAMPLE))
    heaviest = costs_of(timed.program, timed.times).rows[0]
    first = text.split("\n\n")[1].splitlines()[1]
    assert first.startswith(heaviest.name) and f"{heaviest.share:.1%}" in first


def test_a_train_step_on_a_gpu(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    if not H200.exists():
        pytest.skip("needs the profiles in ../shared")
    with tarfile.open(H200) as files:
        (member,) = [one for one in files.getmembers() if one.name.endswith(".xplane.pb")]
        trace = files.extractfile(member)
        assert trace is not None
        (tmp_path / "step.xplane.pb").write_bytes(trace.read())
    data = cost(capsys, tmp_path / "step.xplane.pb")
    total = sum(row["seconds"] for row in data["rows"])
    assert data["profile"]["steps"] == 5 and abs(total - 0.043135295 / 5) <= 0.001 * total
    assert data["rows"][0]["op"] == "fusion" and data["rows"][0]["module"].endswith("attention")
