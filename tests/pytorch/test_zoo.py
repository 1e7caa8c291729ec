"""A slice of the zoo (benchmarks/zoo): what it checks of every public model, for one model and a few programs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import opscope

ZOO = Path(__file__).resolve().parents[2] / "benchmarks" / "zoo"
sys.path.append(str(ZOO))


def test_a_torch_model_gives_a_true_graph_and_is_left_alone() -> None:
    import torch_checks
    import torch_zoo

    entry = next(entry for entry in torch_zoo.entries(quick=False) if entry.name == "MultiheadAttention")
    row = torch_checks.check(*entry.make())
    assert set(row["stages"].values()) == {"ok"}
    assert (row["wrong"], row["effects"], row["unknown"]) == ([], [], [])
    assert row["parameters"][0] == row["parameters"][1] and row["products"][0] == row["products"][1]
    assert row["linked"][0] == row["linked"][1] > 0


def test_the_derivative_of_an_in_place_activation_is_written_over_its_gradient() -> None:
    """autograd copies into the gradient that it made; tracing gives each copy a result of its own."""
    import torch_checks
    from torch import nn, rand

    layers = nn.Sequential(nn.Linear(2, 512), nn.ReLU(inplace=True), nn.Linear(512, 4, bias=False))
    computed, allocated = torch_checks.check(layers, (rand(1, 49, 2),), {})["memory"]
    assert computed == pytest.approx(allocated, rel=0.01)


@pytest.mark.parametrize("name", ["masked softmax", "scan24, gradient", "ragged dot"])
def test_jax_programs_give_a_graph_at_every_stage(name: str) -> None:
    import jax_checks
    import jax_zoo

    entry = next(entry for entry in jax_zoo.entries(quick=False) if entry.name == name)
    row = jax_checks.check(*entry.make())
    assert set(row["stages"].values()) == {"ok"} and not row.get("wrong")


@pytest.mark.parametrize(
    ("name", "notes"),
    [
        ("longt5", ["Exported with an attention_mask of ones and use_cache=False, because "]),
        ("rwkv", ["Exported with use_cache=False, because AOTAutograd could not "]),
        ("sew-d", []),
    ],
)
def test_a_joint_graph_is_made_in_the_way_that_torch_allows(name: str, notes: list[str]) -> None:
    """These were refused. The last changes the result of a softmax in place, in a function with a backward of its own."""
    import torch_zoo

    model, args, kwargs = torch_zoo.make("transformers", name)
    joint = opscope.capture(model, *args, stage="joint", **kwargs)
    gradients = [node for node in joint.main if node.role == "gradient" and node.inputs]
    assert len(gradients) > 30 and not {"use_cache"} & {node.attrs.get("name") for node in joint.main.parameters}
    exported = [note for note in joint.attrs.get("notes", ()) if note.startswith("Exported")]
    assert [note[: len(start)] for note, start in zip(exported, notes, strict=True)] == notes
