"""What comes out of a JAX function has the names that the function gave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

import opscope

jnp = pytest.importorskip("jax.numpy")
pytestmark = pytest.mark.frameworks

STAGES = ("jaxpr", "stablehlo", "hlo", "optimized")


class State(NamedTuple):
    params: dict[str, Any]
    count: Any


def _step(x: Any) -> Any:
    return State({"w": x * 2}, x.sum()), {"loss": x + 1}


@pytest.mark.parametrize("stage", STAGES)
def test_keys_and_fields_name_results_at_every_stage(stage: str, tmp_path: Path) -> None:
    program = opscope.capture(_step, jnp.ones(3), stage=stage)
    assert program.attrs["results"] == ["[0].params.w", "[0].count", "[1].loss"]
    opscope.save(program, str(tmp_path / "step.svg"))
    assert "[0].params, [0].count, [1].loss" in (tmp_path / "step.svg").read_text()


@pytest.mark.parametrize("stage", STAGES)
def test_results_without_keys_have_no_names(stage: str) -> None:
    assert "results" not in opscope.capture(lambda x: (x + 1, [x * 2]), jnp.ones(3), stage=stage).attrs
