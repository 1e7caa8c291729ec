"""The training step of a 4-layer transformer in real JAX, traced and compiled: which half a node is in, and what it differentiates."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.analysis.directions import directions
from opscope.analysis.gradients import backward_links
from opscope.program import BACKWARD, FORWARD, UPDATE, Program

jax = pytest.importorskip("jax")

SMALL = {"WIDTH": 16, "HEADS": 2, "SEQUENCE": 8, "BATCH": 2, "VOCABULARY": 32}


@pytest.fixture(scope="module")
def lowered() -> Any:
    """The benchmarks' model, small."""
    import jax.numpy as jnp

    path = Path(__file__).resolve().parents[2] / "benchmarks" / "make_hlo.py"
    spec = importlib.util.spec_from_file_location("make_hlo", path)
    assert spec is not None and spec.loader is not None
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    vars(model).update(SMALL)
    params = model.parameters(4)
    state = {"step": jnp.zeros(()), "first": params, "second": params}
    tokens = jnp.zeros((SMALL["BATCH"], SMALL["SEQUENCE"] + 1), jnp.int32)
    return jax.jit(model.train_step, donate_argnums=(0, 1)).lower(params, state, tokens)


@pytest.fixture(scope="module")
def before(lowered: Any) -> Program:
    return opscope.capture(lowered)


@pytest.fixture(scope="module")
def after(lowered: Any) -> Program:
    return opscope.capture(lowered.compile())


def by_scope(program: Program) -> float:
    evidence = Counter(link.evidence for link in backward_links(program))
    assert evidence.total() > 300, "a train step has a backward half"
    return (evidence["place"] + evidence["scope"]) / evidence.total()


def test_backward_is_linked_to_forward_by_scope_before_optimization(before: Program) -> None:
    assert by_scope(before) >= 0.99


def test_backward_is_linked_to_forward_by_scope_after_optimization(after: Program) -> None:
    assert by_scope(after) >= 0.98


def test_links_stay_within_their_layer(before: Program) -> None:
    """A backward instruction of layer_2 differentiates instructions of layer_2."""
    strays = 0
    for link in backward_links(before):
        layer = next((name for name in before[link.graph][link.node].scope if name.startswith("layer_")), None)
        homes = {name for graph, node in link.forward for name in before[graph][node].scope if name.startswith("layer_")}
        strays += layer is not None and bool(homes) and homes != {layer}
    assert strays == 0


@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_train_step_has_three_parts(stage: str, request: pytest.FixtureRequest) -> None:
    program: Program = request.getfixturevalue(stage)
    marks = directions(program)[program.entry]
    halves = Counter(marks)
    assert min(halves[FORWARD], halves[BACKWARD], halves[UPDATE]) > 20 and set(halves) <= {FORWARD, BACKWARD, UPDATE}
    optimizer = [mark for node, mark in zip(program.main, marks, strict=True) if "adamw" in node.scope]
    assert Counter(optimizer)[UPDATE] >= 0.95 * len(optimizer), "operations in the optimizer's scope are the update"


def test_every_layer_is_next_to_its_backward(before: Program, tmp_path: Path) -> None:
    """The picture has both halves, with every layer in each, at the same height."""
    opscope.save(before, tmp_path / "step.svg", forward_backward=True)
    text = (tmp_path / "step.svg").read_text("utf-8")
    heights: dict[str, list[float]] = {}
    for y, name in re.findall(r'<text x="[\d.]+" y="([\d.]+)"[^>]*>(layer_\d)<', text):
        heights.setdefault(name, []).append(float(y))
    assert sorted(heights) == ["layer_0", "layer_1", "layer_2", "layer_3"]
    for forward, backward in heights.values():
        assert forward == pytest.approx(backward, abs=1)
