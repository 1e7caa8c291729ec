"""Traces of PyTorch's profiler: sums that agree with the file, and times on the nodes that ran.

The samples are two training steps of one small model on an H200, with PyTorch 2.11: eager, compiled, and compiled with CUDA graphs; events
and arguments that opscope does not read were removed. `attention*` is a transformer in bfloat16, compiled with and without CUDA graphs.
"""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.cost_command import cost, refused

from opscope.cli import main
from opscope.loading import load_timed
from opscope.profile.kineto import stream
from opscope.profile.kineto.calls import Calls
from opscope.profile.kineto.trace import read_trace

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "kineto"
EAGER, COMPILED, GRAPHS = SAMPLES / "eager.json.gz", SAMPLES / "compiled.json.gz", SAMPLES / "graphs.json"
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def events_of(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    events: list[dict[str, Any]] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)["traceEvents"]
    return events


def device_seconds(path: Path, name: str = "") -> float:
    """Of all kernels, or of those with a name, in one step."""
    work = [event for event in events_of(path) if event.get("cat") in DEVICE]
    return float(sum(event["dur"] for event in work if name in event["name"]) * 1e-6 / 2)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("logs")
    for name in ("compiled", "graphs"):
        log = gzip.decompress((SAMPLES / f"{name}.log.gz").read_bytes())
        (directory / f"{name}.log").write_bytes(log)
    return directory


@pytest.mark.parametrize("path", [EAGER, COMPILED, GRAPHS], ids=lambda path: path.stem)
def test_a_trace_is_a_program_with_all_of_the_device_time(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = cost(capsys, path)
    profile = data["profile"]
    assert profile["steps"] == 2 and profile["unattributed"] == []
    assert profile["device_seconds"] == pytest.approx(device_seconds(path))
    assert sum(row["seconds"] for row in data["rows"]) == pytest.approx(device_seconds(path))
    assert list(profile["phases"]) == ["forward", "backward", "update"]
    assert sum(profile["phases"].values()) == pytest.approx(device_seconds(path))
    assert profile["idle_seconds"] > 0


def test_backward_functions_belong_to_the_modules_of_their_forward(capsys: pytest.CaptureFixture[str]) -> None:
    data = cost(capsys, EAGER)
    modules: dict[str, list[str]] = {}
    for row in data["rows"]:
        modules.setdefault(row["module"], []).append(row["op"])
    assert sorted(modules["Net_0/Block_1/Linear_2"]) == ["aten.linear", "aten.mm", "aten.mm", "aten.sum"]
    assert sorted(modules["Net_0/Block_0"]) == ["aten.add", "aten.gelu", "aten.gelu_backward"]
    assert modules["SGD.step"] == ["aten._foreach_add_"]
    assert {row["source"] for row in data["rows"] if row["module"] == "Net_0/Block_0"} == {"tiny.py:10 forward"}
    (timed,) = load_timed(str(EAGER))
    graph = timed.program.main
    for node in graph:
        for link in node.links:
            assert (link.kind, graph[link.node].scope) == ("backward_of", node.scope)
    assert sum(len(node.links) for node in graph) > 20
    host, idle = (sum(graph.metrics[name].values()) for name in ("host time", "device idle"))
    assert host > sum(graph.metrics["device time"].values()) and idle == pytest.approx(data["profile"]["idle_seconds"])


def test_an_exported_model_gets_the_times_of_an_eager_run(capsys: pytest.CaptureFixture[str]) -> None:
    """The nodes are the operators that the model calls, so each has the time of its backward functions too."""
    data = cost(capsys, SAMPLES / "net.native", "--profile", EAGER)
    rows = {row["node"]: row for row in data["rows"]}
    assert rows["linear_4"]["module"] == "head: Linear"
    by_module = {row["module"]: row["seconds"] for row in cost(capsys, EAGER, "--per", "module")["rows"]}
    assert rows["linear_4"]["seconds"] == pytest.approx(by_module["Net_0/Linear_4"])
    assert rows["linear_2"]["seconds"] == pytest.approx(by_module["Net_0/Block_1/Linear_2"])
    outside = sum(row["seconds"] for row in data["profile"]["unattributed"])
    assert sum(row["seconds"] for row in data["rows"]) + outside == pytest.approx(device_seconds(EAGER))
    assert all(re.match(r"\w+, aten::(cross_entropy|nll|_log|ones|_foreach)", row["kernel"]) for row in data["profile"]["unattributed"])
    (timed,) = load_timed(str(SAMPLES / "net.native"), profile=str(EAGER))
    metrics = timed.program.main.metrics
    assert 0 < metrics["backward time"]["linear"] < metrics["device time"]["linear"] and metrics["host time"]["linear"] > 0


@pytest.mark.parametrize("name", ["compiled", "graphs"])
def test_kernels_are_on_the_launches_of_generated_code(name: str, logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel that Inductor generated has the name of its launch; one of a library is launched by an operator between them."""
    path = COMPILED if name == "compiled" else GRAPHS
    (timed,) = load_timed(str(logs / f"{name}.log"), profile=str(path))
    assert timed.times is not None
    text, main = timed.program.own_text, timed.program.main
    assert text is not None and len(text.lines(main.name, 0, len(main))) == len(main), "nodes outside of the code have no line"
    for (graph, node), kernels in timed.times.kernels.items():
        for kernel in kernels:
            op = timed.program.graphs[graph][node].op
            assert op == kernel if kernel.startswith("triton_") else not op.startswith("triton_"), (node, kernel)
    launches = {(graph.name, node.id) for graph in timed.program for node in graph if node.op.startswith(("triton_", "extern_kernels."))}
    in_code = {key for key in timed.times.seconds if key[0] != "main"}
    assert in_code == launches and all(timed.times.calls(node) >= timed.times.steps for node in launches)
    data = cost(capsys, logs / f"{name}.log", "--profile", path)
    profile = data["profile"]
    assert profile["device_seconds"] == pytest.approx(device_seconds(path)) and not profile["unattributed"]
    outside = {row["op"]: row for row in data["rows"] if row["graph"] == "main"}
    assert outside.keys() > {"aten.cross_entropy_loss", "aten._foreach_add_"} and all(op.startswith("aten.") for op in outside)
    assert outside["aten._foreach_add_"]["module"] == "not compiled/SGD.step" and outside["aten._foreach_add_"]["bytes"] is None
    assert outside["aten._foreach_add_"]["seconds"] == pytest.approx(profile["phases"]["update"])
    modules = {row["op"]: row["module"] for row in data["rows"] if row["graph"] == "forward"}
    assert modules["extern_kernels.addmm"] == "head" or "blocks/" in modules["extern_kernels.addmm"]
    sources = {row["source"].rpartition("/")[2] for row in data["rows"] if row["graph"] != "main"}
    assert sources <= {"tiny.py:11 forward", "tiny.py:20 forward"}


def test_kernels_of_a_cuda_graph_are_where_those_of_operators_are(logs: Path) -> None:
    """Without CUDA graphs, the trace says which operator launched a kernel. The same program has the same nodes."""
    placed = []
    for path in (COMPILED, GRAPHS):
        (timed,) = load_timed(str(logs / "compiled.log"), profile=str(path))
        assert timed.times is not None
        in_code = {node: kernels for node, kernels in timed.times.kernels.items() if node[0] != "main"}
        placed.append({node: {kernel.partition(" (")[0] for kernel in kernels} for node, kernels in in_code.items()})
    assert placed[0] == placed[1]


def test_attention_in_a_cuda_graph_is_on_its_own_launch(tmp_path: Path) -> None:
    """A transformer, recorded with codegen=True. Attention has several kernels, and a product may have its reduction between two others."""
    program = tmp_path / "attention.native"
    program.write_bytes(gzip.decompress((SAMPLES / "attention.native.gz").read_bytes()))
    times = [load_timed(str(program), profile=str(SAMPLES / f"{name}.json.gz"))[0].times for name in ("attention", "attention_graphs")]
    truth, captured = ({node: seconds for node, seconds in each.seconds.items() if node[0] != "main"} if each else {} for each in times)
    assert truth.keys() == captured.keys() and len(truth) == 147
    right = sum(min(seconds, captured[node]) for node, seconds in truth.items())
    assert right > 0.99 * min(sum(truth.values()), sum(captured.values()))


def test_how_a_file_is_cut_or_formatted_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def columns(data: bytes) -> list[Any]:
        trace = read_trace(io.BytesIO(data))
        calls = Calls(trace)
        return [trace.problem, trace.names.texts, list(trace.work.duration), [*calls.calls], [*calls.launched]]

    data = gzip.decompress(EAGER.read_bytes())
    whole = columns(data)
    parsed = json.loads(data)
    kineto = re.sub(r'("ts": )', r"\n    \1", data.decode())
    for text in (json.dumps(parsed, indent=2), json.dumps(parsed, separators=(",", ":")), kineto):
        assert columns(text.encode()) == whole
    monkeypatch.setattr(stream, "_CHUNK", 1789)
    assert columns(data) == whole


def test_what_is_left_of_a_damaged_trace_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = GRAPHS.read_bytes()
    cut = tmp_path / "cut.json"
    cut.write_bytes(text[: len(text) * 2 // 3])
    data = cost(capsys, cut)
    assert data["notes"] == ["the trace is truncated; the times are of what could be read, without the kernels that some threads launched"]
    assert data["rows"]
    packed = tmp_path / "cut.json.gz"
    packed.write_bytes(EAGER.read_bytes()[:-4000])
    note = "the compressed trace is truncated; the times are of what could be read, without the kernels that some threads launched"
    assert cost(capsys, packed)["notes"] == [note]
    damaged = tmp_path / "damaged.json"
    damaged.write_bytes(text.replace(b'"dur": ', b'"dur": -', 3).replace(b'"ts": ', b'"at": ', 2))
    assert cost(capsys, damaged)["notes"] == ["the trace has damaged events; the times are of what could be read"]


def test_a_trace_that_is_cut_has_only_the_times_that_are_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two steps. The profiler writes what the host did, then the kernels that the backward's thread launched, then those of the other."""
    text = gzip.decompress(EAGER.read_bytes())
    kernels = [match.start() for match in re.finditer(rb'"cat": ?"kernel"', text)]
    whole, cut = cost(capsys, EAGER), tmp_path / "cut.json"

    def cut_at(place: int, *options: str) -> dict[str, Any]:
        cut.write_bytes(text[:place])
        return cost(capsys, cut, *options)

    late = cut_at(kernels[-5])
    assert late["notes"] == ["the trace is truncated; the times are of the step before the cut"] and late["profile"]["steps"] == 1
    assert late["profile"]["device_seconds"] == pytest.approx(whole["profile"]["device_seconds"], rel=0.01)
    assert {row["node"] for row in late["rows"]} == {row["node"] for row in whole["rows"]}
    first = cut_at(kernels[len(kernels) * 3 // 4])
    assert first["notes"] == ["the trace is truncated in its first step; the times are of what could be read"]
    assert first["partial"] and first["profile"]["steps"] == 0 and "phases" not in first["profile"] and "partial" not in late
    assert main(["cost", str(cut)]) == 0
    text_of_part = capsys.readouterr().out
    assert re.search(r"device time +[\d.]+ \wm?s of a part of a step\n", text_of_part) and "phases" not in text_of_part
    assert main(["cost", str(cut), str(EAGER)]) == 0 and re.search(r"s of a part of a step → .* per step \(", capsys.readouterr().out)
    partial = cut_at(kernels[len(kernels) // 3])
    assert "without the kernels that some threads launched" in partial["notes"][0] and partial["profile"]["steps"] == 0
    host = cut_at(kernels[0])
    assert "truncated before its kernels: the device's times are missing" in host["notes"][0]
    assert main(["cost", str(cut)]) == 0 and "s in what could be read, which is not whole steps\n" in capsys.readouterr().out
    assert host["by"] == "host time" and host["partial"] and "profile" not in host and {row["seconds"] for row in host["rows"]} == {None}
    assert "has no measured times" in refused(capsys, cut, "--by", "time")
    early = cut_at(text.index(b"ProfilerStep#"))
    assert early["notes"][0].endswith("; nothing says where a step begins, so they may be of several")


def test_a_machine_with_a_gpu_without_kernels_has_times_of_the_host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(gzip.decompress(EAGER.read_bytes()))
    data["traceEvents"] = [event for event in data["traceEvents"] if event.get("cat") not in (*DEVICE, "cuda_runtime", "cuda_driver")]
    path = tmp_path / "host.json"
    path.write_text(json.dumps(data))
    found = cost(capsys, path)
    assert "has no kernels: profile with ProfilerActivity.CUDA" in found["notes"][0] and found["by"] == "host time"
    path.write_text(json.dumps({**data, "deviceProperties": []}))
    assert cost(capsys, path)["by"] == "time", "without a GPU, the host is the device"


ODD: tuple[Any, ...] = ([1], "x", None, 1e300, 1e308)


def test_another_clock_on_the_device_changes_no_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kernels are placed by who launched them, not by when they ran: here they end before anything was launched."""
    events = [{**event, "ts": event["ts"] - 5e6} if event.get("cat") in DEVICE else event for event in events_of(EAGER)]
    path = tmp_path / "skewed.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    skewed, true = cost(capsys, path), cost(capsys, EAGER)
    assert skewed["profile"]["phases"] == pytest.approx(true["profile"]["phases"])
    assert [(row["node"], row["module"]) for row in skewed["rows"]] == [(row["node"], row["module"]) for row in true["rows"]]


def test_an_event_of_any_shape_is_at_most_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = events_of(GRAPHS)
    span = next(event for event in events if event.get("cat") == "cpu_op")
    kernel = next(event for event in events if event.get("cat") == "kernel")
    names: list[Any] = [5, None, [], {}]
    odd: list[dict[str, Any]] = [
        *({**span, "cat": category, "name": name} for category in ("cpu_op", "python_function") for name in names),
        *({**event, key: value} for event in (span, kernel) for key in ("cat", "args", "ts", "dur", "tid") for value in ODD),
        {**kernel, "name": None},
    ]
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [*events, *odd]}))
    assert cost(capsys, path)["notes"] == ["the trace has damaged events; the times are of what could be read"]
    many_digits = json.dumps({**kernel, "args": {"correlation": 0}}).replace('"correlation": 0', '"correlation": ' + "9" * 5000)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events})[:-2] + f", {many_digits}]}}")
    assert cost(capsys, path)["rows"]
    path.write_text(path.read_text().replace('{"ph": "X", "cat": "kernel"', '{"cat": "kernel", "ph": "X"'))  # not as Kineto writes it
    assert cost(capsys, path)["notes"] == ["the trace is damaged; the times are of the step before the cut"]


def test_a_trace_of_something_else_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], logs: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text('{"schemaVersion": 1, "traceEvents": []}')
    assert "has nothing of PyTorch's profiler: 0 events" in refused(capsys, empty)
    jax = tmp_path / "jax.json"
    jax.write_text('{"displayTimeUnit": "ns", "traceEvents": [{"ph": "X", "pid": 1, "name": "dot", "ts": 1, "dur": 2}]}')
    assert "open the .xplane.pb file next to it" in refused(capsys, jax)
    assert "is a trace of another program: it has aten::" in refused(capsys, "demo:train_step", "--profile", EAGER)
    assert "is a trace of another program" in refused(capsys, logs / "compiled.log", "--profile", EAGER)
    cut = tmp_path / "cut.log"
    text = (logs / "compiled.log").read_bytes()
    cut.write_bytes(text[: text.index(b"inductor_output_code")])
    said = refused(capsys, cut, "--profile", SAMPLES / "compiled.json.gz")
    assert "cannot be placed on" in said and "the log ends in the middle of a record: it is truncated" in said


@pytest.mark.frameworks
def test_without_a_device_operators_have_their_own_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")

    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU())
    x = torch.randn(4, 16)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True, with_modules=True) as profiler:
        for _ in range(2):
            model(x)
    path = tmp_path / "cpu.json"
    profiler.export_chrome_trace(str(path))
    data = cost(capsys, path)
    spans = [event for event in events_of(path) if event.get("name") in ("aten::linear", "aten::relu")]
    rows = {row["op"]: row for row in data["rows"]}
    assert data["profile"]["steps"] == 2 and rows.keys() >= {"aten.linear", "aten.relu"}
    seconds = rows["aten.linear"]["seconds"] + rows["aten.relu"]["seconds"]
    assert seconds == pytest.approx(sum(event["dur"] for event in spans) * 1e-6 / 2, rel=1e-3)
    assert rows["aten.linear"]["module"] == "Sequential_0/Linear_0"
