"""Multiply-adds of one operation of a torch graph, from its shapes: what torch's own counter finds while the operation runs.

That counter knows products (matrix products, convolutions, attention, recurrent layers) and nothing else, so that everything else is
0 here. What is a product but has no rule, or a size that is no number, is None: not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from opscope.analysis.category import CATEGORIES, category_of, plain_name

Sizes = tuple[int | str, ...]
Shape = tuple[int, ...]


def mult_adds(op: str, inputs: Sequence[Sizes], outputs: Sequence[Sizes], attrs: Mapping[str, Any]) -> int | None:
    """How many, or None where that cannot be known."""
    name = plain_name(op)
    if name not in _RULES and CATEGORIES[category_of(op)] != "matmul":
        return 0
    rule = _RULES.get(name)
    if rule is None or not inputs or not outputs or not all(isinstance(size, int) for shape in (*inputs, *outputs) for size in shape):
        return None
    try:
        return rule(inputs, outputs[0], attrs)  # type: ignore[arg-type]
    except (IndexError, KeyError, ValueError):  # an operand is missing, or is not what the operation's name promises
        return None


def kernel_of(op: str, inputs: Sequence[Sizes], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """The window of a convolution or a pooling; empty for everything else."""
    if plain_name(op) in _CONVOLUTIONS and len(inputs) > 1:
        return tuple(size for size in inputs[1][2:] if isinstance(size, int))
    size = attrs.get("kernel_size")
    sizes = size if isinstance(size, list | tuple) else [size]
    return tuple(number for number in sizes if isinstance(number, int))


def _product(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(output) * inputs[0][-1]


def _added_product(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(output) * inputs[1][-1]


def _convolution(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Every place of the result meets the whole window of its group; transposed, every place of the input does."""
    image, weight = inputs[0], inputs[1]
    if attrs.get("transposed") is True:
        return image[0] * prod(image[2:]) * prod(weight)
    return output[0] * prod(output[2:]) * prod(weight)


def _transposed(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    return _convolution(inputs, output, {"transposed": True})


def _attention(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Scores, and their sum over the values."""
    (*batch, rows, width), key, value = inputs[:3]
    return prod(batch) * rows * key[-2] * (width + value[-1])


def _recurrent(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Every step of every sequence meets every matrix once."""
    steps, *rest = inputs
    return prod(steps[:-1]) * sum(prod(shape) for shape in rest if len(shape) == 2)


def _mkldnn_recurrent(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """One layer and direction: its two matrices stand first, states that are matrices too come later."""
    return _recurrent(inputs[:3], output, attrs)


def _bilinear(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Every pair of inputs meets the whole weight, which is the one with three dimensions and stands second where it is spelled out."""
    weight = inputs[1] if "expand1" in attrs else inputs[2]
    return prod(inputs[0][:-1]) * prod(weight)


def _einsum(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """One product for every combination of indices; more than two factors are multiplied in an order that is not in the graph."""
    factors = str(attrs["equation"]).replace(" ", "").partition("->")[0].split(",")
    if len(inputs) != 2:
        raise ValueError("no rule")
    sizes: dict[str, int] = {}
    for letters, shape in zip(factors, inputs, strict=True):
        sizes.update(zip(letters, shape, strict=True))
    return prod(sizes.values())


_CONVOLUTIONS = ("conv", "convolution", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
_RULES: dict[str, Callable[[Sequence[Shape], Shape, Mapping[str, Any]], int]] = {
    **dict.fromkeys(("mm", "bmm", "matmul", "linear", "mv", "dot", "vdot", "inner"), _product),
    **dict.fromkeys(("addmm", "baddbmm", "addmv"), _added_product),
    **dict.fromkeys(_CONVOLUTIONS[:5], _convolution),
    **dict.fromkeys(_CONVOLUTIONS[5:], _transposed),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent),
    "mkldnn_rnn_layer": _mkldnn_recurrent,
    **dict.fromkeys((f"scaled_dot_product_{kind}attention" for kind in ("", "flash_", "efficient_", "cudnn_")), _attention),
    "scaled_dot_product_flash_attention_for_cpu": _attention,
    "scaled_dot_product_fused_attention_overrideable": _attention,
    "einsum": _einsum,
    **dict.fromkeys(("bilinear", "trilinear"), _bilinear),
}
