"""Guesses for names without a row, by pattern. They affect colours and clusters, never what is hidden."""

from __future__ import annotations

import re

from opscope.ops.facts import Quantization

_CATEGORY_PATTERNS = (
    (r"all_?reduce|all_?gather|all_?to_?all|collective|reduce_?scatter|^send|^recv|nccl", "communication"),
    (r"gemm|matmul|(^|_)b?mm($|_)|conv\d?d?($|_)|convolution|attention|(^|_)dot($|_)|linear$|einsum", "matmul"),
    (r"rand|dropout|rng|threefry|philox", "random"),
    (r"^callback|custom|triton|kernel|pallas|cudnn|cublas|mlir", "custom"),
    (r"softmax|norm($|_|ali[sz])|pool|^reduce|^cum|^arg_?m|_loss|^sum|^mean", "reduce"),
    (r"scatter|gather|index|embedding|sort|slice_update|^copy|lookup|topk", "data"),
    (r"reshape|transpose|permute|broadcast|view|slice|concat|squeeze|pad($|_)|expand|flatten|split|stack|layout", "shape"),
    (r"quant|relu|gelu|silu|sigmoid|tanh|bitwise|logical|^elementwise|^fused_elementwise", "elementwise"),
    (r"^custom_[jv][vj]p|^remat|checkpoint|while|^cond|^if$|^for$|^scan", "control"),
)
_QUANTIZATION_PATTERNS: tuple[tuple[str, Quantization], ...] = (
    (r"^quantize_", "quantize"),
    (r"^dequantize_", "dequantize"),
    (r"^choose_qparams", "parameters"),
)

_CATEGORIES = tuple((re.compile(pattern), category) for pattern, category in _CATEGORY_PATTERNS)
_QUANTIZATIONS = tuple((re.compile(pattern), quantization) for pattern, quantization in _QUANTIZATION_PATTERNS)


def category_like(name: str) -> str:
    return next((category for pattern, category in _CATEGORIES if pattern.search(name)), "other")


def quantization_like(name: str) -> Quantization:
    return next((quantization for pattern, quantization in _QUANTIZATIONS if pattern.search(name)), "")
