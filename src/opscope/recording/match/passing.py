"""Operations that compute nothing new: they take one of several values, a part of one, or give it another order, shape or type."""

from __future__ import annotations

from functools import lru_cache

from opscope.ops import plain_name

_ELEMENTS = frozenset(("get_tuple_element", "getitem"))
_REARRANGED = frozenset(("bitcast", "reshape", "transpose", "copy", "view", "permute", "permute_dims"))
VIEWS = _REARRANGED | {"convert", "broadcast", "expand", "squeeze", "unsqueeze"}
_PARTS = _ELEMENTS | _REARRANGED | {"tuple", "slice", "strided_slice", "convert"}


@lru_cache(maxsize=4096)
def is_element(op: str) -> bool:
    """Whether it takes one of several values."""
    return plain_name(op) in _ELEMENTS


@lru_cache(maxsize=4096)
def is_rearranged(op: str) -> bool:
    """Whether it gives the same elements in another order or shape."""
    return plain_name(op) in _REARRANGED


@lru_cache(maxsize=4096)
def is_view(op: str) -> bool:
    """Whether it only rearranges a value, repeats it or gives it another type."""
    return plain_name(op) in VIEWS


@lru_cache(maxsize=4096)
def is_part(op: str) -> bool:
    """Whether it only passes on a value, or a part of it."""
    return plain_name(op) in _PARTS


@lru_cache(maxsize=4096)
def may_change_nothing(op: str) -> bool:
    """Whether it gives some values as they are: those with one order, or of one element."""
    return plain_name(op) in _REARRANGED or plain_name(op) == "reduce"
