"""What the parts of a node must be. Readers take them from files that strangers made; everything after the builder relies on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opscope.ellipsis import ellipsize
from opscope.program.node import Node
from opscope.program.values import MOST_LINES, ROLES, Details, TensorType

MOST_OUTPUTS = (1 << 31) - 1
"""Indices of outputs fit into 32 bits."""
_MOST_BYTES = (1 << 63) - 1
"""The largest size of a value: no framework can address more."""
_MOST_DIMENSIONS = 1_000
"""Of a value; NumPy's have at most 64. The product of very many sizes has as many digits, and takes the square of their time."""


def wrong_part(node: Node) -> tuple[str, str]:
    """The first field of a node that is not what the model says, and what it must be; empty if all are."""
    for field, value in (("id", node.id), ("op", node.op)):
        if not isinstance(value, str):
            return field, f"must be text, not {shown(value)}"
    if node.role not in ROLES:
        return "role", f"must be one of {', '.join(ROLES)}, not {shown(node.role)}"
    for name, index in node.inputs:
        if not isinstance(name, str) or not _is_whole(index):
            return "inputs", f"must be names with the index of an output, not {shown((name, index))}"
    for field, values in (("calls", node.calls), ("control", node.control)):
        if not _are_texts(values):
            return field, f"must be names, not {shown(values)}"
    for link in node.links:
        if not _are_texts(link):
            return "links", f"must be texts, not {shown(tuple(link))}"
    return wrong_details(node.details)


def wrong_details(details: Details) -> tuple[str, str]:
    """Like `wrong_part`, for attributes, scope and source frames."""
    if not _are_texts(details.attrs):
        return "attrs", f"must have names that are text, not {shown(list(details.attrs))}"
    if not isinstance(details.scope, tuple) or not _are_texts(details.scope):
        return "scope", f"must be names of groups, not {shown(details.scope)}"
    for file, line, function in details.source:
        if not isinstance(file, str) or not isinstance(function, str) or not _is_whole(line) or not 0 <= line <= MOST_LINES:
            return "source", f"must be a file, the number of a line and a function, not {shown((file, line, function))}"
    return "", ""


def wrong_type(value_type: TensorType) -> str:
    """Why something cannot be the type of a value; empty if it can."""
    dtype, shape, layout = value_type
    if not isinstance(dtype, str) or not isinstance(layout, str):
        return f"the name of a type must be text, not {shown(dtype if isinstance(layout, str) else layout)}"
    if not isinstance(shape, tuple):
        return f"a shape must be a list of dimensions, not {shown(shape)}"
    for dim in shape:
        if not isinstance(dim, str) and not _is_whole(dim):
            return f"a dimension must be a whole number or text, not {shown(dim)}"
    if len(shape) > _MOST_DIMENSIONS:
        return f"{len(shape):,} dimensions are more than opscope's limit of {_MOST_DIMENSIONS:,}"
    if max(abs(value_type.elements or 0), abs(value_type.bytes or 0)) > _MOST_BYTES:
        return f"{ellipsize(str(value_type), 80, middle=True)} is larger than any memory"
    return ""


def shown(value: Any) -> str:
    """A wrong value in a message."""
    return ellipsize(repr(value), 60)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
