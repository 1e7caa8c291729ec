"""JAX's names of operations: which groups they name, and which transformations they passed through.

`jit(step)/transpose(jvp(layer_0))/attention/dot_general` is the backward half of `dot_general` in step › layer_0 › attention. The
wrappers say how the operation came to be, so they become attributes; what is left are the groups; the last part is the primitive.
HLO, StableHLO and jaxprs all carry these names, in metadata, locations and name stacks.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from opscope.program import Path

_CALLS = ("jit", "pjit", "xla_call", "named_call", "core_call")
"""Wrappers around a function's name: the name is a group, the wrapper is not."""

_PLUMBING = re.compile(
    r"while|body|cond|scan|closed_call|core_call|checkpoint|remat2?|rematted_computation|custom_(jvp|vjp)_call(_jaxpr)?"
    r"|branch_\d+_fun|body_fun|cond_fun|shard_map|pjit"
)
"""Parts that JAX writes for its own machinery. They are no groups: what they call is a graph of its own."""

_TRANSFORM = re.compile(r"([A-Za-z_]\w*)\((.*)\)", re.DOTALL)


class SplitName(NamedTuple):
    scope: Path
    attrs: dict[str, str]
    """`direction` (forward or backward, where differentiation says so) and `transforms`, from the outermost inwards."""
    absolute: bool
    """Does it start at a jitted function? Names inside called computations are relative to the caller."""


@lru_cache(maxsize=1 << 16)
def split_op_name(op_name: str) -> SplitName:
    """Groups and transformations of an operation's name; merged names (`a;b`) count as the first."""
    parts = _split_path(op_name.partition(";")[0])
    scope: list[str] = []
    transforms: list[str] = []
    absolute = False
    for i, part in enumerate(parts[:-1]):
        name, wrappers = _unwrap(part)
        absolute = absolute or (i == 0 and any(w in _CALLS for w in wrappers))
        transforms += [w for w in wrappers if w not in _CALLS]
        if _PLUMBING.fullmatch(name):
            if name.startswith(("checkpoint", "remat")):
                transforms.append(name)
        elif name and not (name == "main" and i > 0 and "jit" in wrappers):
            scope.append(name)
    attrs: dict[str, str] = {}
    if "transpose" in transforms:
        attrs["direction"] = "backward"
    elif "jvp" in transforms:
        attrs["direction"] = "forward"
    if transforms:
        attrs["transforms"] = " ".join(dict.fromkeys(transforms))
    return SplitName(tuple(scope), attrs, absolute)


def _unwrap(part: str) -> tuple[str, list[str]]:
    """`transpose(jvp(layer_0))` → layer_0 and [transpose, jvp]. Old JAX wrote parameters in brackets; they go."""
    wrappers: list[str] = []
    part = re.sub(r"\[.*\]$", "", part, flags=re.DOTALL)
    while (found := _TRANSFORM.fullmatch(part)) is not None:
        wrappers.append(found[1])
        part = found[2]
    return part, wrappers


def _split_path(text: str) -> list[str]:
    """Split at slashes outside of brackets."""
    if "(" not in text and "[" not in text:
        return text.split("/")
    parts: list[str] = []
    depth = start = 0
    for found in re.finditer(r"[/()\[\]]", text):
        sign = found[0]
        if sign == "/":
            if depth <= 0:
                parts.append(text[start : found.start()])
                start = found.end()
        else:
            depth += 1 if sign in "([" else -1
    parts.append(text[start:])
    return parts
