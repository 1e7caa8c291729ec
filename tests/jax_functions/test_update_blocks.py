"""The optimizer's update of a training step in which only the model has names: one block for each weight."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import opscope
from opscope.analysis.enrich import enrich
from opscope.analysis.groupings import DIRECTION
from opscope.analysis.info import info_of
from opscope.analysis.structure import STRUCTURE
from opscope.program import Program

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]
SHAPES = [(8, 16), (16,), (16, 16), (16,), (16, 16), (16,), (16, 4), (4,)]


@pytest.fixture(scope="module", params=["jaxpr", "stablehlo", "hlo"])
def step(request: pytest.FixtureRequest) -> Program:
    import jax
    import jax.numpy as jnp
    import optax

    optimizer = optax.adamw(1e-3)

    def loss(weights: Any, x: Any) -> Any:
        with jax.named_scope("model"):
            for number in range(0, len(weights), 2):
                with jax.named_scope(f"layer_{number}"):
                    x = jnp.tanh(x @ weights[number] + weights[number + 1])
            return x.mean()

    def train_step(weights: Any, state: Any, x: Any) -> Any:
        gradients = jax.grad(loss)(weights, x)
        updates, state = optimizer.update(gradients, state, weights)
        return optax.apply_updates(weights, updates), state

    weights = [jnp.ones(shape) for shape in SHAPES]
    return enrich(opscope.capture(train_step, weights, optimizer.init(weights), jnp.ones((2, 8)), stage=request.param))


def test_each_weight_has_a_block_with_what_leads_to_its_new_value(step: Program) -> None:
    """The truth is the order of the step's results: first the new weights."""
    graph = step.main
    blocks = graph.groupings[STRUCTURE]
    results = graph.outputs[: len(SHAPES)]
    if len(results) < len(SHAPES):  # HLO has one tuple
        results = graph[graph.outputs[0][0]].inputs[: len(SHAPES)]
    updates = [blocks[name] for name, _ in results]
    assert len(set(updates)) == len(SHAPES)
    assert {path[0] for path in blocks.values()} == {"adam updates"} and set(updates) == set(blocks.values())
    assert [graph[name].outputs[0].shape for name, _ in results] == SHAPES


def test_blocks_of_a_family_have_the_same_operations(step: Program) -> None:
    graph = step.main
    contents: dict[tuple[str, ...], Counter[str]] = {}
    for name, path in graph.groupings[STRUCTURE].items():
        contents.setdefault(path, Counter())[graph[name].op] += 1
    families: dict[str, set[tuple[tuple[str, int], ...]]] = {}
    for path, ops in contents.items():
        families.setdefault(path[-1].rpartition(" ")[0], set()).add(tuple(sorted(ops.items())))
    assert all(len(of_each) == 1 for of_each in families.values()), families


def test_the_update_is_drawn_as_blocks_of_its_half(step: Program) -> None:
    from support.wire_reader import read_program

    from opscope.render.wire.program import encode_wire

    paths = read_program(encode_wire(step)).groupings[DIRECTION]
    inside = {path[path.index("update") + 1 :][:1] for path in paths if "update" in path}
    assert ("adam updates",) in inside and not any("adam updates" in path for path in paths if "update" not in path)
    assert info_of(step).blocks is None
