"""Links of functions with derivatives of their own (custom_vjp): their rule has the place of the call, which other calls may share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest

from opscope.analysis.directions import directions
from opscope.analysis.gradients import with_backward_links
from opscope.program import BACKWARD, BACKWARD_OF
from opscope.readers import capture_object

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]


@jax.custom_vjp
def act(x: Any) -> Any:
    return jnp.tanh(x) * x


def _act_forward(x: Any) -> tuple[Any, Any]:
    return jnp.tanh(x) * x, x


def _act_backward(x: Any, gradient: Any) -> tuple[Any]:
    tanh = jnp.tanh(x)
    return (gradient * (tanh + x * (1 - tanh * tanh)),)


act.defvjp(_act_forward, _act_backward)


@jax.custom_vjp
def scaled(x: Any) -> Any:
    return jnp.abs(x)


def _scaled_forward(x: Any) -> tuple[Any, Any]:
    return jnp.abs(x), None


def _scaled_backward(_: None, gradient: Any) -> tuple[Any]:
    """It reads nothing of the forward half, so that data flow does not say whose it is."""
    return (jnp.negative(gradient * 0.5),)


scaled.defvjp(_scaled_forward, _scaled_backward)


class Case(NamedTuple):
    together: Callable[[Any, Any], Any]
    apart: Callable[[Any, Any], Any]
    """The same operations in the same order, with each call on a line of its own."""


def _sum_apart(w: Any, x: Any) -> Any:
    product = x @ w
    active = act(product)
    return active.sum()


def _mean_apart(w: Any, x: Any) -> Any:
    product = x @ w
    active = scaled(product)
    return active.mean()


def _product_apart(w: Any, x: Any) -> Any:
    wave = jnp.sin(x)
    active = act(wave)
    product = active @ w
    return product.sum()


def _factor_apart(w: Any, x: Any) -> Any:
    product = x @ w
    wave = jnp.sin(product)
    active = scaled(wave)
    factor = active * wave
    return factor.sum()


def _added_apart(w: Any, x: Any) -> Any:
    product = x @ w
    active = scaled(product)
    total = active + product
    return total.sum()


def _factor_together(w: Any, x: Any) -> Any:
    product = x @ w
    wave = jnp.sin(product)
    return (scaled(wave) * wave).sum()


def _added_together(w: Any, x: Any) -> Any:
    product = x @ w
    return (scaled(product) + product).sum()


CASES = {
    "act(x @ w).sum()": Case(lambda w, x: act(x @ w).sum(), _sum_apart),
    "scaled(x @ w).mean()": Case(lambda w, x: scaled(x @ w).mean(), _mean_apart),
    "(act(sin(x)) @ w).sum()": Case(lambda w, x: (act(jnp.sin(x)) @ w).sum(), _product_apart),
    "(scaled(wave) * wave).sum()": Case(_factor_together, _factor_apart),
    "(scaled(product) + product).sum()": Case(_added_together, _added_apart),
}
RULES = {"act", "_act_forward", "scaled", "_scaled_forward"}
LEAST = {"jaxpr": 1.0, "stablehlo": 1.0, "hlo": 0.5}
"""XLA keeps one of several places that begin in the same column, so not everything is decided there."""


@pytest.mark.parametrize("stage", list(LEAST))
@pytest.mark.parametrize("name", list(CASES))
def test_a_rule_is_linked_to_its_function_only_where_other_calls_share_its_line(name: str, stage: str) -> None:
    """It was linked to the product and the sum. What cannot be decided is linked to nothing."""
    w, x = jnp.ones((4, 4)), jnp.ones((2, 4))
    together, apart = (capture_object(jax.value_and_grad(loss), w, x, stage=stage) for loss in CASES[name])
    together = with_backward_links(together)
    assert [[(node.id, node.op) for node in graph] for graph in together] == [[(node.id, node.op) for node in graph] for graph in apart]
    linked, marks = [], directions(together)
    for graph, truth in zip(together, apart, strict=True):
        for node, placed, mark in zip(graph, truth, marks[graph.name], strict=True):
            if node.role != "op" or mark != BACKWARD or not placed.source:
                continue
            targets = [truth[link.node] for link in node.links if link.kind == BACKWARD_OF]
            linked.append(bool(targets))
            for target in targets:
                calls = zip(target.source, target.source[1:], strict=False)
                called = any(caller == placed.source[0] and callee.function in RULES for callee, caller in calls)
                assert called or target.source[0] == placed.source[0], (node.id, placed.source[0], target.id, target.source)
    assert len(linked) > 1 and sum(linked) >= LEAST[stage] * len(linked)
