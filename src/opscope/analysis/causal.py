"""Causal attention: which part of the products it needs. A query sees its own key and those before it, so half of the scores are unused.

Counters of frameworks count all of them (`mult_adds.py` does, like torch's); FLOPs here are those that a kernel cannot do without.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opscope.ops import plain_name

IS_CAUSAL = "is_causal"
_FORWARD, _BACKWARD = "", "_backward"
_POSITIONS: Mapping[str, int] = {
    "scaled_dot_product_attention": 5,
    "scaled_dot_product_attention_math": 5,
    "scaled_dot_product_flash_attention": 4,
    "scaled_dot_product_flash_attention_backward": 11,
    "scaled_dot_product_flash_attention_for_cpu": 4,
    "scaled_dot_product_flash_attention_for_cpu_backward": 7,
    "scaled_dot_product_efficient_attention": 6,
    "scaled_dot_product_efficient_attention_backward": 11,
    "scaled_dot_product_cudnn_attention": 6,
    "scaled_dot_product_cudnn_attention_backward": 14,
    "scaled_dot_product_fused_attention_overrideable": 5,
    "scaled_dot_product_fused_attention_overrideable_backward": 13,
}
"""Which argument of an operator says that it is causal, where arguments have no names."""


def causal_position(op: str) -> int | None:
    """Which argument of an operator of torch says that it is causal; None if it is not attention."""
    return _POSITIONS.get(plain_name(op) + (_BACKWARD if op.partition(".default")[0].endswith(_BACKWARD) else _FORWARD))


def is_causal(op: str, attrs: Mapping[str, Any]) -> bool:
    position = causal_position(op)
    return position is not None and True in (attrs.get(IS_CAUSAL), attrs.get(f"arg{position}"))


def causal_part(op: str, count: int, shapes: Sequence[Sequence[int | str]], attrs: Mapping[str, Any]) -> int:
    """The multiply-adds of an operator that are needed, of `count` in all."""
    if not is_causal(op, attrs):
        return count
    query, key = shapes[1:3] if op.partition(".default")[0].endswith(_BACKWARD) else shapes[:2]
    rows, keys = query[-2], key[-2]
    if not isinstance(rows, int) or not isinstance(keys, int):
        return count
    return needed(count, rows, keys)


def needed(count: int, rows: int, keys: int, window: int | None = None) -> int:
    """The part of `count` that a causal mask leaves: the first query sees one key, each further query one more, and at most a window of
    them if there is one."""
    most = min(keys, window) if window else keys
    growing = min(rows, most)
    scores = growing * (growing + 1) // 2 + (rows - growing) * most
    return count * scores // (rows * keys) if rows and keys else count
