"""One form of names for all compilers: `aten.add_.Tensor`, `aten::add`, `AddBackward0`, `stablehlo.add` and `Add` are all `add`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from opscope.ops.facts import Dialect

_SEPARATOR = re.compile(r"::|[./]")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BACKWARD = re.compile(r"_?backward\d*$")
_VARIANT = re.compile(r"^(native|batched)_(?!dropout)")


class OpName(NamedTuple):
    """A parsed operation name."""

    dialect: str
    """The last known prefix ("aten"), or empty."""
    title: str
    """What a person calls it: as it is written, without the dialect and the overload."""
    plain: str
    """The title in one form for all compilers."""
    overload: str
    """"Tensor" of `aten.add.Tensor`; nothing elsewhere."""
    is_backward: bool
    """Whether it differentiates the operation of this name: it does the same kind of work, but is another operation."""


def parse_name(op: str, dialects: Mapping[str, Dialect]) -> OpName:
    """Parse a name. What follows an unknown prefix is ignored: another dialect may mean something else by it."""
    parts = [part for part in _SEPARATOR.split(op) if part] or [op]
    at = 0
    while at < len(parts) - 1 and parts[at] in dialects:
        at += 1
    prefix = parts[at - 1] if at else ""
    titles = dialects[prefix].titles if prefix else "whole"
    title = op if titles == "whole" else parts[at] if titles == "first" else ".".join(parts[at:])
    return OpName(prefix, title, _plain(parts[at]), ".".join(parts[at + 1 :]), _BACKWARD.search(_lower(parts[at])) is not None)


def _plain(name: str) -> str:
    return _VARIANT.sub("", _BACKWARD.sub("", _lower(name)).strip("_"))


def _lower(name: str) -> str:
    """ "ReduceSum" and "reduce-sum" are "reduce_sum"; "GELU" is one word."""
    return (name if name.isupper() else _WORDS.sub("_", name)).lower().replace("-", "_")
