"""FLOPs of one operation, by its name: what it computes for each element of its operands or results.

A rule returns None where the program does not determine the number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from math import prod

from opscope.analysis.causal import causal_part
from opscope.analysis.composite_flops import ATTRIBUTES_READ, RESIZED, composite_flops, is_composite
from opscope.analysis.factorizations import ROUTINES, factorization_flops
from opscope.analysis.library_calls import HOST_CALLS, library_flops
from opscope.analysis.moved import is_generated, operand_views, size_of, values
from opscope.analysis.mult_adds import is_product, mult_adds
from opscope.analysis.torch_fft import TORCH_FFTS, fft_lengths
from opscope.analysis.window import convolution_taps, window_size
from opscope.ops import CATEGORIES, category_of, plain_name
from opscope.program import UNKNOWN_TYPE, Graph, Node, TensorType, whole_number

TRANSCENDENTAL = frozenset(
    (
        *("exp", "exponential", "expm1", "exponential_minus_one", "log", "log1p", "log_plus_one", "logistic", "pow", "power", "erf"),
        *("sqrt", "rsqrt", "cbrt", "sin", "sine", "cos", "cosine", "tan", "tanh", "atan2"),
    )
)
"""Elementwise operations that XLA does not count as FLOPs but apart."""
_NO_FLOPS = frozenset(["shape", "data", "communication", "constant", "parameter", "output"])
_ADDED_PRODUCTS = frozenset(["addmm", "bias_addmm", "baddbmm", "addmv", "gemm"])
_PLAIN_REDUCTIONS = re.compile(
    r"(reduce_|unvmap_)?((nan)?(sum|mean|median)|sum_to_size|prod|a?max|a?min|and|or|xor|all|any)|arg_?(max|min)|cum(sum|prod|max|min)"
)
_CONTRACTED = (
    ("lhs_contracting_dims", re.compile(r"([\d, ]*)")),
    ("dimension_numbers", re.compile(r"[\[(]{3}\s*([\d, ]*)")),
    ("dot_dimension_numbers", re.compile(r"(?:.*?lhs_contracting_dimensions\s*=\s*\[|#stablehlo\.dot<)([\d, ]*)", re.S)),
    ("contracting_dims", re.compile(r"\[?([\d, ]*)")),
)

_CONTRACTING = frozenset(key for key, _ in _CONTRACTED)
_ASKS_FOR_VECTORS = frozenset(["compute_uv", "compute_left_eigenvectors", "compute_right_eigenvectors", "compute_schur_vectors"])
_WINDOWED = frozenset(["reduce_window", "select_and_scatter"])

_Rule = Callable[[Graph, Node], int | None]


def _input_types(graph: Graph, node: Node) -> list[TensorType]:
    return [kind for ref in node.inputs for kind in values(graph, ref)]


def _elements(types: list[TensorType]) -> int | None:
    total = 0
    for kind in types:
        count = size_of(kind)[0]
        if count is None:
            return None
        total += count
    return total


@lru_cache(maxsize=4096)
def rule_of(op: str) -> _Rule:
    """How to count the operations of a node that calls no graph; the rule returns None if they are unknown."""
    name = plain_name(op)
    if name in _RULES:
        return _RULES[name]
    if is_product(op):
        return _product
    if is_composite(name):
        return _composite
    category = CATEGORIES[category_of(op)]
    if category in ("elementwise", "random"):
        return _mapped
    if category in _NO_FLOPS:
        return _nothing
    return _first_operand if _PLAIN_REDUCTIONS.fullmatch(name) else _unknown


_NOTHING: frozenset[str] = frozenset()


@lru_cache(maxsize=4096)
def attributes_read(op: str) -> frozenset[str] | None:
    """The attributes that the cost of an operation depends on; None if that can be any of them."""
    name, rule = plain_name(op), rule_of(op)
    if name == "custom_call" or name in _WINDOWED or is_generated(op):
        return None
    if rule is _dot or rule is _composite:
        return _CONTRACTING if rule is _dot else ATTRIBUTES_READ
    return _NOTHING if rule in (_mapped, _nothing, _unknown, _sort) or name in APPLIED else None


def _dot(graph: Graph, node: Node) -> int | None:
    """Two operations for each output element and contracted element; an attribute has the contracted dimensions."""
    inputs = _input_types(graph, node)
    out = _elements(list(node.outputs))
    attrs = node.settings
    for key, pattern in _CONTRACTED:
        match = pattern.match(str(attrs[key]).strip("{}")) if key in attrs else None
        if match and inputs and inputs[0] != UNKNOWN_TYPE and out is not None:
            dims = {number for d in match[1].split(",") if (number := whole_number(d.strip())) is not None}
            shape = inputs[0].shape
            sizes = [shape[d] for d in dims if d < len(shape)]
            return 2 * out * prod(d for d in sizes if isinstance(d, int)) if all(isinstance(d, int) for d in sizes) else None
    if len(inputs) >= 2 and (len(inputs[0].shape) == 1 or len(inputs[1].shape) == 1) and not attrs.keys() & {"dimension_numbers"}:
        return _product(graph, node)
    return None


def _product(graph: Graph, node: Node) -> int | None:
    """Two operations for each multiply-add, and one for each element that is added to the products."""
    inputs, out = _input_types(graph, node), _elements(list(node.outputs[:1]))
    count = _count_mult_adds(node, inputs)
    if count is None or out is None or UNKNOWN_TYPE in inputs:
        return None
    count = causal_part(node.op, count, _operand_shapes(node, inputs), node.attrs)
    return 2 * count + (out if plain_name(node.op) in _ADDED_PRODUCTS and len(inputs) > 2 else 0)


def _convolution(graph: Graph, node: Node) -> int | None:
    """HLO, StableHLO and JAX label the dimensions; elsewhere their order is fixed."""
    if not node.attrs.keys() & {"dim_labels", "dimension_numbers", "dim_numbers"}:
        return _product(graph, node)
    inputs = _input_types(graph, node)
    if len(inputs) < 2 or not node.outputs or UNKNOWN_TYPE in (*inputs[:2], node.outputs[0]):
        return None
    return convolution_taps(inputs[0], inputs[1], node.outputs[0], node.attrs)


def multiply_adds(graph: Graph, node: Node) -> int | None:
    """The multiply-adds of a product, 0 for any other operation, or None if unknown."""
    name = plain_name(node.op)
    if name in _LABELLED and node.attrs.keys() & _LABELS:
        flops = _LABELLED[name](graph, node)
        return None if flops is None else flops // 2
    inputs = _input_types(graph, node)
    if is_product(node.op) and UNKNOWN_TYPE in (*inputs, *node.outputs[:1]):
        return None  # a value of unknown type has no sizes, which is not the same as one element
    return _count_mult_adds(node, inputs)


def _count_mult_adds(node: Node, inputs: list[TensorType]) -> int | None:
    return mult_adds(node.op, _operand_shapes(node, inputs), [kind.shape for kind in node.outputs], node.attrs)


def _operand_shapes(node: Node, inputs: list[TensorType]) -> list[tuple[int | str, ...]]:
    views = operand_views(node)
    return [kind.shape for kind in inputs] if views is None else views


def _sort(graph: Graph, node: Node) -> int | None:
    """The comparisons of a comparison sort; the cost of one comparison is left out."""
    count = _elements(_input_types(graph, node)[:1])
    return None if count is None else count * max(count - 1, 0).bit_length()


def _fft(graph: Graph, node: Node) -> int | None:
    """A complex product, eight operations, for each element and each halving of each transformed dimension."""
    count, halvings = _elements(_input_types(graph, node)[:1]), _halvings(node)
    return None if count is None or halvings is None else 8 * count * sum(halvings)


def _torch_fft(graph: Graph, node: Node) -> int | None:
    inputs = _input_types(graph, node)[:1]
    count = _elements(inputs)
    if count is None or not node.outputs:
        return None
    lengths = fft_lengths(plain_name(node.op), inputs[0].shape, node.outputs[0].shape, node.attrs.get("dim"))
    return None if lengths is None else 8 * count * sum(max(length, 1).bit_length() - 1 for length in lengths)


def _fft_as_xla(graph: Graph, node: Node) -> int | None:
    """XLA multiplies the halvings of the dimensions where it should add them."""
    count, halvings = _elements(_input_types(graph, node)[:1]), _halvings(node)
    return None if count is None or halvings is None else 8 * count * prod(halvings)


def _halvings(node: Node) -> list[int] | None:
    """How often each transformed dimension is halved; `fft_length` is `{16}`, `(16,)` or `array<i64: 16>`."""
    text = str(node.attrs.get("fft_length") or node.attrs.get("fft_lengths") or "")
    lengths = re.findall(r"(?<!\w)\d+", text)
    return [max(int(length), 1).bit_length() - 1 for length in lengths] or None


def _factorization(graph: Graph, node: Node) -> int | None:
    flags = [value for key, value in node.attrs.items() if key in _ASKS_FOR_VECTORS]
    inputs, with_vectors = _input_types(graph, node), not flags or any(str(value) == "True" for value in flags)
    return factorization_flops(plain_name(node.op), inputs, node.outputs, with_vectors)


def _composite(graph: Graph, node: Node) -> int | None:
    """The operations that a norm, a softmax or a pool is made of. The functions of an autograd graph do not have all of their operands."""
    if graph.attrs.get("kind") == "autograd":
        return None
    operands = [_elements([kind]) for kind in _input_types(graph, node)]
    sizes = [count for count in operands if count is not None]
    out = _elements(list(node.outputs[:1]))
    if out is None or len(sizes) < len(operands):
        return None
    name = plain_name(node.op)
    resized = sizes[0] if name in RESIZED and "backward" in node.op and sizes else out
    return composite_flops(name, sizes, resized, node.attrs)


def _nothing(graph: Graph, node: Node) -> int | None:
    return 0


def _unknown(graph: Graph, node: Node) -> int | None:
    return None


def _first_operand(graph: Graph, node: Node) -> int | None:
    """One operation for each element that is reduced, which may be those of a view."""
    inputs = _input_types(graph, node)[:1]
    views = operand_views(node)
    if views is None:
        return _elements(inputs)
    return _elements([TensorType(kind.dtype, shape) for kind, shape in zip(inputs, views, strict=False)]) if views else None


def _custom_call(graph: Graph, node: Node) -> int | None:
    return library_flops(node, _input_types(graph, node))


_LABELLED: dict[str, _Rule] = {"dot": _dot, "dot_general": _dot, "convolution": _convolution, "conv_general_dilated": _convolution}
"""Products whose attributes say which dimensions are what, as in HLO, StableHLO and JAX."""
_LABELS = frozenset(["dim_labels", "dim_numbers", *(key for key, _ in _CONTRACTED)])


def _windowed(graph: Graph, node: Node) -> int | None:
    out, window = _elements(list(node.outputs[:1])), window_size(node.attrs)
    return out * (window - 1) if out is not None and window is not None else None


def _pooled_back(graph: Graph, node: Node) -> int | None:
    """The gradient of a maximum over windows, in a jaxpr: each of its elements is added once, after a choice within its window."""
    gradient, window = _elements(_input_types(graph, node)[:1]), window_size(node.attrs)
    return gradient * window if gradient is not None and window is not None else None


def _distances(graph: Graph, node: Node) -> int | None:
    """Each pair of points: a difference, a power and a sum for each coordinate."""
    out, points = _elements(list(node.outputs[:1])), _input_types(graph, node)[:1]
    width = points[0].shape[-1] if points and points[0].shape else None
    return 3 * out * width if out is not None and isinstance(width, int) else None


_RULES: dict[str, _Rule] = {
    **_LABELLED,
    **dict.fromkeys(("cdist", "cdist_forward"), _distances),
    **dict.fromkeys(("col2im", "trace"), _first_operand),
    "functorch": _nothing,  # marks of batch dimensions, in graphs of torch before dispatch
    **dict.fromkeys(("sort", "unique2", "unique_dim", "unique_consecutive"), _sort),
    **dict.fromkeys(("copy", "identity", "alias", "clone", "clone_dim_order", "stop_gradient", "device_put", *HOST_CALLS), _nothing),
    "custom_call": _custom_call,
    "diff": lambda graph, node: _mapped(graph, node),
    **dict.fromkeys(("assert_tensor_metadata", "assert_scalar", "item", "sym_size"), _nothing),
    "fft": _fft,
    **dict.fromkeys(TORCH_FFTS, _torch_fft),
    **dict.fromkeys(ROUTINES, _factorization),
    **dict.fromkeys(("reduce_window_max", "reduce_window_min", "reduce_window_sum"), _windowed),
    "select_and_scatter_add": _pooled_back,
}


def applied_flops(graph: Graph, node: Node, name: str, bodies: list[int]) -> int | None:
    """The operations of the functions that a node applies to elements; `bodies` has those of one application of each."""
    counts = APPLIED[name](graph, node)
    if counts is None:
        return None
    if isinstance(counts, int):
        return sum(bodies) * counts
    return sum(flops * count for flops, count in zip(bodies, counts, strict=False))


def _reduced(graph: Graph, node: Node) -> int | None:
    """For each result, a reduction of n elements applies its function n - 1 times."""
    inputs, out = _elements(_input_types(graph, node)[:1]), _elements(list(node.outputs[:1]))
    return inputs - out if inputs is not None and out is not None else None


def _mapped(graph: Graph, node: Node) -> int | None:
    """One operation for each element of the result."""
    return _elements(list(node.outputs[:1]))


def _scattered(graph: Graph, node: Node) -> int | None:
    return _elements(_input_types(graph, node)[-1:])


def _selected_and_scattered(graph: Graph, node: Node) -> tuple[int, int] | None:
    """Each scattered element is added once, after a choice among the elements of its window."""
    scattered, window = _elements(_input_types(graph, node)[1:2]), window_size(node.attrs)
    return (scattered * (window - 1), scattered) if scattered is not None and window is not None else None


APPLIED: dict[str, Callable[[Graph, Node], int | tuple[int, int] | None]] = {
    "reduce": _reduced,
    "all_reduce": _mapped,
    "all_reduce_start": _mapped,
    "reduce_scatter": _mapped,
    "reduce_window": _windowed,
    "select_and_scatter": _selected_and_scattered,
    "map": _mapped,
    "scatter": _scattered,
}
"""How many times an operation applies the function that it calls (`to_apply`), or each of its two functions."""


def _minus_one(graph: Graph, node: Node) -> int | None:
    return -1


AS_XLA: dict[str, _Rule] = {
    "custom_call": _minus_one,
    "bitcast_convert": _mapped,
    "fft": _fft_as_xla,
    **dict.fromkeys(("batch_norm_training", "batch_norm_inference", "batch_norm_grad"), _nothing),
}
"""Where XLA's analysis has another number. It adds -1 for a custom call, which stands for "unknown"."""
