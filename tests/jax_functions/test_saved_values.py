"""What opscope says is saved for backward is what JAX says, in `jax.ad_checkpoint.print_saved_residuals`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax._src.ad_checkpoint import saved_residuals
from scanned_steps import LAYERS, LOSSES, X, step, weights

import opscope
from opscope.readers import capture_object
from opscope.render.saved import saved_for_backward

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]


@pytest.mark.parametrize("name", list(LOSSES))
def test_saved_values_are_the_residuals_of_jax(name: str) -> None:
    """Arguments and literals are not saved: they are there anyway."""
    residuals = [kind for kind, source in saved_residuals(lambda w: LOSSES[name](w, X), weights(name)) if not source.startswith("from ")]
    expected = (len(residuals), sum(kind.size * kind.dtype.itemsize for kind in residuals))
    for stage in ("jaxpr", "stablehlo", "hlo"):
        saved = saved_for_backward(capture_object(step(name), weights(name), X, stage=stage))
        assert (len(saved), sum(value.bytes or 0 for value in saved)) == expected, stage


def test_computed_constants_are_saved_and_broadcasts_of_literals_are_not() -> None:
    """XLA computes the root of a literal while lowering, so this is asked of the jaxpr."""

    def loss(x: Any) -> Any:
        scores = jnp.where(jnp.tril(jnp.ones(x.shape, bool)), x / jnp.sqrt(16.0), -1e9)
        return (2.0 * jax.nn.softmax(scores) ** 2).sum()

    x = jnp.ones((4, 4))
    residuals = [kind for kind, source in saved_residuals(loss, x) if not source.startswith("from ")]
    saved = saved_for_backward(capture_object(jax.grad(loss), x, stage="jaxpr"))
    assert sorted(value.bytes or 0 for value in saved) == sorted(kind.size * kind.dtype.itemsize for kind in residuals)
    assert 4 in [value.bytes for value in saved]


@pytest.mark.parametrize("stage", ["jaxpr", "stablehlo", "hlo", "optimized"])
@pytest.mark.parametrize("name", ["scan", "unrolled", "custom_vjp"])
def test_the_arrows_sum_to_what_info_says(name: str, stage: str, tmp_path: Path) -> None:
    """Also where the body of a scan is open, where a saved value is a reshaped weight, which would be text, and where edges are crowded."""
    program = capture_object(step(name), weights(name), X, stage=stage)
    opscope.save(program, tmp_path / "step.svg", forward_backward=True)
    text = (tmp_path / "step.svg").read_text("utf-8")
    if name == "scan" and stage == "jaxpr":
        assert text.count(f"scan ×{LAYERS}") >= 2
    arrows = re.findall(r">(?:(\d+) )?saved · ([\d.]+) (k?)B<", text)
    saved = saved_for_backward(program)
    assert sum(int(count or 1) for count, _, _ in arrows) == len(saved) > 0
    sizes = [float(size) * (1000 if kilo else 1) for _, size, kilo in arrows]
    assert sum(sizes) == pytest.approx(sum(value.bytes or 0 for value in saved), rel=0.01)
    assert f"saved tensors ({len(saved)}, " in text


def test_nothing_inside_a_fusion_is_saved() -> None:
    program = capture_object(step("unrolled"), weights("unrolled"), X, stage="optimized")
    saved = saved_for_backward(program)
    assert saved and {value.graph for value in saved} == {program.entry}
