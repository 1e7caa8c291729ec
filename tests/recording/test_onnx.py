"""ONNX models as sources: their nodes, the graphs that they call, and external weights, which are not loaded."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from conftest import diff_of

import opscope
from opscope.program import Program, TensorType

pytestmark = pytest.mark.frameworks

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
helper, FLOAT, BOOL = onnx.helper, onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL


def value(name: str, shape: list[int | str], kind: int = FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model():
    """A branch that uses outer values, a function, an omitted input, and a node name with scopes."""
    then = helper.make_graph([helper.make_node("Add", ["x", "w"], ["t"], name="inner")], "then", [], [value("t", [2])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", [2])])
    nodes = [
        helper.make_node("If", ["c"], ["y"], name="/block/If", then_branch=then, else_branch=other),
        helper.make_node("Twice", ["y"], ["z"], domain="my"),
        helper.make_node("Clip", ["z", "", "limit"], ["o"], name="/block/inner/Clip"),
    ]
    weights = [onnx.numpy_helper.from_array(np.float32([1, 2]), "w"), onnx.numpy_helper.from_array(np.float32(6), "limit")]
    graph = helper.make_graph(nodes, "net", [value("x", ["N"]), value("c", [], BOOL)], [value("o", [2])], weights)
    body = [
        helper.make_node("Constant", [], ["k"], value=helper.make_tensor("k", FLOAT, [1], [2])),
        helper.make_node("Mul", ["a", "k"], ["b"]),
    ]
    twice = helper.make_function("my", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 18)])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    return helper.make_model(graph, functions=[twice], opset_imports=opsets, producer_name="test")


def test_nodes_values_and_weights(tmp_path: Path) -> None:
    onnx.save(model(), tmp_path / "net.onnx")
    program = opscope.load(tmp_path / "net.onnx")
    assert isinstance(program, Program) and program.name == "net" and program.attrs["opsets"] == {"ai.onnx": 18, "my": 1}
    assert [(node.id, node.op) for node in program.main.parameters] == [
        ("x", "input"),
        ("c", "input"),
        ("w", "initializer"),
        ("limit", "initializer"),
    ]
    assert program.main["x"].outputs == (TensorType("float32", ("N",)),)
    clip = program.main["/block/inner/Clip"]
    assert clip.inputs == (("Twice_1", 0), ("limit", 0)) and clip.attrs["inputs not given"] == [1]
    assert clip.scope == ("block", "inner")
    assert program == opscope.capture(model())


def test_branches_and_functions_are_called_graphs() -> None:
    program = opscope.capture(model())
    branch = program.main["/block/If"]
    assert branch.calls == ("main//block/If.else_branch", "main//block/If.then_branch")
    then = program[branch.calls[1]]
    assert [(node.id, node.op) for node in then] == [("x", "outer value"), ("w", "outer value"), ("inner", "Add")]
    assert then["w"].outputs == (TensorType("float32", (2,)),)
    assert program.main["Twice_1"].calls == ("my::Twice",)
    assert program["my::Twice"]["Constant_0"].attrs["value"] == "float32[1] [2.0]"


def test_external_weights_are_not_loaded(tmp_path: Path) -> None:
    """The model opens although the file with the weights is missing."""
    path = tmp_path / "net.onnx"
    onnx.save(model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    program = opscope.load(path)
    assert isinstance(program, Program)
    assert program.main["w"].attrs["external.location"] == "weights.bin"


def test_bodies_in_bodies() -> None:
    body = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "inmost", [], [value("y", [1])])
    for i in range(25):  # protobuf allows no more
        node = helper.make_node("If", ["c"], ["y"], name=f"if{i}", then_branch=body)
        body = helper.make_graph([node], f"g{i}", [], [value("y", [1])])
    body.input.extend([value("x", [1]), value("c", [], BOOL)])
    program = opscope.capture(helper.make_model(body))
    assert len(program.graphs) == 26


def test_what_torch_exports_has_modules_and_lines(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")

    class Net(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.block = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())

        def forward(self, x):
            return self.block(x) + 1

    path = tmp_path / "net.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Net(), (torch.ones(1, 4),), path, dynamo=True, verbose=False)
    program = opscope.load(path)
    assert isinstance(program, Program)
    gemm = next(node for node in program.main if node.op == "Gemm")
    assert gemm.scope == ("block: Sequential", "0: Linear")
    assert any(frame.file == __file__ for frame in gemm.source)
    rows = {row.label: row for row in opscope.summary(program).rows}
    assert rows["0: Linear"].parameters == 20 and rows["0: Linear"].layer.flops == 2 * 4 * 4


def test_a_shape_that_the_file_does_not_have_is_not_that_of_a_scalar() -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="fc/MatMul"), helper.make_node("ReduceSum", ["y"], ["z"], name="sum/Sum")]
    weights = [onnx.numpy_helper.from_array(np.ones((4, 3), np.float32), "w")]
    summary = opscope.summary(helper.make_model(helper.make_graph(nodes, "net", [value("x", [2, 4])], [value("z", [])], weights)))
    fc, total = (row for row in summary.to_dict()["rows"] if row["label"] in ("fc", "sum"))
    assert (fc["input"], fc["output"], total["input"], total["output"]) == ([[2, 4]], [None], [None], [[]])
    lines = {line.split()[1]: line for line in str(summary).splitlines() if line.startswith(("├", "└"))}
    assert lines["fc"].split("12")[0].split()[2:] == ["[2,", "4]", "?"] and lines["sum"].split()[2:] == ["?", "[]"]


def test_an_optimizer_is_recorded_and_compared() -> None:
    before = model()
    after = onnx.ModelProto()
    after.CopyFrom(before)
    del after.graph.node[1]
    after.graph.node[1].input[0] = "y"
    with opscope.record() as rec:
        rec.snapshot(before, "as exported")
        rec.snapshot(after, "drop Twice")
    diff = diff_of(rec.recording, 1)
    assert [id for _, id in diff.removed] == ["Twice_1"], "its user does what it did before: it was left out, not merged"
    assert all(len(match.a) == 1 for match in diff.matched)


def test_other_bytes_are_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"\x08\x07\x12" + b"\xff" * 40)
    with pytest.raises(opscope.SourceError, match="is not an ONNX model"):
        opscope.load(path)
    with pytest.raises(opscope.SourceError, match="is a damaged ONNX model"):
        opscope.load(with_a_name_that_is_not_text(path))


def with_a_name_that_is_not_text(path: Path) -> Path:
    node = onnx.helper.make_node("Relu", ["x"], ["name"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", [], []))
    path.write_bytes(model.SerializeToString().replace(b"name", b"\xff\xfe\xfd\xfc"))
    return path
