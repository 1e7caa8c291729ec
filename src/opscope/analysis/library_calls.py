"""FLOPs of custom calls: XLA hands products, convolutions and attention to cuBLAS, cuDNN and others, and does not count them itself.

What a call computes follows from its operands and from the configuration that XLA writes for the library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from opscope.analysis.causal import needed
from opscope.analysis.factorizations import factorization_flops, routine_of
from opscope.analysis.window import convolution_taps
from opscope.ops import facts_of, plain_name
from opscope.program import Graph, Node, TensorType, whole_number

ANNOTATIONS = frozenset(
    ["Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint", "AllocateBuffer",
     "MoveToHost", "MoveToDevice", "PinToDevice", "xla.sdy.GlobalToLocalShape", "xla.sdy.LocalToGlobalShape", "xla.sdy.FuncResultSharding"]
)  # fmt: skip
"""Calls that compute nothing: they say where a value is."""
_EPILOGUES = {"BIAS": 1, "RELU": 1, "GELU": 9}
"""Operations per element that a product's epilogue adds; a GELU is the nine that XLA replaces by it."""
_ESCAPED = re.compile(r"\\([0-9A-Fa-f]{2})")
_PREFIXES = ("__cublas$", "__cudnn$", "__onednn$")
_PRODUCTS = ("matmul", "gemm", "conv")
"""In the targets of calls that multiply."""

HOST_CALLS = frozenset(["pure_callback", "io_callback", "debug_callback", "debug_print", "python_callback", "outside_call"])
"""Operations of a jaxpr that call a Python function while the program runs."""
_HOST_TARGET = re.compile(r"python_\w*callback")
_NO_VECTORS = re.compile(r"\b(mode = 78|compute_right = 78)\b")
"""LAPACK's "N", as a number: no vectors."""

Types = Sequence[TensorType]


def library_flops(node: Node, inputs: Types) -> int | None:
    """The operations of a custom call, or None if it is not one that opscope knows, or if a size is not a number."""
    target = call_target(node)
    if target in ANNOTATIONS or is_host_call(node):
        return 0
    routine = routine_of(target)
    if routine:
        return factorization_flops(routine, inputs, node.outputs, with_vectors=_NO_VECTORS.search(_flags(node)) is None)
    rule = next((rule for prefix, rule in _RULES if target.startswith(prefix)), None)
    if rule is None or not node.outputs:
        return None
    try:
        return rule(node, inputs)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):  # the configuration is not what the target's name implies
        return None


def is_host_call(node: Node) -> bool:
    """Whether a node calls back into the process that runs the program: what that computes is outside of the program, and not counted."""
    return plain_name(node.op) in HOST_CALLS or _HOST_TARGET.search(call_target(node)) is not None


def call_target(node: Node) -> str:
    """What a custom call calls. StableHLO has the name in quotes, as `call_target_name`; empty if the node is not a custom call."""
    if not _is_custom_call(node.op):
        return ""
    attrs = node.attrs  # which are decoded
    return str(attrs.get("custom_call_target") or attrs.get("call_target_name") or "").strip('"')


def _is_custom_call(op: str) -> bool:
    return plain_name(op).startswith("custom_call")  # also asynchronous ones


def is_product(node: Node) -> bool:
    """Whether a node is a product of matrices or a convolution, also by a library. Attention is two products and more."""
    if facts_of(node.op).category == "matmul":
        return True
    target = call_target(node)
    return bool(target) and any(word in target for word in _PRODUCTS)


def has_product(graph: Graph) -> bool:
    """Whether one of the nodes of a graph is a product. Few operations are different, and only calls have to be looked at one by one."""
    ops = {*graph.ops}
    if any(facts_of(op).category == "matmul" for op in ops):
        return True
    return any(map(_is_custom_call, ops)) and any(map(is_product, graph))


def workspace(node: Node) -> int | None:
    """Which result of a library call is its scratch memory: the last one, of bytes."""
    outputs = node.outputs
    is_library = len(outputs) > 1 and call_target(node).startswith(_PREFIXES)
    return len(outputs) - 1 if is_library and outputs[-1].dtype in ("s8", "u8", "i8", "ui8") and len(outputs[-1].shape) == 1 else None


def _flags(node: Node) -> str:
    return str(node.attrs.get("mhlo.backend_config") or node.attrs.get("backend_config") or "")


def _config(node: Node) -> Mapping[str, Any]:
    """The configuration of a call, without the envelope that newer versions of XLA put around it."""
    text = str(node.attrs.get("backend_config", "")) or "{}"
    if text.startswith('"') and text.endswith('"'):  # StableHLO writes a quotation mark in a string as \\22
        text = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text[1:-1])
    config = json.loads(json.loads(f'"{text}"') if text.startswith('{\\"') else text)  # older versions quote it
    inner = [value for key, value in config.items() if key.endswith("_backend_config") and isinstance(value, dict)]
    return inner[0] if inner else config


def _matmul(node: Node, inputs: Types) -> int | None:
    """Products, their scale and what is added to them."""
    config = _config(node)
    out = node.outputs[0].elements
    sizes = [inputs[0].shape[int(d)] for d in config["dot_dimension_numbers"]["lhs_contracting_dimensions"]]
    if out is None or not all(isinstance(size, int) for size in sizes):
        return None
    epilogue = str(config.get("epilogue", "DEFAULT"))
    extra = sum(count for part, count in _EPILOGUES.items() if part in epilogue)
    extra += (float(config.get("beta", 0)) != 0) + (float(config.get("alpha_real", 1)) != 1)
    return out * (2 * prod(int(size) for size in sizes) + extra)


def _convolution(node: Node, inputs: Types) -> int | None:
    return convolution_taps(inputs[0], inputs[1], node.outputs[0], node.attrs)


def _fused_convolution(node: Node, inputs: Types) -> int | None:
    """A convolution, plus the bias, plus the activation."""
    products, out = _convolution(node, inputs), node.outputs[0].elements
    is_activated = str(_config(node).get("activation_mode", "kNone")) not in ("kNone", "0")
    return None if products is None or out is None else products + out * (1 + is_activated)


def _convolution_of_gradient(node: Node, inputs: Types) -> int | None:
    """The gradient of an image: labels and window are those of the forward convolution, whose image is the result here."""
    return convolution_taps(node.outputs[0], inputs[1], inputs[0], node.attrs)


def _convolution_for_filter(node: Node, inputs: Types) -> int | None:
    """The gradient of a filter: the result is the filter of the forward convolution."""
    return convolution_taps(inputs[0], node.outputs[0], inputs[1], node.attrs)


def _attention(node: Node, inputs: Types) -> int | None:
    """Query times key, and scores times value."""
    return _attention_products(node, inputs[0].elements, node.outputs[0].elements, 1, 1)


def _attention_backward(node: Node, inputs: Types) -> int | None:
    """The scores again, their gradient, and the gradients of query, key and value."""
    return _attention_products(node, inputs[0].elements, inputs[2].elements, 3, 2)


def _attention_products(node: Node, query: int | None, value: int | None, of_query: int, of_value: int) -> int | None:
    """Each element of the query is multiplied by every key, and each element of the result comes from every value."""
    config = _config(node)
    sizes = [whole_number(size) for size in config["intermediate_tensor_shape"]["dimensions"]]
    rows, keys = sizes[-2:]
    if query is None or value is None or rows is None or keys is None:
        return None
    flops = 2 * keys * (of_query * query + of_value * value)
    is_causal = "CAUSAL" in str(config.get("mask_type", ""))
    return needed(flops, rows, keys, whole_number(config.get("sliding_window_length"))) if is_causal else flops


_RULES: tuple[tuple[str, Callable[[Node, Types], int | None]], ...] = (
    ("__cublas$gemm", _matmul),
    ("__cublas$lt$matmul", _matmul),
    ("__cudnn$convForward", _convolution),
    ("__cudnn$convBiasActivationForward", _fused_convolution),
    ("__cudnn$convBackwardInput", _convolution_of_gradient),
    ("__cudnn$convBackwardFilter", _convolution_for_filter),
    ("__cudnn$fmhaSoftmaxBackward", _attention_backward),
    ("__cudnn$fmhaScaleBiasSoftmaxBackward", _attention_backward),
    ("__cudnn$fmha", _attention),
)
"""By how the target's name begins."""
