"""FLOPs of matrix factorizations: as many as an elimination written down operation by operation has, at every stage of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opscope.analysis.cost import CostModel
from opscope.analysis.factorizations import factorization_flops, routine_of
from opscope.analysis.info import info_of
from opscope.program import TensorType
from opscope.readers import capture_object


def eliminated(rows: int, columns: int) -> int:
    """LU: each step divides a column and subtracts an outer product from the rest."""
    steps = range(min(rows, columns))
    return sum((rows - k - 1) + 2 * (rows - k - 1) * (columns - k - 1) for k in steps)


def reflected(rows: int, columns: int) -> int:
    """QR: each step multiplies what is left by a vector, and subtracts an outer product."""
    return sum(4 * (rows - k) * (columns - k) for k in range(min(rows, columns)))


@pytest.mark.parametrize(("routine", "counted"), [("lu", eliminated), ("geqrf", reflected)])
@pytest.mark.parametrize("shape", [(200, 200), (300, 100), (100, 300)])
def test_a_factorization_costs_what_its_steps_cost(routine: str, counted: Callable[[int, int], int], shape: tuple[int, int]) -> None:
    flops = factorization_flops(routine, [TensorType("f32", (4, *shape))], [TensorType("f32", (4, *shape))])
    assert flops == pytest.approx(4 * counted(*shape), rel=0.02)


def test_targets_of_libraries() -> None:
    targets = {"lapack_sgetrf_ffi": "lu", "lapack_zungqr_ffi": "householder_product", "cusolver_syevd_ffi": "eigh", "lapack_sgesdd": "svd"}
    assert {target: routine_of(target) for target in targets} == targets
    assert routine_of("my_getrf") == routine_of("lapack_snothing") == ""


@pytest.mark.frameworks
@pytest.mark.slow
@pytest.mark.parametrize("name", ["lu", "qr", "eigh", "svd", "eigvals", "pure_callback"])
def test_a_routine_costs_the_same_at_every_stage(name: str) -> None:
    """The library's call costs what the operation of the jaxpr does. An estimate is called one; a host call is named and not unknown."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    functions: dict[str, Callable[[Any], Any]] = {
        "lu": lambda x: jax.lax.linalg.lu(x)[0],
        "qr": lambda x: jax.lax.linalg.qr(x, full_matrices=False),
        "eigh": lambda x: jax.lax.linalg.eigh(x, symmetrize_input=False),
        "svd": lambda x: jax.lax.linalg.svd(x, full_matrices=False),
        "eigvals": lambda x: jax.lax.linalg.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False),
        "pure_callback": lambda x: jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), x),
    }
    x = jnp.eye(32)
    programs = [capture_object(functions[name], x, stage=stage) for stage in ("jaxpr", "stablehlo", "hlo", "optimized")]
    models = [CostModel(program) for program in programs]
    assert not any(model.unknown_flops_ops for model in models)
    first = models[0].total.flops
    assert [model.total.flops for model in models] == pytest.approx([first] * 4, abs=5 * 32**2)  # a library's result is checked for NaN
    for program in programs:
        notes = info_of(program).notes
        assert any("estimates" in note for note in notes) == (name in ("eigh", "svd", "eigvals"))
        assert any("1 host call" in note for note in notes) == (name == "pure_callback")
