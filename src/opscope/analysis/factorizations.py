"""FLOPs of matrix factorizations, from the shapes of their operands and results: Golub and Van Loan, "Matrix Computations".

A routine that ends when it has converged does not have a count: its usual one is an estimate, and `estimated` says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from opscope.program import TensorType

_TARGET = re.compile(r"(?:lapack_[sdcz]|cu_?solver_|hipsolver_|magma_[sdcz]?|cublas_)([a-z]+2?p?)(?:_ffi|_batched|_core)*")
_ROUTINES = {
    "getrf": "lu", "geqrf": "geqrf", "orgqr": "householder_product", "ungqr": "householder_product", "potrf": "cholesky",
    "syev": "eigh", "syevd": "eigh", "heevd": "eigh", "gesvd": "svd", "gesdd": "svd", "gesvdj": "svd", "gesvdp": "svd", "syevj": "eigh",
    "geev": "eig", "gees": "schur",
    "gehrd": "hessenberg", "sytrd": "tridiagonal", "hetrd": "tridiagonal", "trsm": "triangular_solve", "gtsv": "tridiagonal_solve",
    "gtsv2": "tridiagonal_solve",
}  # fmt: skip
"""What a routine of LAPACK, or of a library with its names, is called in a jaxpr."""
_ITERATIVE = frozenset(["eigh", "svd", "eig", "schur"])
ROUTINES = frozenset([*_ROUTINES.values(), "qr"])

Types = Sequence[TensorType]


def routine_of(target: str) -> str:
    """Which factorization a custom call computes; empty if it is not one."""
    match = _TARGET.fullmatch(target)
    return _ROUTINES.get(match[1], "") if match else ""


def estimated(routine: str) -> bool:
    """Whether the count of a routine is an estimate: how often it iterates depends on the values."""
    return routine in _ITERATIVE


def factorization_flops(routine: str, inputs: Types, outputs: Types, with_vectors: bool = True) -> int | None:
    """The operations of one factorization for each matrix of a batch; None if a size is not a number. `with_vectors`: a decomposition
    computes the vectors too, not only the values."""
    shapes = [kind.shape for kind in inputs]
    if not shapes or not outputs or not all(isinstance(size, int) for shape in (*shapes, outputs[0].shape) for size in shape):
        return None
    sizes = [[int(size) for size in shape] for shape in shapes]
    if routine == "triangular_solve":  # as XLA estimates it: a product for each element of the right-hand side and row of the matrix
        return 2 * prod(sizes[1]) * sizes[0][-1] if len(sizes) > 1 and sizes[0] else None
    if routine == "tridiagonal_solve":
        return 8 * prod(sizes[-1])
    if len(sizes[0]) < 2:
        return None
    if routine == "cholesky":  # as XLA estimates it
        return prod(sizes[0]) * sizes[0][-1] // 3
    *batch, rows, columns = sizes[0]
    long, short = max(rows, columns), min(rows, columns)
    return prod(batch) * _of_one(routine, rows, columns, long, short, outputs, with_vectors)


def _of_one(routine: str, rows: int, columns: int, long: int, short: int, outputs: Types, with_vectors: bool) -> int:
    cube = short**3
    if routine == "lu":
        return _lu(rows, columns, short)
    if routine == "geqrf":
        return _reflected(rows, columns, short)
    if routine == "qr":
        return _reflected(rows, columns, short) + _formed(rows, _width(outputs), short)
    if routine == "householder_product":
        return _formed(rows, columns, short)
    if routine == "eigh":
        return 9 * cube if with_vectors else 4 * cube // 3
    if routine == "svd":
        return _svd(long, short, outputs, with_vectors)
    if routine in ("eig", "schur"):
        return 25 * cube if with_vectors else 10 * cube
    return 10 * cube // 3 if routine == "hessenberg" else 4 * cube // 3  # or tridiagonal


def _lu(rows: int, columns: int, steps: int) -> int:
    """2/3 n³ of a square matrix."""
    return 2 * rows * columns * steps - (rows + columns) * steps**2 + 2 * steps**3 // 3


def _reflected(rows: int, columns: int, steps: int) -> int:
    """Householder's reflections: 2 m n² - 2/3 n³ of a tall matrix."""
    return 2 * _lu(rows, columns, steps) if columns > rows else 2 * rows * columns**2 - 2 * columns**3 // 3


def _formed(rows: int, width: int, reflections: int) -> int:
    """The orthogonal matrix of so many reflections, as LAPACK counts it: 4/3 n³ of a square one."""
    return 4 * rows * width * reflections - 2 * (rows + width) * reflections**2 + 4 * reflections**3 // 3


def _svd(long: int, short: int, outputs: Types, with_vectors: bool) -> int:
    """By bidiagonalization: of the values alone, with thin matrices of vectors, or with square ones."""
    if not with_vectors or len(outputs) == 1:
        return 4 * long * short**2 - 4 * short**3 // 3
    is_full = long > short and sum(kind.shape[-2:] == (long, long) for kind in outputs) > 0
    return 4 * long**2 * short + 8 * long * short**2 + 9 * short**3 if is_full else 14 * long * short**2 + 8 * short**3


def _width(outputs: Types) -> int:
    size = outputs[0].shape[-1]
    return size if isinstance(size, int) else 0
