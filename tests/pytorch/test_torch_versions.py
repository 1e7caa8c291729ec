"""What works with every torch from 2.6 on. CI runs this file with the oldest and the newest one too, without any other framework."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from support.exported_truth import edges_of, expected_graph, wrong_scopes, wrong_types
from support.torch_state import differences, state_of, tensors_of, world
from torch import nn

import opscope

HAS_JOINT = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 9)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(144, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.relu(self.norm(self.conv(x))).flatten(1))


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x) if x.sum().item() > 0 else x


MODELS = {
    "convolution": (Model(), torch.rand(2, 3, 8, 8)),
    "attention": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.rand(2, 4, 8)),
    "recurrent": (nn.LSTM(4, 4), torch.rand(3, 2, 4)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["convolution", "attention"])
def test_exported_graphs_are_true(name: str, tmp_path: Path) -> None:
    """Nodes, edges, types and modules are those of torch's own walk over its graph, live and from a file."""
    model, x = MODELS[name]
    exported = torch.export.export(model, (x,), strict=False)
    graph = opscope.capture(model, x).main
    nodes, edges = expected_graph(exported, exported.graph)
    assert [node.id for node in graph] == nodes and edges_of(graph) == edges
    assert wrong_types(exported, graph) == [] == wrong_scopes(exported, graph)
    torch.export.save(exported, tmp_path / "model.pt2")
    assert edges_of(opscope.load(tmp_path / "model.pt2").main) == edges


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_looking_changes_nothing(name: str) -> None:
    model, x = MODELS[name]
    stages = ("forward", "eager", "autograd", *(["joint"] if HAS_JOINT else []))
    for stage in stages:
        opscope.capture(model, x, stage=stage)  # imports whatever it needs
    before = (state_of(model), tensors_of(model)), world()
    for stage in stages:
        assert len(opscope.capture(model, x, stage=stage).main) > 5
    assert opscope.summary(model, input_data=x).totals["parameters"] == sum(each.numel() for each in model.parameters())
    assert ((state_of(model), tensors_of(model)), differences(before[1], world())) == (before[0], [])


def test_joint_graphs_or_why_there_is_none() -> None:
    model, x = MODELS["convolution"]
    if not HAS_JOINT:
        with pytest.raises(opscope.OpscopeError, match="stage='joint' needs torch"):
            opscope.capture(model, x, stage="joint")
        return
    graph = opscope.capture(model, x, stage="joint").main
    assert {node.attrs["name"] for node in graph if node.role == "gradient" and node.inputs} == {n for n, _ in model.named_parameters()}


def test_what_cannot_be_exported_is_run() -> None:
    with pytest.warns(UserWarning, match=r"torch\.export failed on Branches"):
        graph = opscope.capture(Branches(), torch.ones(1, 4)).main
    assert "aten.addmm.default" in [node.op for node in graph]


@pytest.mark.slow
def test_compilation_is_recorded(tmp_path: Path) -> None:
    model, x = MODELS["convolution"]
    with opscope.record(tmp_path / "run.opscope") as recorder:
        recorder.torch(model, x).sum().backward()
    passes = opscope.open_recording(tmp_path / "run.opscope").snapshots
    assert {"Dynamo graph", "joint graph"} <= {each.name for each in passes}
    assert any(each.module.startswith("Model.forward") for each in passes)
