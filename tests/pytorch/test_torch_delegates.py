"""What backends take over: delegates of real ExecuTorch appear as the graphs that they were made from."""

from __future__ import annotations

import logging
import warnings

import pytest
import torch
from torch import nn

import opscope
from opscope.program import Program


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.cumsum(self.first(x).relu(), dim=1))  # cumsum is not XNNPACK's: two delegates


@pytest.fixture(scope="module")
def lowered() -> Program:
    pytest.importorskip("executorch")
    logging.disable(logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.exir import to_edge_transform_and_lower

        exported = torch.export.export(Net().eval(), (torch.ones(3, 4),))
        edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    logging.disable(logging.NOTSET)
    return opscope.capture(edge.exported_program())


def test_delegates_are_called_graphs(lowered: Program) -> None:
    """Each call leads to a graph with its backend, its size, and the operations that went into it."""
    calls = [node for node in lowered.main if node.calls]
    assert [node.op for node in calls] == ["executorch_call_delegate"] * 2
    first, second = (lowered[node.calls[0]] for node in calls)
    assert first.attrs["backend"] == second.attrs["backend"] == "XnnpackBackend"
    assert first.attrs["bytes"] > 0
    assert [node.op for node in first if node.role == "op"] == ["aten.linear.default", "aten.relu.default"]
    assert {node.attrs["name"] for node in second if node.op == "parameter"} == {"second.weight", "second.bias"}


def test_operators_of_the_edge_dialect_have_their_names(lowered: Program) -> None:
    """ExecuTorch wraps operators; they have their ATen names, and the schema's argument names."""
    (cumsum,) = [node for node in lowered.main if "cumsum" in node.op]
    assert (cumsum.op, cumsum.attrs["dim"]) == ("aten.cumsum.default", 1)
    assert lowered.main.users[cumsum.id] == (lowered.main.nodes[-3].id,)
