"""AITemplate: its debug dumps, live tensors (imitated, because AITemplate is on no package index), and its plot_graph."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from conftest import Corpus, diff_of

import opscope
from opscope.compat.aitemplate import plot_graph
from opscope.recording.model import Recording


class IntImm:
    def __init__(self, value: int) -> None:
        self._attrs = {"name": None, "values": [value]}


class IntVar:
    def __init__(self, name: str, low: int, high: int) -> None:
        self._attrs = {"name": name, "values": [low, high]}


class Tensor:
    def __init__(self, name: str, shape: list[Any], **attrs: Any) -> None:
        self._attrs = {
            "name": name,
            "shape": shape,
            "dtype": "float16",
            "src_ops": set(),
            "dst_ops": set(),
            "is_view_of": None,
            **attrs,
        }


class Operator:
    def __init__(self, name: str, op: str, inputs: list[Tensor], output: Tensor, **attrs: Any) -> None:
        self._attrs = {"name": name, "original_name": name, "op": op, "inputs": inputs, "outputs": [output], "depth": 0, **attrs}
        for tensor in inputs:
            tensor._attrs["dst_ops"].add(self)
        output._attrs["src_ops"].add(self)


for imitation in (IntImm, IntVar, Tensor, Operator):
    imitation.__module__ = "aitemplate.compiler.base"


def linear() -> tuple[Tensor, list[Operator]]:
    """gemm_rcr_bias, add: the end of AITemplate's documentation example, on a batch of unknown size."""
    batch = IntVar("batch", 1, 64)
    x = Tensor("X", [batch, IntImm(16)], is_input=True)
    weight, bias = Tensor("w", [IntImm(16), IntImm(16)], is_param=True), Tensor("b", [IntImm(16)], is_param=True)
    hidden = Tensor("gemm_0_0", [batch, IntImm(16)], offset=512)
    gemm = Operator("gemm_0", "gemm_rcr_bias", [x, weight, bias], hidden, split_k=1, f_ab_alignment=linear)
    out = Tensor("Y", [batch, IntImm(16)], is_output=True)
    add = Operator("elementwise_1", "elementwise", [hidden, x], out, func=types.SimpleNamespace(name="ADD"), args=[hidden, x])
    return out, [gemm, add]


def test_tensors_are_captured_with_everything_behind_them() -> None:
    out, _ = linear()
    program = opscope.capture(out)
    assert [(node.id, node.op, node.role) for node in program.main] == [
        ("X", "input", "input"),
        ("w", "param", "parameter"),
        ("b", "param", "parameter"),
        ("gemm_0", "gemm_rcr_bias", "op"),
        ("elementwise_1", "elementwise", "op"),
    ]
    assert program.main["gemm_0"].outputs == (opscope.TensorType("float16", ("batch", 16)),)
    attrs = program.main["gemm_0"].attrs
    assert attrs["split_k"] == 1 and attrs["outputs.0.offset"] == 512 and "f_ab_alignment" not in attrs, "code is left out"
    assert program.main["elementwise_1"].attrs["func"] == "ADD"
    assert program.main.outputs == (("elementwise_1", 0),)


def test_what_plot_graph_shows_comes_first_also_if_it_is_unset() -> None:
    """False, 0 and None say something here; the operations inside a fused one are named by what they do."""
    x = Tensor("X", [IntImm(4)], is_input=True, is_output=False, is_param=False)
    out = Tensor("Y", [IntImm(4)], is_input=False, is_output=True, is_param=False)
    parts = [types.SimpleNamespace(_attrs={"name": None, "func": types.SimpleNamespace(name=name)}) for name in ("ADD", "RELU")]
    Operator("fused_elementwise_0", "fused_elementwise", [x], out, workspace=0, nop=False, depth=0, elementwise_ops=parts, permute_shape="")
    graph = opscope.capture(out).main
    assert list(graph["X"].attrs.items()) == [("is_view_of", None), ("is_input", True), ("is_output", False), ("is_param", False)]
    shown = graph["fused_elementwise_0"].attrs
    assert [(name, shown[name]) for name in list(shown)[:3]] == [("depth", 0), ("nop", False), ("func", "ADD, RELU")]
    assert shown["outputs.0.is_view_of"] is None and "workspace" not in shown and "permute_shape" not in shown


def test_outputs_without_a_name_are_named_after_their_operator() -> None:
    x = Tensor("X", [IntImm(4)], is_input=True)
    out = Tensor("", [IntImm(4)])
    Operator("softmax_0", "softmax", [x], out)
    assert opscope.capture(out).main["softmax_0"].attrs["output_names"] == "softmax_0_0"
    assert out._attrs["name"] == "", "looking changes nothing"


@pytest.mark.slow
def test_a_long_chain_does_not_recurse() -> None:
    tensor = Tensor("t", [IntImm(1)], is_input=True)
    for i in range(5000):
        result = Tensor(f"t{i}", [IntImm(1)])
        Operator(f"op{i}", "elementwise", [tensor], result)
        tensor = result
    assert opscope.capture(tensor).node_count == 5001


def test_plot_graph_writes_one_page_that_works_offline(tmp_path: Path) -> None:
    out, _ = linear()
    times = tmp_path / "times.json"
    times.write_text(json.dumps({"gemm_0": {"ms_per_iter": 0.25}, "elementwise_1": {"ms_per_iter": 0.5}}))
    page = tmp_path / "model.html"
    plot_graph([out], str(page), file_with_time_profiles=str(times))
    text = page.read_text()
    assert text.lower().startswith("<!doctype html") and 'src="http' not in text and 'href="http' not in text
    plot_graph(out, tmp_path / "model.json")
    assert opscope.load(tmp_path / "model.json").main["elementwise_1"].attrs["func"] == "ADD"


def test_results_are_finished_in_order_or_in_parallel() -> None:
    """Two branches of 1 and 2 ms that are added in 4 ms: after 7 ms in one stream, and after 6 in parallel."""
    from opscope.readers.aitemplate import with_times

    x = Tensor("X", [IntImm(4)], is_input=True)
    a, b, out = (Tensor(name, [IntImm(4)]) for name in ("a", "b", "Y"))
    Operator("left", "elementwise", [x], a)
    Operator("right", "elementwise", [x], b)
    Operator("sum", "elementwise", [a, b], out)
    times = {"left": {"ms_per_iter": 1}, "right": {"ms_per_iter": 2}, "sum": {"ms_per_iter": 4}}
    metrics = with_times(opscope.capture(out), times).main.metrics
    assert dict(metrics["finished"]) == pytest.approx({"left": 0.001, "right": 0.003, "sum": 0.007})
    assert dict(metrics["finished in parallel"]) == pytest.approx({"left": 0.001, "right": 0.002, "sum": 0.006})


def test_plot_graph_says_what_it_cannot_write_or_read(tmp_path: Path) -> None:
    out, _ = linear()
    with pytest.raises(opscope.OpscopeError, match=r"model\.ps: cannot write \.ps; use one of svg, png, jpg, .*, html, json"):
        plot_graph(out, tmp_path / "model.ps")
    with pytest.raises(opscope.OpscopeError, match=r"nothing\.json: cannot be read: No such file"):
        plot_graph(out, tmp_path / "model.svg", tmp_path / "nothing.json")
    (tmp_path / "times.json").write_text("[")
    with pytest.raises(opscope.OpscopeError, match=r"times\.json: is not a time profile"):
        plot_graph(out, tmp_path / "model.svg", tmp_path / "times.json")
    plot_graph(out, tmp_path / "a" / "b" / "model.dot")
    assert "elementwise_1" in (tmp_path / "a" / "b" / "model.dot").read_text()


def test_times_are_metrics_of_their_operators() -> None:
    from opscope.readers.aitemplate import with_times

    out, _ = linear()
    timed = with_times(opscope.capture(out), {"gemm_0": {"ms_per_iter": 0.25}})
    assert timed.metrics["time"] == opscope.Metric("time", "s", "sum", "measured")
    assert dict(timed.main.metrics["time"]) == {"gemm_0": 0.25e-3}
    assert dict(timed.main.metrics["finished"]) == {"gemm_0": 0.25e-3, "elementwise_1": 0.25e-3}
    with pytest.raises(opscope.OpscopeError, match="contains no operators"):
        with_times(timed, {"gemm_0": 3})
    with pytest.raises(opscope.OpscopeError, match="metric 'time' of 'gemm_0' must be a number, not 'fast'"):
        with_times(timed, {"gemm_0": {"ms_per_iter": "fast"}})


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the stages that reach the function that the hook replaces, in an imitation of AITemplate's package."""
    calls: list[str] = []
    graph_utils = types.ModuleType("aitemplate.utils.graph_utils")
    graph_utils.dump_graph_debug_str_to_file = lambda tensors, workdir, name: calls.append(name)  # type: ignore[attr-defined]
    utils = types.ModuleType("aitemplate.utils")
    utils.graph_utils = graph_utils  # type: ignore[attr-defined]
    for name, module in (
        ("aitemplate", types.ModuleType("aitemplate")),
        ("aitemplate.utils", utils),
        (graph_utils.__name__, graph_utils),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    return calls


def test_its_transforms_are_recorded_and_operators_keep_their_identity(calls: list[str]) -> None:
    """The hook replaces the one function that every stage calls, and restores it afterwards."""
    graph_utils = sys.modules["aitemplate.utils.graph_utils"]
    original = graph_utils.dump_graph_debug_str_to_file
    out, (gemm, add) = linear()
    with opscope.record() as rec:
        rec.aitemplate()
        graph_utils.dump_graph_debug_str_to_file([out], "workdir", "toposort")
        gemm._attrs["name"] = add._attrs["name"] = "refined"
        graph_utils.dump_graph_debug_str_to_file([out], "workdir", "refine_graph")
        fused = Operator("gemm_2", "gemm_rcr_bias_add", [*gemm._attrs["inputs"], add._attrs["inputs"][1]], out)
        out._attrs["src_ops"] = {fused}
        graph_utils.dump_graph_debug_str_to_file([out], "workdir", "09-fuse_mm_elementwise")
    recording = rec.recording
    assert calls == ["toposort", "refine_graph", "09-fuse_mm_elementwise"]
    assert [s.name for s in recording] == ["toposort", "refine_graph", "fuse_mm_elementwise"]
    assert graph_utils.dump_graph_debug_str_to_file is original
    renaming, fusing = diff_of(recording, 1), diff_of(recording, 2)
    assert renaming.added == renaming.removed == () and {m.evidence for m in renaming.matched} == {"identity"}
    (match,) = [match for match in fusing.matched if match.evidence == "output"]
    assert [id for _, id in match.a] == ["gemm_0", "elementwise_1"] and match.b == (("main", "gemm_2"),)


def test_a_graph_that_cannot_be_read_does_not_end_the_compilation(calls: list[str]) -> None:
    graph_utils = sys.modules["aitemplate.utils.graph_utils"]
    out, _ = linear()
    with opscope.record() as rec:
        rec.aitemplate()
        graph_utils.dump_graph_debug_str_to_file([out], "workdir", "toposort")
        graph_utils.dump_graph_debug_str_to_file([object()], "workdir", "broken")
        graph_utils.dump_graph_debug_str_to_file([out], "workdir", "refine_graph")
    assert calls == ["toposort", "broken", "refine_graph"]
    assert [s.name for s in rec.recording] == ["toposort", "refine_graph"]
    (remark,) = rec.recording.attrs["remarks"]
    assert remark.startswith("pass broken could not be recorded: ")


def test_without_aitemplate_the_recorder_says_what_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aitemplate", None)
    with opscope.record() as rec, pytest.raises(opscope.OpscopeError, match="LOGLEVEL=DEBUG"):
        rec.aitemplate()


def test_its_debug_dumps_open_as_a_recording(corpus: Corpus) -> None:
    dump = next(corpus("aitemplate_doc_passes").rglob("00-*_graph.json")).parent
    recording = opscope.open_recording(dump)
    assert isinstance(recording, Recording) and len(recording) == 30
    changed = [i for i in range(1, 30) if recording[i].content != recording[i - 1].content]
    assert [recording[i].name for i in changed] == ["fuse_mm_elementwise"]
    diff = diff_of(recording, changed[0])
    (match,) = [match for match in diff.matched if match.evidence == "output" and match.changes]
    assert [id for _, id in match.a] == ["gemm_rcr_bias_1", "elementwise_2"]
    assert diff.added == diff.removed == ()


def test_a_broken_dump_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "00-x_graph.json"
    path.write_text('{"Tensors": [], "Operators": [{"op": "gemm"}]}')
    with pytest.raises(opscope.SourceError, match="not an AITemplate graph"):
        opscope.load(path)
