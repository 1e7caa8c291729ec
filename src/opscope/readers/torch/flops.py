"""Floating-point operations of a run: torch's counter, with formulas for kernels that it does not cover."""

from __future__ import annotations

from math import prod
from typing import Any


def flop_counter() -> Any:
    """A mode that counts while it is active. `get_total_flops()` returns the count so far."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    aten = torch.ops.aten
    formulas = {
        "_scaled_dot_product_flash_attention_for_cpu": _attention_flop,
        "_scaled_dot_product_fused_attention_overrideable": _attention_flop,
        "mkldnn_rnn_layer": _mkldnn_rnn_flop,
        "_cudnn_rnn": _cudnn_rnn_flop,
        "_trilinear": _bilinear_flop,
        "_grouped_mm": _grouped_flop,
    }
    custom_mapping = {getattr(aten, name): formula for name, formula in formulas.items() if hasattr(aten, name)}
    if hasattr(torch.ops.transformers, "grouped_mm_fallback"):
        custom_mapping[torch.ops.transformers.grouped_mm_fallback] = _grouped_flop
    return FlopCounterMode(display=False, custom_mapping=custom_mapping)


def _attention_flop(query: Any, key: Any, value: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Query times key, and scores times value."""
    *batch, rows, width = query
    return int(2 * prod(batch) * rows * key[-2] * (width + value[-1]))


def _mkldnn_rnn_flop(inputs: Any, from_input: Any, from_hidden: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """One layer and direction: every step of every sequence is multiplied by both weights once."""
    return int(2 * prod(inputs[:-1]) * (prod(from_input) + prod(from_hidden)))


def _bilinear_flop(left: Any, weight: Any, right: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """nn.Bilinear: every pair of inputs is multiplied by the whole weight."""
    return int(2 * prod(left[:-1]) * prod(weight))


def _grouped_flop(rows: Any, matrices: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Each row is multiplied by the matrix of its expert."""
    return int(2 * prod(rows) * out_shape[-1]) if len(rows) == 2 else int(2 * prod(out_shape) * rows[-1])


def _cudnn_rnn_flop(inputs: Any, weights: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return int(2 * prod(inputs[:-1]) * sum(prod(weight) for weight in weights if len(weight) == 2))
