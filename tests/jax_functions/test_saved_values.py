"""What opscope says is saved for backward is what JAX says, in `jax.ad_checkpoint.print_saved_residuals`."""

from __future__ import annotations

import pytest
from jax._src.ad_checkpoint import saved_residuals
from scanned_steps import LOSSES, X, step, weights

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


def test_nothing_inside_a_fusion_is_saved() -> None:
    program = capture_object(step("unrolled"), weights("unrolled"), X, stage="optimized")
    saved = saved_for_backward(program)
    assert saved and {value.graph for value in saved} == {program.entry}
