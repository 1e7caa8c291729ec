"""Windows of convolutions and pooling: how many products a convolution really computes, without padding."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from opscope.program import TensorType, whole_number

_MOST_STEPS = 200_000
"""Up to this many positions are counted one by one; beyond it, padding is counted as if it were data."""


def window_size(attrs: Mapping[str, Any]) -> int | None:
    """Elements of a window: 9 for `{size=3x3 pad=1_1x1_1}`, `[1, 3, 3, 1]` of a jaxpr and `array<i64: 1, 3, 3, 1>` of StableHLO."""
    dimensions = attrs.get("window_dimensions")
    sizes = [whole_number(size) for size in (_window(attrs).get("size", ()) if dimensions is None else _numbers(dimensions))]
    known = [size for size in sizes if size is not None]
    return prod(known) if known and len(known) == len(sizes) else None


def convolution_taps(lhs: TensorType, kernel: TensorType, out: TensorType, attrs: Mapping[str, Any]) -> int | None:
    """Two operations per product, for a convolution with labelled dimensions: HLO, StableHLO or JAX."""
    if not all(isinstance(d, int) for t in (lhs, kernel, out) for d in t.shape):
        return None
    elements = out.elements or 0
    labels = _labels(attrs)
    lhs_at, kernel_at, out_at = ({label: i for i, label in enumerate(text)} for text in labels)
    space = [label for label in kernel_at if label.isdigit()]
    if not {"i", "o"} <= kernel_at.keys() or not len(kernel.shape) == len(lhs.shape) == len(out.shape) == len(kernel_at):
        return None
    if not lhs_at.keys() >= set(space) <= out_at.keys():
        return None
    window = _movement(attrs, len(space))
    taps = 1
    for n, label in enumerate(sorted(space)):
        size, kernel_size, out_size = lhs.shape[lhs_at[label]], kernel.shape[kernel_at[label]], out.shape[out_at[label]]
        taps *= _valid_taps(int(size), int(kernel_size), int(out_size), _steps(window, n))
    without_space = elements // max(1, prod(int(out.shape[out_at[label]]) for label in space))
    return 2 * without_space * taps * int(kernel.shape[kernel_at["i"]])


class _Steps(NamedTuple):
    """How a window moves along one dimension."""

    stride: int
    low: int
    spread: int
    dilation: int


def _valid_taps(size: int, kernel: int, out: int, steps: _Steps) -> int:
    """Pairs of (output position, kernel position) that fall on data, along one dimension."""
    if kernel * out > _MOST_STEPS:
        return kernel * out
    last = (size - 1) * steps.spread
    count = 0
    for k in range(kernel):
        start = k * steps.dilation - steps.low
        places = range(start, start + out * steps.stride, steps.stride) if steps.stride else ()
        count += sum(1 for at in places if 0 <= at <= last and at % steps.spread == 0)
    return count


def _labels(attrs: Mapping[str, Any]) -> tuple[str, str, str]:
    """Dimension labels of image, kernel and result: `b01f_01io->b01f`, `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`, or JAX's specs."""
    text = str(attrs.get("dim_labels") or attrs.get("dimension_numbers") or attrs.get("dim_numbers"))
    match = re.fullmatch(r"([^\W_]+)_([^\W_]+)->([^\W_]+)", text) or re.search(r"\[([\w, ]+)\]x\[([\w, ]+)\]->\[([\w, ]+)\]", text)
    if match:
        return tuple(re.sub("[, ]", "", part) for part in match.groups())  # type: ignore[return-value]
    places = [_numbers(spec) for spec in re.findall(r"_spec=\(([\d, ]+)\)", text)]
    if len(places) != 3:
        return "", "", ""
    labelled = (zip(at, first + "0123456789", strict=False) for at, first in zip(places, ("bf", "oi", "bf"), strict=True))
    return tuple("".join(label for _, label in sorted(spec_labels)) for spec_labels in labelled)  # type: ignore[return-value]


def _numbers(value: Any) -> list[str]:
    """The numbers of `[2, 2]`, `((1, 1), (0, 2))`, `array<i64: 2, 2>` or `dense<2> : tensor<2x2xi64>`."""
    return re.findall(r"(?<!\w)-?\d+", str(value).partition(" : tensor")[0])


def _movement(attrs: Mapping[str, Any], dimensions: int) -> dict[str, list[str]]:
    """How a window moves, in HLO's terms; StableHLO and JAX have one attribute for each."""
    if "dim_labels" in attrs:
        return _window(attrs)
    names = {"stride": "window_strides", "pad": "padding", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}
    window = {name: _numbers(attrs[attr]) for name, attr in names.items() if attr in attrs}
    if "dense<" in str(attrs.get("padding")) and len(window["pad"]) == 1:
        window["pad"] *= 2 * dimensions  # one number for all
    return {**window, "pad": window.get("pad", [])[::2]}


def _steps(window: dict[str, list[str]], n: int) -> _Steps:
    def part(key: str, default: int) -> int:
        values = window.get(key, [])
        number = values[n].partition("_")[0] if n < len(values) else ""
        whole = whole_number(number)
        return default if whole is None else whole

    return _Steps(part("stride", 1), part("pad", 0), part("lhs_dilate", 1) or 1, part("rhs_dilate", 1))


def _window(attrs: Mapping[str, Any]) -> dict[str, list[str]]:
    """`{size=3x3 pad=1_1x1_1}` as {"size": ["3", "3"], "pad": ["1_1", "1_1"]}."""
    return {key: value.split("x") for key, value in re.findall(r"(?<!\w)(\w+)=([-\dx_]+)", str(attrs.get("window", "")))}
