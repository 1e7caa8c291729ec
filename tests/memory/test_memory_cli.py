"""`opscope memory` as a user runs it, on a dump of XLA:GPU."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from conftest import Run

from opscope.errors import OpscopeError
from opscope.loading import sources_in
from opscope.memory.shown import memory_of
from opscope.memory.sources import read_memory
from opscope.quantities import short_bytes
from opscope.render.panel_picture import check_picture, write_memory
from opscope.serve.opening import open_source
from opscope.view_options import Theme

SAMPLES = Path(__file__).parents[1] / "samples"
SNAPSHOTS = Path(__file__).parent / "snapshots"


@pytest.mark.slow
def test_the_table_says_what_is_alive_and_why(gpu_dump: Path, run: Run) -> None:
    done = run("memory", gpu_dump)
    assert done.returncode == 0, done.stderr
    assert "peak      3.33 MB (3,330,319 bytes), reported by XLA" in done.stdout
    assert "at        gemm_fusion_dot.5, step 146 of 165" in done.stdout
    assert f"saved     {short_bytes(4 * 524_288)} for backward, 4 buffers; --suggest says what to recompute" in done.stdout
    largest = "largest   1.05 MB: scan_model.py:12 model: loop_transpose_fusion f32[256, 8, 64], while.15{3} f32[256, 8, 64]\n"
    assert largest in done.stdout, "of one line, with the state, which the loop carries"
    (row,) = (line for line in done.stdout.splitlines() if "while.15{4}" in line and "saved" in line)
    assert "scan_model.py:12 model.<locals>.<lambda> " in row, "the function that the loop repeats computes it"
    (row,) = (line for line in done.stdout.splitlines() if "while.15{3}" in line and "saved" in line)
    assert row.split()[:4] == ["524", "kB", "saved", "while.15{3}"]
    assert "saved for backward: while.22 needs it for the gradient of while.15" in row and "scan_model.py:12" in row
    assert row.endswith("for the gradient of while.15"), "the reason is last, and whole"


@pytest.mark.slow
def test_json_has_the_live_set_and_the_curve(gpu_dump: Path, run: Run) -> None:
    data = json.loads(run("memory", gpu_dump, "--json").stdout)
    assert {key: data[key] for key in ("origin", "peak_bytes", "peak_at", "at", "argument_bytes", "output_bytes", "alias_bytes")} == {
        "origin": "reported",
        "peak_bytes": 3_330_319,
        "peak_at": "gemm_fusion_dot.5",
        "at": "gemm_fusion_dot.5",
        "argument_bytes": 80_648,
        "output_bytes": 56_116,
        "alias_bytes": 0,
    }
    assert sum(row["bytes"] for row in data["live"]) == data["peak_bytes"]
    assert max(size for _, size in data["curve"]) == data["bytes"] <= data["peak_bytes"]
    positions = [position for position, _ in data["curve"]]
    assert positions == sorted(set(positions))
    by_node = {row["node"] + row["output"]: row for row in data["live"]}
    conv = by_node["cudnn-conv.1{0}"]
    assert conv["kind"] == "saved" and conv["type"] == "f32[8, 16, 16, 64]" and conv["scope"] == "loss/stem"
    assert conv["born"] < data["position"] < conv["last"] and conv["last_use"] == "loop_select_fusion"


@pytest.mark.slow
def test_sums_per_kind_add_up_to_the_same(gpu_dump: Path, run: Run) -> None:
    data = json.loads(run("memory", gpu_dump, "--per", "kind", "--json").stdout)
    sizes = {row["kind"]: row["bytes"] for row in data["live"]}
    assert sum(sizes.values()) == 3_330_319
    assert sizes["saved"] == 4 * 524_288 and sizes["parameter"] == 80_648


@pytest.mark.slow
def test_at_another_node_other_buffers_are_alive(gpu_dump: Path, run: Run) -> None:
    data = json.loads(run("memory", gpu_dump, "--at", "cudnn-conv.1", "--json").stdout)
    assert data["at"] == "cudnn-conv.1" and data["bytes"] < data["peak_bytes"] == 3_330_319
    assert not any(row["node"] == "while.15" for row in data["live"])
    wrong = run("memory", gpu_dump, "--at", "cudnn-conv.99")
    assert wrong.returncode == 2 and "no node 'cudnn-conv.99' runs here; did you mean" in wrong.stderr


@pytest.mark.slow
def test_what_if_names_the_module_as_the_table_does_and_recomputes_no_argument(gpu_dump: Path, run: Run) -> None:
    (memory,) = read_memory(str(gpu_dump))
    done = run("memory", gpu_dump, "--what-if", "offload=while.15")
    assert done.stdout.splitlines()[0].split() == ["program", memory.name], done.stderr
    wrong = run("memory", gpu_dump, "--what-if", "recompute=img.1")
    assert wrong.returncode == 2 and "img.1 is an argument of the program, and nothing computes it" in wrong.stderr


@pytest.mark.slow
def test_the_lane_is_written_as_a_picture(gpu_dump: Path, run: Run, tmp_path: Path) -> None:
    done = run("memory", gpu_dump, "-o", tmp_path / "lane.svg")
    assert done.returncode == 0, done.stderr
    texts = re.findall(r">([^<]+)</text>", (tmp_path / "lane.svg").read_text("utf-8"))
    assert any(text.endswith(": peak 3.33 MB, reported by XLA") for text in texts)
    assert any(text.startswith("Step 146 of 165, gemm_fusion_dot.5: ") for text in texts)
    assert "saved for backward: while.22 needs it for the gradient of while.15" in texts
    with pytest.raises(OpscopeError, match=r"this picture is written as \.svg, \.png or \.pdf"):
        check_picture(tmp_path / "lane.dot", gpu_dump, force=False)
    (tmp_path / "lane.png").write_text("a letter")
    with pytest.raises(OpscopeError, match="already exists and does not look like a PNG file"):
        check_picture(tmp_path / "lane.png", gpu_dump, force=False)
    assert check_picture(tmp_path / "lane.png", gpu_dump, force=True) == "png"


@pytest.mark.slow
def test_the_lane_has_each_format_and_theme_at_any_point(gpu_dump: Path, tmp_path: Path) -> None:
    (memory,) = read_memory(str(gpu_dump))
    at = memory.position_of("cudnn-conv.1")
    pictures = {}
    cases: list[tuple[str, Theme, bytes]] = [("a.png", "light", b"\x89PNG"), ("b.png", "dark", b"\x89PNG"), ("c.pdf", "dark", b"%PDF-")]
    for name, theme, begins in cases:
        write_memory(memory, at, tmp_path / name, check_picture(tmp_path / name, gpu_dump, force=False), theme)
        pictures[name] = (tmp_path / name).read_bytes()
        assert pictures[name].startswith(begins)
    assert pictures["a.png"] != pictures["b.png"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("something else\n", "is not a buffer assignment"),
        ("BufferAssignment:\n value: <1 a @0> (size=4,offset=0): f32[]\n", "has a value before the first allocation"),
        ("BufferAssignment:\nallocation 0: size many:\n", "expected `allocation N: size BYTES"),
    ],
)
def test_a_damaged_report_is_one_line(text: str, message: str, tmp_path: Path, run: Run) -> None:
    (tmp_path / "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt").write_text(text)
    (tmp_path / "module_0001.jit_f.cpu_after_optimizations-live-range.txt").write_text("HloLiveRange (max 0):\n")
    done = run("memory", str(tmp_path))
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_a_directory_of_profiles_is_opened(run: Run, tmp_path: Path) -> None:
    """As people keep them: the log of torch.compile in a directory, and beside it a memory snapshot and a profile."""
    place = tmp_path / "run" / "step"
    (place / "trace").mkdir(parents=True)
    (place / "trace" / "dedicated_log_torch_trace.log").write_bytes(gzip.decompress((SAMPLES / "kineto" / "compiled.log.gz").read_bytes()))
    (place / "compiled.json").write_bytes(gzip.decompress((SAMPLES / "kineto" / "compiled.json.gz").read_bytes()))
    (place / "memory.pickle").write_bytes(gzip.decompress((SNAPSHOTS / "mlp_early.pickle.gz").read_bytes()))
    (place / "notes.txt").write_text("lr 0.1")
    told = json.loads(run("memory", tmp_path / "run", "--json").stdout)
    assert [(each["origin"], len(each["live"]) > 10) for each in told["programs"]] == [("computed", True), ("measured", True)]
    served = open_source(str(tmp_path / "run"))
    assert [one.name for one in served] == ["trace", "compiled.json", "memory.pickle"]
    assert memory_of(served[2].program()).origin == "measured", "a page finds the report of each"
    assert sources_in(str(place / "trace")) == [], "a source itself"
