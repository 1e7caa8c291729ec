"""Profiles that name nodes: the times of ONNX Runtime's own profiler and of tables, on the nodes of the model that ran."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cost_command import cost, refused

import opscope
from opscope.program import ProgramBuilder


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a branch, run three times by ONNX Runtime without optimizations and with them."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    import numpy as np

    def value(name: str, shape: list[int]) -> Any:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    def branch(name: str, op: str) -> Any:
        return onnx.helper.make_graph([onnx.helper.make_node(op, ["b"], [name], name=name)], name, [], [value(name, [64, 64])])

    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["a"], name="product"),
        onnx.helper.make_node("Identity", ["a"], ["same"], name="identity"),
        onnx.helper.make_node("Relu", ["same"], ["b"]),
        onnx.helper.make_node("If", ["c"], ["d"], name="choice", then_branch=branch("tanh", "Tanh"), else_branch=branch("exp", "Exp")),
        onnx.helper.make_node("Mul", ["d", "one"], ["y"], name="scaled"),
    ]
    weights = [onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w"), onnx.numpy_helper.from_array(np.float32(1), "one")]
    condition = onnx.helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])
    graph = onnx.helper.make_graph(nodes, "model", [value("x", [64, 64]), condition], [value("y", [64, 64])], weights)
    folder = tmp_path_factory.mktemp("ort")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10), folder / "model.onnx")
    for name, level in (("plain", "ORT_DISABLE_ALL"), ("optimized", "ORT_ENABLE_BASIC")):
        options = runtime.SessionOptions()
        options.enable_profiling, options.log_severity_level = True, 3
        options.profile_file_prefix = str(folder / name)
        options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(folder / f"{name}.onnx")
        run = runtime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        for _ in range(3):
            run.run(None, {"x": np.ones((64, 64), np.float32), "c": np.array(True)})
        Path(run.end_profiling()).rename(folder / f"{name}.json")
    return folder


@pytest.mark.frameworks
def test_times_are_those_that_onnx_runtime_wrote(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One node has no name; the time of the branch is on the node that chooses it."""
    data = cost(capsys, session / "model.onnx", "--profile", session / "plain.json")
    events = [event for event in json.loads((session / "plain.json").read_text()) if event.get("cat") == "Node"]
    wanted = {name: sum(e["dur"] for e in events if e["name"] == f"{name}_kernel_time") * 1e-6 for name in ("product", "choice", "scaled")}
    rows = {row["node"]: row for row in data["rows"]}
    assert {name: rows[name]["seconds"] * 3 for name in wanted} == pytest.approx(wanted)
    (relu,) = [row for row in data["rows"] if row["op"] == "Relu"]
    assert relu["seconds"] > 0 and len(rows) == 5
    profile = data["profile"]
    assert profile["steps"] == 3 and profile["unattributed"] == [] and profile["device_seconds"] == profile["attributed_seconds"]
    assert sum(row["seconds"] for row in data["rows"]) == pytest.approx(profile["device_seconds"])


@pytest.mark.frameworks
def test_what_the_optimizer_changed_is_listed_or_refused(session: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ONNX Runtime removes the identity, so only the model that it saved has the nodes of its profile."""
    data = cost(capsys, session / "optimized.onnx", "--profile", session / "optimized.json")
    assert {row["node"] for row in data["rows"]} == {"product", "choice", "scaled"}
    lost = [row["kernel"] for row in data["profile"]["unattributed"]]
    assert lost == ["Relu_2: Relu (CPUExecutionProvider)"], "its position is another one now, and it has no name"
    table = session / "other.csv"
    table.write_text("node,ms\nproduct,1\nnobody,2\nnothing,3\n")
    error = refused(capsys, session / "model.onnx", "--profile", table)
    assert "is a profile of another program: it has nobody, nothing, product" in error
    assert "less than half of them are in model" in error


@pytest.mark.parametrize(("unit", "scale"), [("seconds", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)])
def test_a_table_has_the_times_of_nodes(capsys: pytest.CaptureFixture[str], tmp_path: Path, unit: str, scale: float) -> None:
    from opscope import load

    first, second = [node.id for node in load("demo:train_step").main if node.op == "dot"][:2]
    table = tmp_path / "times.csv"
    table.write_text(f"node,{unit}\n{first},2\n{second},6\n{second},1\nlost,1\n")
    data = cost(capsys, "demo:train_step", "--profile", table)
    assert [(row["node"], row["seconds"], row["share"]) for row in data["rows"]] == [
        (second, pytest.approx(7 * scale), pytest.approx(0.7)),
        (first, pytest.approx(2 * scale), pytest.approx(0.2)),
    ]
    assert [(row["kernel"], row["seconds"]) for row in data["profile"]["unattributed"]] == [("lost", pytest.approx(scale))]


def _as_objects(values: list[tuple[str, float]]) -> list[dict[str, Any]]:
    return [{"node": node, "value": value, "unit": "ms"} for node, value in values]


@pytest.mark.parametrize(
    "shape",
    [
        lambda values: {"unit": "ms", "values": dict(values)},
        lambda values: {"unit": "Milliseconds", **dict(values)},
        lambda values: [{"node": node, "us": 1000 * value} for node, value in values],
        _as_objects,
        lambda values: "node,value,unit\n" + "".join(f"{node},{value},ms\n" for node, value in values),
    ],
)
def test_a_table_may_be_json(capsys: pytest.CaptureFixture[str], tmp_path: Path, shape: Any) -> None:
    """The same times in every shape that a script writes without much thought."""
    from opscope import load

    first, second = [node.id for node in load("demo:train_step").main if node.op == "dot"][:2]
    content = shape([(first, 2.0), (second, 7.0), ("lost", 1.0)])
    path = tmp_path / ("times.csv" if isinstance(content, str) else "times.json")
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
    data = cost(capsys, "demo:train_step", "--profile", path)
    assert [(row["node"], row["seconds"]) for row in data["rows"]] == [(second, pytest.approx(7e-3)), (first, pytest.approx(2e-3))]
    assert [(row["kernel"], row["seconds"]) for row in data["profile"]["unattributed"]] == [("lost", pytest.approx(1e-3))]


def test_values_of_another_unit_are_a_metric(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from opscope import load

    first, second = [node.id for node in load("demo:train_step").main if node.op == "dot"][:2]
    path = tmp_path / "energy.json"
    path.write_text(json.dumps({"metric": "energy", "unit": "J", "values": {first: 3, second: 1, "lost": 5}}))
    data = cost(capsys, "demo:train_step", "--profile", path, "--by", "energy")
    assert [(row["node"], row["energy"], row["share"]) for row in data["rows"]] == [(first, 3, 0.75), (second, 1, 0.25)]
    assert "energy: the program does not have lost" in data["notes"] and "profile" not in data
    program = load("demo:train_step", profile=path)
    assert (program.metrics["energy"].unit, program.metrics["energy"].origin) == ("J", "measured")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.json", '{"a": 1}', 'is neither a profile nor a table of nodes and values with a unit, which is one of {"unit": "ms"'),
        ("a.json", '[{"node": "a", "value": 1}]', "entry 1: is neither a profile nor a table"),
        ("a.json", '{"unit": "ms", "values": {"a": 1', "is not complete JSON"),
        ("a.json", '{"unit": "ms", "values": {"a": true}}', "node 'a': expected a node and a time, not 'true'"),
        ("a.json", '{"unit": "ms", "values": {"a": -1}}', "node 'a': expected a node and a time, not '-1'"),
        ("a.json", '{"unit": 5, "values": {"a": 1}}', "node 'a': expected a node and a value with its unit, not '1'"),
        ("a.json", '[{"node": ["a"], "ms": 1}]', "entry 1: expected a node and a time"),
        ("a.json", '[{"node": "a", "ms": 1}, {"node": "a", "value": 1, "unit": "J"}]', "has values of different units: s, J"),
        ("a.json", "[]", "is a table without rows: it names no node"),
        ("a.csv", "node,ms\n", "is a table without rows"),
        ("a.csv", "\n", "is empty; expected a table with the columns"),
        ("a.csv", "node,value\na,1\n", "or the columns node,value,unit"),
        (
            "a.csv",
            "node,time\na,1\n",
            'has the columns node, time; expected the columns "node" and one of seconds, ms, us or ns, such as node,ms',
        ),
        ("a.csv", "node,ms\na,fast\n", "line 2: expected a node and a time, not 'a,fast'"),
        ("a.csv", "node,ms\na,-1\n", "line 2: expected a node and a time, not 'a,-1'"),
        ("a.csv", "node,ms\na,1e308\n", "line 2: expected a node and a time, not 'a,1e308'"),
        ("a.json", f'[{{"count": {"9" * 400}}}, {{"name": "a", "averageMs": 1.5}}]', "is not complete as layer times of TensorRT"),
        ("a.json", '[{"count": 5}, {"name": "a", "averageMs": 1e308}]', "is not complete as layer times of TensorRT"),
        ("a.json", '[{"cat":"Session","name":"model_loading_uri"},{"cat":"Node","name":"a_kernel_time","ts":1e300}]', "must be a time"),
        ("a.json", '[{"cat":"Session","name":"model_loading_uri","ts":1,"dur":1}', "is not complete JSON"),
        ("a.json", '[{"cat":"Session","name":"model_loading_uri","ts":1,"dur":1}]', "has no run of a node"),
        ("a.json", '[{"cat":"Session","name":"model_loading_uri"},{"cat":"Node","name":"a_kernel_time","ts":"x"}]', "must be a number"),
        ("a.txt", "some text\na,1\n", "is not a profile; expected a .xplane.pb file"),
        ("a.csv", "node,ms\na,\ud800\n", "is not text; expected a table"),
    ],
)
def test_a_bad_profile_is_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8", "surrogatepass")
    (line,) = refused(capsys, "demo:train_step", "--profile", path).splitlines()
    assert sentence in line and name in line


def test_a_damaged_file_is_not_quoted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"unit": "ms", "values": {"\xda\x01')
    assert "is not text, so it is not JSON; write or download it again" in refused(capsys, "demo:train_step", "--profile", path)


def test_a_file_of_trtexec(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spaced as NVIDIA's exportJSONProfile writes it: the runs first, then a layer on each line, with the median in newer versions. Names
    are like those of real engines: reformatted inputs, fusions, parallel branches, regions and kernels of Myelin."""
    nodes = ["/model.0/Conv", "/model.0/Relu", "/model.1/Conv", "/model.2/MatMul_1", "/model.2/Softmax", "/model.3/Conv"]
    builder = ProgramBuilder("engine", "main")
    graph = builder.graph("main")
    for name in nodes:
        graph.node(name, name.rpartition("/")[2].partition("_")[0])
    program = tmp_path / "model.json"
    opscope.save(builder.build(), program)
    layers = [
        ("Reformatting CopyNode for Input Tensor 0 to /model.0/Conv + /model.0/Relu", 36.6844),
        ("/model.0/Conv + PWN(/model.0/Relu)", 41.4232),
        ("/model.1/Conv || /model.3/Conv", 1009.24),
        ("{ForeignNode[/model.2/MatMul_1.../model.2/Softmax]}", 78.7759),
        ("/model_2/MatMul_1_myl109_5", 10.0),
        ("__myl_MulMaxSubExpSum_myl109_3", 5.0),
    ]
    for median in ("", ', "medianMs" : 0.02'):
        lines = [
            f', {{ "name" : "{name}", "timeMs" : {ms}, "averageMs" : {ms / 625:.6g}{median}, "percentage" : 1.2 }}\n' for name, ms in layers
        ]
        path = tmp_path / "profile.json"
        path.write_text('[\n  { "count" : 625 }\n' + "".join(lines) + "]\n")
        data = cost(capsys, program, "--profile", path)
        found = {row["node"]: row["seconds"] * 625e3 for row in data["rows"]}
        assert found == pytest.approx({nodes[0]: 78.1076, nodes[2]: 1009.24, nodes[3]: 88.7759}, rel=1e-4)
        assert data["profile"]["steps"] == 625
        assert [row["kernel"] for row in data["profile"]["unattributed"]] == ["__myl_MulMaxSubExpSum_myl109_3"]


def test_layer_times_of_tensorrt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A layer has the names of the nodes that were fused into it, as trtexec --exportProfile writes them."""
    net = Path(__file__).resolve().parents[1] / "samples" / "kineto" / "net.native"
    names = ["layer_norm", "linear + gelu", "PWN(linear_1, add)", "Reformatting CopyNode for Input Tensor 0 to linear_2", "__myl_Move_0"]
    layers = [{"name": name, "timeMs": 8.0, "averageMs": 2.0, "medianMs": 2.0, "percentage": 20.0} for name in names]
    path = tmp_path / "layers.json"
    path.write_text(json.dumps([{"count": 4}, *layers]))
    data = cost(capsys, net, "--profile", path)
    assert {row["node"]: row["seconds"] for row in data["rows"]} == pytest.approx(
        dict.fromkeys(["layer_norm", "linear", "linear_1", "linear_2"], 2e-3)
    )
    assert data["profile"]["steps"] == 4 and [row["kernel"] for row in data["profile"]["unattributed"]] == ["__myl_Move_0"]
    path.write_text('[{"count": 4}, {"name": "linear", "averageMs": "x"}]')
    assert "is not complete as layer times of TensorRT" in refused(capsys, net, "--profile", path)
