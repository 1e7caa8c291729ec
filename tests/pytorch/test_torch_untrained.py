"""Which parameters are said to get no gradient: those that a real backward gives none, at every stage."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import CheckpointFunction, checkpoint

import opscope

pytestmark = [pytest.mark.frameworks, pytest.mark.slow, pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")]

STAGES = ("forward", "joint", "autograd", "summary")


class Model(nn.Module):
    """Three layers, for a function to use."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3) for _ in range(3))
        self.register_buffer("last", torch.zeros(()))


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


class Reentrant(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(checkpoint(self.b, self.a(x), use_reentrant=True))


class ReentrantWithoutGradient(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a(x) + self.c(x) + checkpoint(self.b, x, use_reentrant=True)


class CutInReentrant(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda h: self.b(h) + self.c(h).detach(), self.a(x), use_reentrant=True)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", [Reentrant, ReentrantWithoutGradient, CutInReentrant])
def test_parameters_in_reentrant_checkpoints_have_their_gradients(kind: Any, stage: str) -> None:
    model, x = kind(), torch.rand(2, 3)
    truth = untrained(model, x)
    assert set(untrained_at(stage, model, x)) == truth
    assert "apply" not in vars(CheckpointFunction), "nothing of torch stays changed"


def test_a_joint_graph_of_a_reentrant_checkpoint_has_its_backward() -> None:
    model, x = Reentrant(), torch.rand(2, 3)
    program = opscope.capture(model, x, stage="joint")
    gradients = {node.attrs["name"] for node in program.main if node.role == "gradient" and node.inputs}
    assert gradients == {name for name, _ in model.named_parameters()}
    assert program.attrs["checkpointed"] == ["b"]
    assert any("use_reentrant=False" in note for note in program.attrs["notes"])


def test_an_autograd_graph_says_that_reentrant_checkpoints_hide_parameters() -> None:
    program = opscope.capture(Reentrant(), torch.rand(2, 3), stage="autograd")
    assert any(node.op.startswith("CheckpointFunctionBackward") for node in program.main), "the graph is the one that autograd has"
    assert not any("no_grad" in str(node.attrs) for node in program.main)
    assert [note for note in program.attrs["notes"] if "Reentrant checkpoints run once more" in note]


class DetachedInPlace(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.a(x)) + self.b(x).detach_()


class KeptAside(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last.copy_(self.b(x).sum().detach())
        return self.c(self.a(x))


class ByNumpy(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.a(x)) + torch.from_numpy(self.b(x).detach().numpy())


class AsANumber(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.a(x)) * self.b(x).sum().item()


class AsAList(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.a(x)) * torch.tensor(self.b(x).tolist())


class ThrownAway(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.b(x)
        return self.c(self.a(x))


@pytest.mark.parametrize(
    ("kind", "why", "stages"),
    [
        (DetachedInPlace, "detach", STAGES),
        (KeptAside, "detach", STAGES),
        (ByNumpy, "detach", STAGES),
        (AsANumber, "item", STAGES),
        (AsAList, "tolist", ("autograd", "summary")),  # torch.export needs the length of the list
        (ThrownAway, "not used", ("joint", "autograd", "summary")),  # a graph for inference does not say it
    ],
)
def test_every_stage_names_what_cut_a_parameter_off(kind: Any, why: str, stages: tuple[str, ...]) -> None:
    model, x = kind(), torch.rand(2, 3)
    assert untrained(model, x) == {"b.weight", "b.bias"}
    line = kind.forward.__code__.co_firstlineno + 1
    reason = why if why == "not used" else f"{why}, {__file__.rpartition('/')[2]}:{line}"
    assert {stage: untrained_at(stage, model, x) for stage in stages} == {stage: {"b.weight": reason, "b.bias": reason} for stage in stages}


class ByData(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.a(x)) + self.b(x).data


def test_a_joint_graph_does_not_guess_what_an_export_has_lost() -> None:
    model, x = ByData(), torch.rand(2, 3)
    assert untrained(model, x) == {"b.weight", "b.bias"}
    assert notes_at("joint", model, x)[-1] == "2 of 6 parameters get no gradient: b.weight, b.bias"
    assert {why.partition(",")[0] for why in untrained_at("autograd", model, x).values()} == {"detach"}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("stage", ["joint", "autograd"])
def test_what_is_trained_does_not_depend_on_the_mode_of_the_caller(stage: str, mode: Any) -> None:
    model, x = ThrownAway(), torch.rand(2, 3)
    truth = untrained(model, x)
    with mode():
        assert set(untrained_at(stage, model, x)) == truth
        assert not torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled() == (mode is torch.inference_mode)


def test_a_joint_graph_of_an_exported_program_does_not_depend_on_it_either() -> None:
    exported = torch.export.export(nn.Linear(3, 3), (torch.rand(2, 3),))
    with torch.no_grad():
        program = opscope.capture(exported, stage="joint")
    assert {node.attrs["name"] for node in program.main if node.role == "gradient" and node.inputs} == {"weight", "bias"}


def test_a_joint_graph_of_a_frozen_model_says_why_it_has_no_backward() -> None:
    model, x = ThrownAway().requires_grad_(False), torch.rand(2, 3)
    assert not model(x).requires_grad
    assert notes_at("joint", model, x) == ["No parameter or input requires a gradient, so there is no backward."]
    assert notes_at("joint", model, x.requires_grad_()) == []


class Written(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.last.add_(self.b(x).sum())
        return self.c(self.a(x).detach())


def test_a_parameter_whose_value_goes_to_a_buffer_is_not_called_unused() -> None:
    model, x = Written(), torch.rand(2, 3)
    assert untrained(model, x) == {"a.weight", "a.bias", "b.weight", "b.bias"}
    with torch.inference_mode():
        notes = notes_at("forward", model, x)
    assert "detach" in notes[0] and "not used" not in notes[0]


class WrittenInPlace(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sums = torch.zeros(2, 3)
        sums[0] = self.b(x)[0]
        return sums + self.a(x) + self.c(x).detach()


@pytest.mark.parametrize("stage", STAGES)
def test_a_gradient_through_what_is_written_in_place_arrives(stage: str) -> None:
    model, x = WrittenInPlace(), torch.rand(2, 3)
    assert untrained(model, x) == {"c.weight", "c.bias"}
    assert notes_at(stage, model, x)[0].startswith("2 of 6 parameters get no gradient: c.weight (detach")
