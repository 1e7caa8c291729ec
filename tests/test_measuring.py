"""`opscope.measure`: times of real runs, and a model that is afterwards what it was."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from support.cost_command import cost, refused

import opscope
from opscope.analysis.info import notes_of
from opscope.memory.shown import memory_of

MODEL = """
import torch

def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Dropout(0.5)), torch.randn(32, 64)
"""


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


@pytest.mark.frameworks
def test_looking_at_a_model_changes_nothing(torch: Any) -> None:
    """Running it would change the statistics of the batch norm, and take random numbers."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.BatchNorm1d(64), torch.nn.Dropout(0.5))
    calls = itertools.count()  # its state is out of reach, so it is not restored
    model.register_forward_hook(lambda *_: print(next(calls), end=""))
    x = torch.randn(32, 64, requires_grad=True)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    random, hooks = torch.random.get_rng_state(), list(model._forward_hooks)
    for stage in ("forward", "joint"):
        program = opscope.measure(model, x, stage=stage, runs=2)
        assert sum(program.main.metrics["device time"].values()) > 0
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())
    assert torch.equal(random, torch.random.get_rng_state()) and torch.is_grad_enabled() and model.training
    assert list(model._forward_hooks) == hooks and next(calls) == 2, "torch.export calls hooks once, and no run does"
    assert x.grad is None and all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.frameworks
def test_every_operation_has_its_time_and_the_note_its_sum(torch: Any) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
    x = torch.randn(8, 64)
    forward = opscope.measure(model, x, runs=3)
    operations = {node.id for node in forward.main if node.role == "op"}
    assert forward.main.metrics["device time"].keys() == operations == forward.main.metrics["time spread"].keys()
    note, peak = notes_of(forward)
    assert note.startswith("measured in 3 runs: an undisturbed run takes") and forward.attrs["seconds"] > 0
    joint = opscope.measure(torch.export.export(model, (x,)), stage="joint", runs=1)
    for program in (forward, joint):
        memory = memory_of(program)
        assert memory.measured is not None and memory.measured.bytes == pytest.approx(memory.peak_bytes, rel=0.1)
    assert peak == f"measured peak of memory: {memory_of(forward).measured}"
    backward = [node for node in joint.main if node.attrs.get("opscope.direction") == "backward" and node.role == "op"]
    assert backward and all(node.id in joint.main.metrics["device time"] for node in backward)


@pytest.mark.frameworks
def test_the_command_runs_a_model(torch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "measured_model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    data = cost(capsys, "measured_model:make", "--measure")
    assert {row["op"] for row in data["rows"]} >= {"aten.linear.default", "aten.dropout.default"}
    assert data["profile"]["unattributed"] == [] and "an undisturbed run takes" in data["notes"][0]
    assert "only a model can be measured" in refused(capsys, "measured_model.py", "--measure")
    for obj, problem in ((opscope.load("demo:train_step"), "a Program cannot be run"), (3, r"cannot run a builtins\.int")):
        with pytest.raises(opscope.OpscopeError, match=problem):
            opscope.measure(obj)


@pytest.mark.frameworks
def test_a_jax_function_has_the_times_of_its_instructions() -> None:
    jnp = pytest.importorskip("jax.numpy")

    def step(w: Any, x: Any) -> Any:
        return jnp.sort(jnp.tanh(x @ w), axis=0).sum()

    program = opscope.measure(step, jnp.ones((64, 64)), jnp.ones((512, 64)), runs=3)
    assert program.name == "jit_step" and sum(program.main.metrics["device time"].values()) > 0
    assert "measured in 3 runs" in notes_of(program)[-2]
    memory = memory_of(program)
    assert memory.origin == "reported" and str(memory.measured) == "unknown: JAX does not count the memory of a cpu device"
