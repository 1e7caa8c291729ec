"""Which parameters are said to get no gradient: those that a real backward gives none, at every stage."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import CheckpointFunction, checkpoint

import opscope

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")]

STAGES = ("forward", "joint", "autograd", "summary")


class Model(nn.Module):
    """Three layers, used by a function."""

    def __init__(self, run: Callable[..., Any]) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3) for _ in range(3))
        self.register_buffer("last", torch.zeros(()))
        self.run = run

    def forward(self, x: torch.Tensor) -> Any:
        return self.run(self, x)


def notes_at(stage: str, model: nn.Module, x: torch.Tensor) -> list[str]:
    if stage == "summary":
        return [line[4:].strip() for line in str(opscope.summary(model, input_data=x)).splitlines() if line.startswith("Note")]
    return list(opscope.capture(model, x, stage=stage).attrs.get("notes", []))


def untrained_at(stage: str, model: nn.Module, x: torch.Tensor) -> dict[str, str]:
    """The parameters that are said to get no gradient, and why."""
    said = [note.partition("no gradient: ")[2] for note in notes_at(stage, model, x) if "no gradient: " in note]
    assert not any(" more" in each for each in said)
    return dict(re.findall(r"([\w.]+) \(([^)]*)\)", " ".join(said)))


def untrained(model: nn.Module, x: torch.Tensor) -> set[str]:
    """The independent source: a real backward."""
    model.zero_grad(set_to_none=True)
    model(x).sum().backward()
    names = {name for name, parameter in model.named_parameters() if parameter.grad is None}
    model.zero_grad(set_to_none=True)
    return names


def _reentrant(model: Any, x: torch.Tensor) -> torch.Tensor:
    return model.c(checkpoint(model.b, model.a(x), use_reentrant=True))


def _reentrant_without_gradient(model: Any, x: torch.Tensor) -> torch.Tensor:
    return model.a(x) + model.c(x) + checkpoint(model.b, x, use_reentrant=True)


def _cut_in_reentrant(model: Any, x: torch.Tensor) -> torch.Tensor:
    return checkpoint(lambda h: model.b(h) + model.c(h).detach(), model.a(x), use_reentrant=True)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("run", [_reentrant, _reentrant_without_gradient, _cut_in_reentrant])
def test_parameters_in_reentrant_checkpoints_have_their_gradients(run: Any, stage: str) -> None:
    model, x = Model(run), torch.rand(2, 3)
    truth = untrained(model, x)
    assert set(untrained_at(stage, model, x)) == truth
    assert "apply" not in vars(CheckpointFunction), "nothing of torch stays changed"


def test_a_joint_graph_of_a_reentrant_checkpoint_has_its_backward() -> None:
    model, x = Model(_reentrant), torch.rand(2, 3)
    program = opscope.capture(model, x, stage="joint")
    gradients = {node.attrs["name"] for node in program.main if node.role == "gradient" and node.inputs}
    assert gradients == {name for name, _ in model.named_parameters()}
    assert program.attrs["checkpointed"] == ["b"]
    assert any("use_reentrant=False" in note for note in program.attrs["notes"])


def test_an_autograd_graph_says_that_reentrant_checkpoints_hide_parameters() -> None:
    program = opscope.capture(Model(_reentrant), torch.rand(2, 3), stage="autograd")
    assert any(node.op.startswith("CheckpointFunctionBackward") for node in program.main), "the graph is the one that autograd has"
    assert not any("no_grad" in str(node.attrs) for node in program.main)
    assert [note for note in program.attrs["notes"] if "Reentrant checkpoints run once more" in note]
