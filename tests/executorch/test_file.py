"""The file for Model Explorer is ExecuTorch's, field for field, and Model Explorer draws it."""

from __future__ import annotations

import inspect
import json
import operator
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from browser.conftest import browser, open_address, server
from browser.harness import Open
from quantized_models import Net, neutron, stages
from support.model_explorer_page import their_page, their_server

import opscope
from opscope.compat import executorch as compat

__all__ = ["browser", "open_address", "server", "their_server"]  # fixtures

utils = pytest.importorskip("executorch.devtools.visualization.visualization_utils", reason="needs Model Explorer")


class EveryArgument(torch.nn.Module):
    """Buffers that are saved and that are not, a constant, a scalar, keyword arguments, and an operation with several results."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.1, float("inf"), 3.0]))
        self.register_buffer("passing", torch.arange(40).reshape(4, 10), persistent=False)
        self.gain = torch.nn.Parameter(torch.tensor(2.0))

    def forward(self, x: torch.Tensor, *, shift: torch.Tensor, pair: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        first, second = torch.split(x, 2)
        values, indices = torch.max(first - second - second, dim=0)
        offset = torch.tensor([1.0, 2.0, 3.0])
        return values * self.gain + self.mean + offset + shift, indices, self.passing[:, 0] + pair[0] - pair[1]


def every_argument() -> Any:
    pair = (torch.ones(4, dtype=torch.int32), torch.zeros(4, dtype=torch.bool).to(torch.int8))
    return torch.export.export(EveryArgument(), (torch.rand(4, 3),), {"pair": pair, "shift": torch.full((3,), 0.25)})


def dynamic() -> Any:
    batch = torch.export.Dim("batch", min=2)
    return torch.export.export(Net().eval(), (torch.ones(2, 3, 8, 8),), dynamic_shapes=({0: batch},))


PROGRAMS: dict[str, Callable[[], Any]] = {
    "plain": lambda: torch.export.export(Net().eval(), (torch.rand(1, 3, 8, 8),)),
    "every argument": every_argument,
    "dynamic": dynamic,
    "quantized": lambda: stages().quantized,
    "partitioned": lambda: stages().tagged,
    "clusters": neutron,
    "lowered": lambda: stages().lowered.exported_program(),
}
NAMES: dict[str, Any] = {
    "get_node_partition_name": lambda node: "a/b" if "conv" in node.name else None,
    "get_node_qdq_cluster_name": lambda node: f"c/{node.op}",
}


def both(exported: Any, directory: Path, **names: Any) -> tuple[Any, Any]:
    """What opscope and what ExecuTorch writes."""
    ours, theirs = directory / "ours.json", directory / "theirs.json"
    utils.visualize_with_clusters(exported, json_file_name=str(theirs), **names)
    compat.visualize_with_clusters(exported, str(ours), **names)
    return json.loads(ours.read_text()), json.loads(theirs.read_text())


def with_true_outputs(collection: Any, exported: Any) -> int:
    """Correct the outputs that the edges leave: only `getitem` reads another one than the first. Returns how many were wrong."""
    element = {node.name: node.args[1] for node in exported.graph.nodes if node.target is operator.getitem}
    wrong = 0
    for graph in (*collection["graphs"], *(level["graph"] for level in collection["graphsWithLevel"])):
        for node in graph["nodes"]:
            for edge in node["incomingEdges"]:
                output = str(element.get(node["id"], 0))
                wrong += edge["sourceNodeOutputId"] != output
                edge["sourceNodeOutputId"] = output
    return wrong


@pytest.mark.step("4.13", "4.16")
@pytest.mark.parametrize("names", [{}, NAMES], ids=["tags", "functions"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_file_equals_executorchs_but_for_wrong_outputs(name: str, names: dict[str, Any], tmp_path: Path) -> None:
    exported = PROGRAMS[name]()
    ours, theirs = both(exported, tmp_path, **names)
    users = [len(node.users) for node in exported.graph.nodes]
    assert (with_true_outputs(theirs, exported) > 0) == any(count > 1 for count in users), "ExecuTorch numbers the users of a value"
    assert ours == theirs
    values = [attr for node in ours["graphs"][0]["nodes"] for attr in node["attrs"] if attr["key"] == "__value"]
    specs = exported.graph_signature.input_specs if exported.example_inputs else ()
    assert len(values) == len(specs), "weights, buffers and user inputs; the lowered program has only user inputs, without examples"


def test_what_executorch_refuses_or_leaves_out_is_written(tmp_path: Path) -> None:
    class Sized(torch.nn.Module):
        def forward(self, x: torch.Tensor, times: int) -> torch.Tensor:
            return torch.ones(x.shape[0]) * times

    exported = torch.export.export(Sized(), (torch.ones(4, 6), 3), dynamic_shapes=({0: torch.export.Dim("n")}, None))
    with pytest.raises((ValueError, AttributeError)):
        utils.visualize_with_clusters(exported, json_file_name=str(tmp_path / "theirs.json"))
    compat.visualize_with_clusters(exported, tmp_path / "ours.json")
    nodes = {node["id"]: node for node in json.loads((tmp_path / "ours.json").read_text())["graphs"][0]["nodes"]}
    shapes = [output["attrs"][0]["value"] for node in nodes.values() for output in node["outputsMetadata"]]
    assert any(shape.startswith("(SymInt ") for shape in shapes)
    assert {"key": "__value", "value": "3"} in nodes["times"]["attrs"]

    exported = PROGRAMS["plain"]()
    exported._example_inputs = None
    ours, theirs = both(exported, tmp_path)
    assert not any(attr["key"] == "target" for node in theirs["graphs"][0]["nodes"] for attr in node["attrs"])
    targets = [attr["value"] for node in ours["graphs"][0]["nodes"] for attr in node["attrs"] if attr["key"] == "target"]
    assert "b1.conv.weight" in targets, "weights are known without example inputs"


@pytest.mark.step("4.14")
def test_model_explorer_and_opscope_show_the_same_file(
    chromium: Callable[..., Any], their_server: str, server: Callable[..., str], open_address: Open, tmp_path: Path
) -> None:
    target = tmp_path / "clusters.json"
    compat.visualize_with_clusters(neutron(), target)
    nodes = json.loads(target.read_text())["graphs"][0]["nodes"]
    spaces = {node["namespace"] for node in nodes if node["namespace"]}
    layers = {"/".join(space.split("/")[:depth]) for space in spaces for depth in range(1, 1 + len(space.split("/")))}
    shown = their_page(chromium, their_server, target)
    assert f"op node count {len(nodes)}" in shown and f"layer count {len(layers)}" in shown
    viewer = open_address(server(target))
    state = viewer.press("Expand all")
    assert state["nodes"] == len(nodes)
    assert {key.removeprefix("g:") for key in state["expanded"]} == layers


@pytest.mark.step("4.1")
def test_model_explorer_need_not_be_installed(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["model_explorer"] = None
import torch
from opscope.compat.executorch import visualize_with_clusters
visualize_with_clusters(torch.export.export(torch.nn.Linear(2, 3), (torch.ones(1, 2),)), {str(tmp_path / "linear.json")!r})
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=tmp_path)
    assert [node.op for node in opscope.load(tmp_path / "linear.json").main][-2:] == ["aten.linear", "output"]


@pytest.mark.step("4.20")
@pytest.mark.parametrize("name", ["visualize", "visualize_graph", "visualize_with_clusters"])
def test_calls_written_for_executorch_bind_to_the_same_arguments(name: str) -> None:
    theirs, ours = (inspect.signature(getattr(module, name)).parameters for module in (utils, compat))
    assert list(theirs) == list(ours)
    for parameter in theirs:
        assert theirs[parameter].kind == ours[parameter].kind
        assert callable(theirs[parameter].default) or theirs[parameter].default == ours[parameter].default
