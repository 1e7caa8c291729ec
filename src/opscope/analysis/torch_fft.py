"""The lengths that Fourier transforms of torch have: which dimensions they transform, and how long these are."""

from __future__ import annotations

from typing import Any

Sizes = tuple[int | str, ...]

_KINDS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TORCH_FFTS = frozenset([*(f"fft_{kind}{rank}" for kind in _KINDS for rank in ("", "2", "n")), "fft_c2c", "fft_r2c", "fft_c2r"])


def fft_lengths(name: str, before: Sizes, after: Sizes, dim: Any) -> list[int] | None:
    """The length of each transformed dimension, or None if a size is not known. Of real values, the spectrum has only one half: a dimension
    is as long as the longer of its two sizes."""
    if len(before) != len(after):
        return None
    if dim is None:
        dim = (-2, -1) if name.endswith("2") else range(len(before)) if name.endswith("n") else -1
    sizes = [(before[each], after[each]) for each in ((dim,) if isinstance(dim, int) else dim)]
    lengths = [[size for size in pair if isinstance(size, int)] for pair in sizes]
    return [max(pair) for pair in lengths] if all(len(pair) == 2 for pair in lengths) else None
