"""Multiply-adds of one operation of a torch or ONNX graph, from its shapes: the same number that torch's counter reports for a run.

That counter covers only products (matrix products, convolutions, attention, recurrent layers), so everything else is 0 here. A product
without a rule, or with a size that is not a number, is None: unknown. One case differs: the gradient of a grouped convolution's weight
is counted per group, as it is computed; torch's counter treats it as one group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from opscope.ops import CATEGORIES, category_of, plain_name

Sizes = tuple[int | str, ...]
Shape = tuple[int, ...]


def mult_adds(op: str, inputs: Sequence[Sizes], outputs: Sequence[Sizes], attrs: Mapping[str, Any]) -> int | None:
    """The number of multiply-adds, or None if unknown."""
    if not is_product(op):
        return 0
    rule = (_BACKWARD if _goes_back(op) else _RULES).get(plain_name(op))
    if rule is None or not inputs or not outputs or not all(isinstance(size, int) for shape in (*inputs, *outputs) for size in shape):
        return None
    try:
        return rule(inputs, outputs[0], attrs)  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError):  # an operand is missing, or is not what the operation's name implies
        return None


def is_product(op: str) -> bool:
    """Whether an operation's cost is its multiply-adds."""
    return plain_name(op) in _RULES or CATEGORIES[category_of(op)] == "matmul"


def _goes_back(op: str) -> bool:
    """Whether an operation is a gradient. It has the plain name of its forward operation, but other operands."""
    return "backward" in op.lower()


def kernel_of(op: str, inputs: Sequence[Sizes], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """The window of a convolution or pooling; empty for other operations."""
    if plain_name(op) in _CONVOLUTIONS and len(inputs) > 1 and not _goes_back(op):
        return tuple(size for size in inputs[1][2:] if isinstance(size, int))
    size = attrs.get("kernel_size")
    sizes = size if isinstance(size, list | tuple) else [size]
    return tuple(number for number in sizes if isinstance(number, int))


def _product(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(output) * inputs[0][-1]


def _added_product(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(output) * inputs[1][-1]


def _gemm(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    return prod(output) * inputs[0][0 if attrs.get("transA") else -1]


def _convolution(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Every element of the result (of the input, if transposed) is multiplied by the whole window of its group."""
    image, weight = inputs[0], inputs[1]
    return prod(image if attrs.get("transposed") is True else output) * prod(weight[1:])


def _convolution_backward(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """The gradients of image and weight, if requested, have the same products as the convolution."""
    gradient, image, weight = inputs[:3]
    return sum(map(bool, attrs["output_mask"][:2])) * _convolution((image, weight), gradient, attrs)


def _transposed(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    return _convolution(inputs, output, {"transposed": True})


def _attention(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Query times key, and scores times value."""
    (*batch, rows, width), key, value = inputs[:3]
    return prod(batch) * rows * key[-2] * (width + value[-1])


def _attention_backward(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """The scores again, their gradient, and the gradients of query, key and value."""
    (*batch, rows, width), key, value = inputs[1:4]
    return prod(batch) * rows * key[-2] * (3 * width + 2 * value[-1])


def _recurrent(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Every step of every sequence is multiplied by every matrix once."""
    steps, *rest = inputs
    return prod(steps[:-1]) * sum(prod(shape) for shape in rest if len(shape) == 2)


def _mkldnn_recurrent(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """One layer and direction: its two matrices come first; the states, which are matrices too, come later."""
    return _recurrent(inputs[:3], output, attrs)


def _mkldnn_recurrent_backward(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """The gradients of the values and of the weights each have as many products. Its first operands are those of the layer."""
    return 2 * _mkldnn_recurrent(inputs, output, attrs)


def _bilinear(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Every pair of inputs is multiplied by the whole weight, which is the second operand in `_trilinear` and the third otherwise."""
    weight = inputs[1] if "expand1" in attrs else inputs[2]
    return prod(inputs[0][:-1]) * prod(weight)


def _einsum(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """One product for every combination of indices, and none if one tensor is only transposed. The order of more than two factors is not
    in the graph."""
    summed, _, kept = str(attrs["equation"]).replace(" ", "").partition("->")
    factors = summed.split(",")
    if len(inputs) == 1 and sorted(summed) == sorted(kept):
        return 0
    if len(inputs) != 2:
        raise ValueError("no rule")
    sizes: dict[str, int] = {}
    for letters, shape in zip(factors, inputs, strict=True):
        sizes.update(zip(letters, shape, strict=True))
    return prod(sizes.values())


def _grouped(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """Each row is multiplied by the matrix of its group (its expert), or, for the gradient of the matrices, by the row of a gradient."""
    rows = inputs[0]
    return prod(rows) * output[-1] if len(rows) == 2 else prod(output) * rows[-1]


def _grouped_backward(inputs: Sequence[Shape], output: Shape, attrs: Mapping[str, Any]) -> int:
    """For each gradient that is wanted, as many products as in the forward operation: rows of the gradient times rows of the operand."""
    return prod(inputs[0]) * inputs[1][-1] * len(attrs["of"])


_CONVOLUTIONS = (
    *("conv", "convolution", "conv1d", "conv2d", "conv3d"),
    *("conv_transpose", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
)
_ATTENTIONS = (
    *(f"scaled_dot_product_{kind}attention" for kind in ("", "flash_", "efficient_", "cudnn_")),
    *("scaled_dot_product_flash_attention_for_cpu", "scaled_dot_product_fused_attention_overrideable"),
)
_RULES: dict[str, Callable[[Sequence[Shape], Shape, Mapping[str, Any]], int]] = {
    **dict.fromkeys(("mm", "bmm", "matmul", "mat_mul", "linear", "dense", "mv", "dot", "vdot", "inner"), _product),
    **dict.fromkeys(("addmm", "bias_addmm", "baddbmm", "addmv"), _added_product),
    "gemm": _gemm,
    **dict.fromkeys(_CONVOLUTIONS[:5], _convolution),
    **dict.fromkeys(_CONVOLUTIONS[5:], _transposed),
    **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu"), _recurrent),
    "mkldnn_rnn_layer": _mkldnn_recurrent,
    **dict.fromkeys(_ATTENTIONS, _attention),
    "einsum": _einsum,
    **dict.fromkeys(("grouped_mm", "grouped_mm_fallback", "ragged_dot", "ragged_dot_general"), _grouped),
    **dict.fromkeys(("bilinear", "trilinear"), _bilinear),
}
_BACKWARD: dict[str, Callable[[Sequence[Shape], Shape, Mapping[str, Any]], int]] = {
    "convolution": _convolution_backward,
    **dict.fromkeys(_ATTENTIONS, _attention_backward),
    "grouped_mm_fallback": _grouped_backward,
    "mkldnn_rnn_layer": _mkldnn_recurrent_backward,
}
