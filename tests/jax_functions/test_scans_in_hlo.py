"""Loops of HLO that came from scans: their bodies show a layer, and what they save is counted."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import opscope
from opscope.analysis.called_values import CalledValues
from opscope.analysis.loop_slots import body_of
from opscope.render.saved import saved_for_backward


def _loss(weights: jax.Array, x: jax.Array) -> jax.Array:
    def layer(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(x @ weight), None

    return jnp.sin(jax.lax.scan(layer, jnp.tanh(x @ weights[0]), weights)[0]).sum()


@cache
def _step(stage: str) -> opscope.Program:
    return opscope.capture(jax.value_and_grad(_loss), jnp.ones((6, 4, 4)), jnp.ones((2, 4)), stage=stage)


def _bodies(program: opscope.Program) -> list[opscope.Graph]:
    """The bodies of the forward and of the backward loop."""
    loops = [node for node in program.main if node.op == "while"]
    assert len(loops) == 2
    bodies = [body_of(program, loop) for loop in loops]
    return [body for body in bodies if body is not None]


def test_calls_that_take_or_write_an_element_of_a_stack_are_found() -> None:
    program = _step("hlo")
    values = CalledValues(program)
    forward, backward = _bodies(program)
    for body in (forward, backward):
        parts = values.parts_of_stacks(body)
        for node in body:
            is_part = any(name.startswith(("dynamic_index_in_dim", "dynamic_update_index_in_dim")) for name in node.calls)
            assert (node.id in parts) == is_part, node
        for node_id, operand in parts.items():
            node = body[node_id]
            writes = node.calls[0].startswith("dynamic_update")
            passed = body[node.inputs[operand][0]].outputs[max(0, node.inputs[operand][1])]
            assert len(passed.shape) == len(node.outputs[0].shape) + (-1 if writes else 1)
    assert values.parts_of_stacks(program.main) == {}


@pytest.mark.parametrize("forward_backward", [False, True])
def test_the_layer_is_seen_and_not_the_slices_of_its_stacks(forward_backward: bool, tmp_path: Path) -> None:
    picture = tmp_path / "step.svg"
    opscope.save(_step("hlo"), picture, forward_backward=forward_backward)
    text = picture.read_text()
    assert text.count(">while ×6<") == 2
    assert len(re.findall(r">closed_call(_\d+)?<", text)) == 2  # the layer, in both halves
    assert "dynamic_index_in_dim" not in text and "dynamic_update_index_in_dim" not in text


@pytest.mark.parametrize("forward_backward", [False, True])
def test_layers_are_open_in_both_halves(forward_backward: bool, tmp_path: Path) -> None:
    """Also where the loss has many operations: an open layer beside a closed one cannot be compared."""

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        def layer(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
            for _ in range(12):
                x = jnp.exp(-x)
            return x @ weight, None

        x, _ = jax.lax.scan(layer, x, weights)
        for _ in range(12):
            x = jnp.exp(-x)
        return x.sum()

    step = opscope.capture(jax.value_and_grad(loss), jnp.ones((6, 4, 4)), jnp.ones((2, 4)), stage="hlo")
    opscope.save(step, tmp_path / "step.svg", forward_backward=forward_backward)
    assert (tmp_path / "step.svg").read_text().count(">negate<") == 4 * 12, "one and its derivative, in the layer and in the loss"


@pytest.mark.parametrize("stage", ["jaxpr", "hlo"])
def test_the_body_of_a_recomputed_layer_shows_both_of_its_parts(stage: str, tmp_path: Path) -> None:
    """What is recomputed and the derivatives were two closed boxes."""

    def layer(x: jax.Array, weight: jax.Array) -> tuple[jax.Array, None]:
        return jnp.tanh(jnp.exp(x) @ weight), None

    def loss(weights: jax.Array, x: jax.Array) -> jax.Array:
        return jnp.sin(jax.lax.scan(jax.checkpoint(layer), x, weights)[0]).sum()

    program = opscope.capture(jax.value_and_grad(loss), jnp.ones((6, 4, 4)), jnp.ones((2, 4)), stage=stage)
    loop = [node for node in program.main if node.op in ("scan", "while")][-1]
    body = loop.calls[-1] if stage == "jaxpr" else _bodies(program)[-1].name
    opscope.save(program, tmp_path / "body.svg", graph=body)
    text = (tmp_path / "body.svg").read_text()
    assert ">recomputed<" in text and ">backward<" in text
    assert ">tanh<" in text and len(re.findall(r">dot(_general)?<", text)) == 3, "one product again, and two derivatives"


@pytest.mark.parametrize("stage", ["jaxpr", "hlo"])
def test_arrows_and_info_count_the_same(stage: str, tmp_path: Path) -> None:
    program, picture = _step(stage), tmp_path / "step.svg"
    opscope.save(program, picture, forward_backward=True)
    counts = re.findall(r">(?:(\d+) )?saved · ", picture.read_text())
    assert counts and sum(int(count or 1) for count in counts) == len(saved_for_backward(program))


def test_saved_values_are_not_counted_as_parameters(tmp_path: Path) -> None:
    """A module in the body of the backward loop takes what was saved for it, beside its weights, which the forward loop has."""

    def module(name: str, x: jax.Array, weight: jax.Array) -> jax.Array:
        with jax.named_scope(name):
            for _ in range(6):
                x = jnp.tanh(jnp.sin(x @ weight) * x)
            return x

    def layer(x: jax.Array, weights: dict[str, jax.Array]) -> tuple[jax.Array, None]:
        return module("second", module("first", x, weights["a"]), weights["b"]), None

    def loss(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        return jax.lax.scan(layer, x, weights)[0].sum()

    weights = {"a": jnp.ones((6, 4, 4)), "b": jnp.ones((6, 4, 4))}
    opscope.save(opscope.capture(jax.value_and_grad(loss), weights, jnp.ones((2, 4))), tmp_path / "step.svg")
    counts = re.findall(r">(\d+ ops(?: · \d+ parameters)?)<", (tmp_path / "step.svg").read_text())
    assert [count.partition(" · ")[2] for count in counts] == ["192 parameters", *["16 parameters"] * 2, "", ""], counts
    lowered = opscope.capture(jax.value_and_grad(loss), weights, jnp.ones((2, 4)), stage="stablehlo")
    opscope.save(lowered, tmp_path / "lowered.svg")
    counts = re.findall(r">while\n\d+ ops · (.+) parameters", (tmp_path / "lowered.svg").read_text())
    assert counts == ["192"], "not what the loop carries, and the stacks that it fills"
    loop = next(node for node in lowered.main if node.op == "stablehlo.while")
    opscope.save(lowered, tmp_path / "around.svg", around=loop.id)
    assert ">broadcast_in_dim<" not in (tmp_path / "around.svg").read_text(), "zeros that the stacks start with are not boxes"
