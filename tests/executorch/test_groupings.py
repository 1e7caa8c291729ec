"""Partitions and clusters of a real quantized model are where XNNPACK's partitioner and quantizer put them."""

from __future__ import annotations

import copy
import json
import logging
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from quantized_models import quantize, stages

import opscope
from opscope.compat import executorch as compat
from opscope.errors import OpscopeError
from opscope.program import Path as GroupPath

ROOT = Path(__file__).resolve().parent.parent.parent


def tags(exported: Any) -> dict[str, str]:
    return {node.name: node.meta["delegation_tag"] for node in exported.graph.nodes if "delegation_tag" in node.meta}


def names(groups: dict[str, GroupPath] | Any) -> set[str]:
    return {part for path in groups.values() for part in path}


def test_partitions_are_those_that_the_partitioner_tagged() -> None:
    exported = stages().tagged
    program = opscope.capture(exported)
    partitions = {node_id: path[0] for node_id, path in program.main.groupings["partition"].items() if path[0].startswith("partition")}
    expected = tags(exported)
    assert len(set(expected.values())) == 2
    order = list(dict.fromkeys(expected.values()))
    assert partitions == {name: f"partition {order.index(tag)} ({tag})" for name, tag in expected.items()}
    assert {node.id for node in program.main} - set(partitions) >= {"x", "aten_cumsum_default", "aten_mean_dim", "output"}
    assert program.main["aten_convolution_default"].scope == ("b1: Block", "conv: Conv2d"), "modules are not lost"


def test_clusters_are_detected_where_xnnpack_marks_none() -> None:
    program = opscope.capture(stages().tagged)
    clusters = program.main.groupings["qdq cluster"]
    mains = ("aten_convolution_default", "aten_convolution_default_1", "aten_addmm_default")
    assert names(clusters) == {f"cluster ({main}_cluster)" for main in mains}
    for main in mains:
        members = {node_id for node_id, path in clusters.items() if path == (f"cluster ({main}_cluster)",)}
        node = program.main[main]
        operands = {name for name, _ in node.inputs}
        assert operands <= members and main in members
        assert {program.main[name].op for name in members} >= {
            "quantized_decomposed.dequantize_per_tensor.default", "quantized_decomposed.dequantize_per_channel.default",
            "quantized_decomposed.quantize_per_tensor.default",
        }  # fmt: skip
    assert not {"aten_cumsum_default", "aten_mean_dim"} & set(clusters), "float arithmetic is not a cluster"
    inside = program.main.groupings["partition"]["aten_convolution_default"]
    assert inside[0].startswith("partition 0 (") and inside[1:] == ("cluster (aten_convolution_default_cluster)",)


def test_clusters_marked_by_a_backend_take_precedence() -> None:
    """NXP's partitioner writes `cluster` on the nodes; then no other clusters are detected."""
    exported = copy.deepcopy(stages().tagged)
    for node in exported.graph.nodes:
        if node.name in ("aten_convolution_default", "aten_relu_default"):
            node.meta["cluster"] = "aten_convolution_default_cluster"
    groupings = opscope.capture(exported).main.groupings
    assert groupings["qdq cluster"] == dict.fromkeys(
        ("aten_convolution_default", "aten_relu_default"), ("cluster (aten_convolution_default_cluster)",)
    )
    assert groupings["partition"]["aten_relu_default"][1:] == ("cluster (aten_convolution_default_cluster)",)
    assert len(groupings["partition"]["aten_addmm_default"]) == 1


def test_dynamic_quantization_has_clusters_too() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()
    clusters = opscope.capture(quantize(model, (torch.ones(2, 8),), dynamic=True)).main.groupings["qdq cluster"]
    assert names(clusters) == {"cluster (linear_cluster)", "cluster (linear_1_cluster)"}
    assert clusters["choose_qparams"] == clusters["relu"] == ("cluster (linear_cluster)",)


def test_after_lowering_delegates_are_called_graphs_with_their_clusters() -> None:
    program = opscope.capture(stages().lowered)
    assert "partition" not in program.main.groupings
    calls = [node for node in program.main if node.op == "executorch_call_delegate"]
    assert [node.calls for node in calls] == [("lowered_module_0",), ("lowered_module_1",)]
    inner = program["lowered_module_0"]
    assert inner.attrs["backend"] == "XnnpackBackend" and len(inner) > 15
    assert len(names(inner.groupings["qdq cluster"])) == 2 and "partition" not in inner.groupings
    managed = opscope.capture(stages().lowered.to_executorch())
    assert {"lowered_module_0", "lowered_module_1"} <= set(managed.graphs)


@pytest.mark.step("4.16")
def test_the_users_functions_name_partitions_and_clusters() -> None:
    """A user's functions decide, "/" in a name does not make a level, and modules stay."""
    exported = stages().tagged
    program = compat.clustered(
        exported,
        lambda node: "npu/0" if "conv" in node.name else None,
        lambda node: "first" if node.name.endswith("default") else None,
    )
    groupings = program.main.groupings
    assert groupings["partition"]["aten_convolution_default"] == ("partition 0 (npu:0)", "cluster (first)")
    assert groupings["partition"]["aten_addmm_default"] == ("cluster (first)",)
    assert "aten_addmm_default_1" not in groupings["qdq cluster"]
    assert program.main["aten_convolution_default"].scope


def test_edges_have_the_right_output_index(tmp_path: Path) -> None:
    """ExecuTorch writes the position of the user among all users instead of the output index."""

    class Split(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first, second = torch.split(x, 2)
            return torch.relu(second) - first - second

    target = tmp_path / "split.json"
    compat.visualize_with_clusters(torch.export.export(Split(), (torch.ones(4, 3),)), target)
    nodes = {node["id"]: node for node in json.loads(target.read_text())["graphs"][0]["nodes"]}
    indices = {name: nodes[name]["incomingEdges"][0]["sourceNodeOutputId"] for name in nodes if name.startswith("getitem")}
    assert sorted(indices.values()) == ["0", "1"]
    others = [edge for node in nodes.values() if node["label"] != "getitem" for edge in node["incomingEdges"]]
    assert {edge["sourceNodeOutputId"] for edge in others} == {"0"}


def test_other_objects_and_options_without_effect_are_refused() -> None:
    with pytest.raises(OpscopeError, match="pass an ExportedProgram, EdgeProgramManager or ExecutorchProgramManager"):
        compat.visualize(torch.nn.Linear(1, 1))
    with pytest.raises(OpscopeError, match="'extensions' is an option of Model Explorer's server"):
        compat.visualize(stages().tagged, extensions=[])


def test_a_saved_program_has_the_clusters_of_the_captured_one(tmp_path: Path) -> None:
    torch.export.save(stages().quantized, tmp_path / "quantized.pt2")
    loaded = opscope.load(tmp_path / "quantized.pt2")
    assert isinstance(loaded, opscope.Program)
    assert loaded.main.groupings["qdq cluster"] == opscope.capture(stages().quantized).main.groupings["qdq cluster"]


def test_the_documented_snippet_and_the_example_write_what_they_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    snippet = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "executorch.md").read_text("utf-8"), re.S)
    assert snippet
    exec(snippet[1], {"tagged": stages().tagged})
    assert "partition 0" in (tmp_path / "partitions.svg").read_text()
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import_module("pytorch_quantized").main(tmp_path / "out")
    logging.disable(logging.NOTSET)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"partitions.html", "partitions.svg", "partitions.model-explorer.json", "lowered.html", "lowered.svg"}
