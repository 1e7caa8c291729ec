"""Estimated times: arithmetic or memory, whichever takes longer, at the rates of a device. Measured times are not shorter."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.wire_reader import WireReader

import opscope
from opscope.analysis.cost_metrics import BYTES, FLOPS
from opscope.analysis.costs import costs_of
from opscope.analysis.devices import device_names, device_of
from opscope.analysis.roofline import ESTIMATED_FOR, ESTIMATED_TIME, estimated_for
from opscope.cli import main
from opscope.loading import load_recording, load_timed
from opscope.profile.place import IDLE_TIME
from opscope.program import Program
from opscope.readers import read
from opscope.readers.source import Source
from opscope.readers.torch.readable import program_of_text
from opscope.recording.pass_costs import pass_costs
from opscope.render.wire.recording import encode_recording
from opscope.serve.opening import open_source
from opscope.serve.recordings import ServedRecording

KINETO = Path(__file__).resolve().parent / "samples" / "kineto"
H200 = Path(__file__).resolve().parents[2] / "shared" / "data" / "profiles" / "h200_jax_train_step.tar.gz"
STEP = """HloModule step
fused { p = DTYPE[1024,1024] parameter(0)
  e = DTYPE[1024,1024] exponential(p)
  ROOT n = DTYPE[1024,1024] negate(e) }
body { s = (s32[], DTYPE[1024,1024]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = DTYPE[1024,1024] get-tuple-element(s), index=1
  dot = DTYPE[1024,1024] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  fusion = DTYPE[1024,1024] fusion(dot), kind=kLoop, calls=fused
  ROOT t = (s32[], DTYPE[1024,1024]) tuple(i, fusion) }
condition { s = (s32[], DTYPE[1024,1024]) parameter(0)
  ROOT c = pred[] constant(true) }
ENTRY main { s = (s32[], DTYPE[1024,1024]) parameter(0)
  w = (s32[], DTYPE[1024,1024]) while(s), condition=condition, body=body, backend_config={"known_trip_count":{"n":"5"}}
  r = DTYPE[1024,1024] get-tuple-element(w), index=1
  ROOT c = DTYPE[1024,1024] custom-call(r), custom_call_target="mystery" }
"""


def step(dtype: str) -> Program:
    return read(Source("step.hlo", STEP.replace("DTYPE", dtype).encode()))[0]


def rows(program: Program, device: str) -> dict[str, Any]:
    data = costs_of(program, device=device_of(device)).to_json()
    return {row["node"]: row for row in data["rows"]}


@pytest.mark.parametrize(("dtype", "rate"), [("bf16", 989.4e12), ("f32", 494.7e12), ("f64", 66.9e12), ("f8e4m3fn", 1978.9e12)])
def test_a_product_runs_at_the_rate_of_its_type_and_the_rest_at_the_bandwidth(dtype: str, rate: float) -> None:
    """A loop of five rounds, listed as the nodes of its body. XLA computes products of 32-bit numbers with TF32."""
    estimated = rows(step(dtype), "h200")
    width = {"bf16": 2, "f32": 4, "f64": 8, "f8e4m3fn": 1}[dtype]
    moved = width * 1024**2 / 4.8e12
    assert estimated["dot"]["estimated_seconds"] == pytest.approx(5 * max(2 * 1024**3 / rate, 3 * moved))
    assert estimated["fusion"]["estimated_seconds"] == pytest.approx(5 * 2 * moved)
    assert (estimated["dot"]["limit"], estimated["fusion"]["limit"]) == ("arithmetic", "memory")
    assert set(estimated) == {"dot", "fusion"}, "a custom call of unknown cost has no estimate"


GATHER = """HloModule step
fused { table = f32[1024,8192] parameter(0)
  shift = f32[1024] parameter(1)
  where = s32[1024,2] parameter(2)
  wide = f32[1024,8192] broadcast(shift), dimensions={0}
  moved = f32[1024,8192] subtract(table, wide)
  ROOT g = f32[1024,1,1] gather(moved, where), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0,1}, index_vector_dim=1,\
 slice_sizes={1,1} }
ENTRY main { table = f32[1024,8192] parameter(0)
  shift = f32[1024] parameter(1)
  where = s32[1024,2] parameter(2)
  ROOT fusion = f32[1024,1,1] fusion(table, shift, where), kind=kLoop, calls=fused }
"""


def test_a_fusion_that_gathers_is_limited_by_what_it_needs() -> None:
    """As in the loss of a language model. XLA counts the whole table, and so does the column of bytes; the kernel reads a part."""
    row = rows(read(Source("step.hlo", GATHER.encode()))[0], "h200")["fusion"]
    assert row["bytes"] == 4 * (1024 * 8192 + 1024 + 2 * 1024 + 1024)
    assert row["estimated_seconds"] == pytest.approx(4 * (1024 + 1024 + 2 * 1024 + 1024) / 4.8e12)
    assert row["limit"] == "memory"


@pytest.mark.parametrize(
    ("dtype", "is_xla", "rate"),
    [
        *(("bfloat16", False, 989.4e12), ("float16", False, 989.4e12), ("float8_e4m3fn", False, 1978.9e12), ("int8", False, 1978.9e12)),
        *(("float32", False, 66.9e12), ("f32", True, 494.7e12), ("float64", False, 66.9e12), ("complex64", False, 66.9e12)),
    ],
)
def test_types_have_rates_by_the_names_of_every_framework(dtype: str, is_xla: bool, rate: float) -> None:
    assert device_of("h200").product_rate(dtype, is_xla) == rate


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "step.log"
    path.write_bytes(gzip.decompress((KINETO / "compiled.log.gz").read_bytes()))
    return path


@pytest.mark.slow
def test_the_cost_is_a_picture_of_modules_roofline_and_kernels(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The launches are in the graphs of forward and backward, which the entry calls; buffers are named by what writes them."""
    command = ["cost", str(log), "--profile", str(KINETO / "compiled.json.gz"), "--device", "h200"]
    assert main([*command, "-o", str(tmp_path / "cost.svg")]) == 0
    texts = re.findall(r">([^<]+)</text>", (tmp_path / "cost.svg").read_text("utf-8"))
    assert any(re.fullmatch(r".+: device time [\d.]+ [µm]s, measured", text) for text in texts)
    assert {"Roofline: limits of NVIDIA H200 SXM", "4.80 TB/s", "bf16, f16", "Most to gain"} <= set(texts)
    assert any(re.match(r"\w*mm buf", text) for text in texts) and any(text.startswith("Kernels of one step: ") for text in texts)
    assert any(re.match(r"backward \d", text) for text in texts) and any(re.match(r"head", text) for text in texts)
    assert {"up", "down"} <= {text.split()[0] for text in texts}, "a narrow cell has a name rather than a share"
    assert not any(re.fullmatch(r"\d+\.\d%", text) for text in texts[: texts.index("Most to gain")])
    for name, begins in (("dark.png", b"\x89PNG"), ("cost.pdf", b"%PDF-")):
        assert main([*command, "--by", "bytes", "--theme", "dark", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes().startswith(begins)
    assert main([*command, "-f"]) == 2 and "--force is about the file" in capsys.readouterr().err
    assert main([*command, "-o", str(tmp_path / "cost.dot")]) == 2 and "written as .svg, .png or .pdf" in capsys.readouterr().err


def test_nothing_that_inductor_generated_ran_faster_than_its_limits(log: Path) -> None:
    """A step on an H200. Loops have the time of their memory traffic at best, products that of their type."""
    (timed,) = load_timed(str(log), profile=str(KINETO / "compiled.json.gz"))
    data = costs_of(timed.program, timed.times, device=device_of("h200")).to_json()
    assert {row["limit"] for row in data["rows"] if row["op"].startswith("triton_")} == {"memory"}
    in_code = [row for row in data["rows"] if row["graph"] != "main"]
    outside = [row["seconds"] for row in data["rows"] if row["estimated_seconds"] is None]
    assert outside and data["unjudged_seconds"] == pytest.approx(sum(outside)), "the loss and the optimizer are only in the trace"
    assert len(in_code) > 20 and all(0 < row["estimated_seconds"] <= row["seconds"] for row in in_code)
    products = {row["op"] for row in data["rows"] if row["flops"]}
    assert products >= {"extern_kernels.mm", "extern_kernels.addmm"}


def test_graphs_that_the_program_calls_are_part_of_its_time(log: Path) -> None:
    """Forward and backward have kernels of unknown FLOPs. They count by their bytes; the cards of passes and the table agree."""
    recording = load_recording(str(log), device="h200", whole=True, diff=False)
    assert recording is not None
    costs = pass_costs(recording, device_of("h200"))
    launches = costs_of(recording.snapshot(max(costs)).program, device=device_of("h200"))
    last = list(costs.values())[-1]
    assert launches.total > 1e-6 and last.estimated_seconds == pytest.approx(launches.total)
    assert last.unknown_flops and not last.unknown_bytes and launches.missing == 0 and launches.from_bytes == last.unknown_flops
    shown = [row["estimatedSeconds"] for row in WireReader(encode_recording(recording)).fields["passes"]]
    assert shown == pytest.approx([cost.estimated_seconds for cost in costs.values()])


def test_the_commands_say_what_is_unknown(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(log), "--device", "h200"]) == 0
    text = capsys.readouterr().out
    assert "not judged" not in text, "nothing was measured"
    assert main(["cost", str(log), "--profile", str(KINETO / "compiled.json.gz"), "--device", "h200"]) == 0
    assert re.search(
        r"\nnot judged +[\d.]+ µs, [\d.]+% of the device time: operations without an estimated time\n", capsys.readouterr().out
    )
    assert "partly          23 operations of unknown FLOPs: the time is that of the bytes" in text and "\nunknown" not in text
    assert main(["cost", str(log), "--by", "flops"]) == 0 and "unknown  23 operations of unknown FLOPs\n" in capsys.readouterr().out
    assert main(["passes", str(log), "--cost", "--device", "h200"]) == 0
    assert re.search(r"≥ 102 M {2}9\.45 MB {2}≥ 2\.49 µs", capsys.readouterr().out), "bytes are all known"


def test_products_of_autocast_run_at_the_rate_of_their_result() -> None:
    text = """class f(torch.nn.Module):
    def forward(self, x: "f32[1024, 1024]", w: "f32[1024, 1024]"):
        y: "RESULT[1024, 1024]" = torch.matmul(x, w);  x = w = None
        return (y,)
"""
    seconds = [rows(program_of_text(text.replace("RESULT", dtype), "f"), "h200")["y"]["estimated_seconds"] for dtype in ("bf16", "f32")]
    moved = [(4 + 4 + width) * 1024**2 / 4.8e12 for width in (2, 4)]
    assert seconds == pytest.approx([max(moved[0], 2 * 1024**3 / 989.4e12), max(moved[1], 2 * 1024**3 / 66.9e12)])


def test_the_command_names_the_device_and_what_is_unknown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "step.hlo"
    path.write_text(STEP.replace("DTYPE", "bf16"))
    assert main(["cost", str(path), "--device", "H200"]) == 0
    text = capsys.readouterr().out
    assert (
        "estimated for   NVIDIA H200 SXM, at its peak rates" in text
        and "1 operations" not in text
        and "unknown         1 operation" in text
    )
    assert main(["cost", str(path), "--device", "h20"]) == 2
    assert "'h20' is not a known device, nor a JSON file of one; did you mean 'h200'?\n" in capsys.readouterr().err


def test_a_file_describes_another_device(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"bandwidth": 1e12, "vector": 1e13, "products": {"bf16": 1e14}}))
    assert main(["cost", "demo:train_step", "--device", str(path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["device"] == "mine" and sum(row["estimated_seconds"] for row in data["rows"]) > 0


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "mine.json:1:2: not valid JSON"),
        ("[]", "a device is an object"),
        ("{}", "bandwidth must be a positive number per second, not None"),
        ('{"bandwidth": -1}', "bandwidth must be a positive number per second, not -1"),
        ('{"bandwidth": 1e12, "products": {"bf16": "fast"}}', "products.bf16 must be a positive number per second, not 'fast'"),
        ('{"bandwidth": 1e12, "vectors": 1}', "a device has no 'vectors'; did you mean 'vector'?"),
    ],
)
def test_a_bad_device_file_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "mine.json"
    path.write_text(content)
    assert main(["cost", "demo:train_step", "--device", str(path)]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert sentence in line and "mine.json" in line


@pytest.mark.parametrize("name", device_names())
def test_every_device_estimates_a_train_step(name: str) -> None:
    costs = costs_of(opscope.load("demo:train_step"), device=device_of(name))
    assert costs.missing == 0 and 0 < costs.total < 1 and costs.by == "estimated time"


def test_a_loaded_program_has_the_times_at_best_and_the_rates_of_the_device(tmp_path: Path) -> None:
    program = opscope.load("demo:train_step", device="H200")
    assert program.metrics["estimated time"].origin == "estimated"
    assert sum(program.main.metrics["estimated time"].values()) == pytest.approx(costs_of(program, device=device_of("h200")).total)
    path = tmp_path / "step.json"
    opscope.save(program, path)
    device = estimated_for(opscope.load(path).attrs)
    assert device is not None and device.to_dict() == device_of("h200").to_dict()
    assert estimated_for({ESTIMATED_FOR: {"bandwidth": "fast"}}) is None and estimated_for({}) is None


@pytest.mark.slow
def test_a_page_of_passes_has_the_time_of_each_program_at_best() -> None:
    recording = load_recording("demo:passes", device="h200", whole=True, diff=False)
    assert recording is not None
    costs = pass_costs(recording, device_of("h200"))
    expected = pytest.approx([cost.estimated_seconds for cost in costs.values()])
    assert [row["estimatedSeconds"] for row in WireReader(encode_recording(recording)).fields["passes"]] == expected
    (served,) = open_source("demo:passes", device="h200")
    assert isinstance(served, ServedRecording)
    for snapshot in recording:
        served.answer("diff", snapshot.index, {})
    rows = json.loads(served.answer("passes", 0, {})[0])["passes"]
    assert [row["estimatedSeconds"] for row in rows] == expected


def test_the_viewer_knows_estimates_by_the_same_names() -> None:
    source = (Path(__file__).parents[1] / "web" / "src" / "core" / "metrics" / "roofline.ts").read_text("utf-8")
    names = dict(re.findall(r'^const (\w+) = "(.*?)";', source, re.M))
    assert names == {"FLOPS": FLOPS.name, "BYTES": BYTES.name, "ESTIMATED_TIME": ESTIMATED_TIME, "IDLE_TIME": IDLE_TIME.name}


@pytest.mark.skipif(not H200.is_file(), reason="needs ../shared")
def test_no_measured_kernel_is_much_faster_than_its_estimate(tmp_path: Path) -> None:
    """On the H200 that the profile is from. What is in the cache is read faster than memory allows, so small kernels are left out."""
    import tarfile

    with tarfile.open(H200) as archive:
        archive.extractall(tmp_path, members=[m for m in archive if m.name.endswith(".xplane.pb")], filter="data")
    (timed,) = [
        one for one in load_timed(str(next(tmp_path.rglob("*.xplane.pb")))) if one.times is not None and len(one.program.main) > 100
    ]
    data = costs_of(timed.program, timed.times, device=device_of("h200")).to_json()
    heavy = [row for row in data["rows"] if row["seconds"] > 50e-6 and row["estimated_seconds"] is not None]
    assert len(heavy) > 50
    assert max(row["estimated_seconds"] / row["seconds"] for row in heavy) < 1.05
    best = sum(row["estimated_seconds"] or 0 for row in data["rows"])
    assert 0.4 < best / data["profile"]["device_seconds"] < 1
