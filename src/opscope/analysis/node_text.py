"""What a box shows beside or instead of an operation's name, and what makes two nodes of one operation different."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from opscope.ellipsis import ellipsize
from opscope.ops import facts_of
from opscope.program import Node

_LONGEST_TEXT = 80
_COMPARISON = re.compile(r"\b(EQ|NE|LT|LE|GT|GE)\b")


def _variant(op: str, attrs: Mapping[str, Any]) -> str | None:
    """Attributes without which an op's name would be wrong: `compare` is not an operation before it has a direction."""
    for key in ("direction", "comparison_direction"):
        if key in attrs and (comparison := _COMPARISON.search(str(attrs[key]))):
            return comparison[1]
    if not facts_of(op).sign:
        return None
    factor, rounding = attrs.get("alpha", 1), attrs.get("rounding_mode")
    return f"alpha={factor}" if factor != 1 else None if rounding in (None, "None") else str(rounding)


def argument_label(attrs: Mapping[str, Any]) -> Any:
    """What the user calls an argument: `params['layer_0']['w']`, `layers.0.weight`. None if only its compiler has a name for it."""
    labels = (attrs.get(key) for key in ("label", "metadata.op_name", "op_name", "target", "name"))
    return next((label for label in labels if label not in (None, "None")), None)


def node_text(node: Node, attrs: Mapping[str, Any]) -> str:
    """What a box shows instead of its op: a constant's value, a parameter's label, the library routine of a custom call. For a fusion
    its kind, and for an op whose attributes make another op of it these attributes; both are shown next to the op."""
    value: Any = None
    if node.role == "constant":
        value = next((attrs[key] for key in ("value", "literal") if key in attrs), None)
    elif node.is_argument:
        value = argument_label(attrs)
    elif node.role in ("gradient", "saved", "output"):
        value = attrs.get("label")
    elif facts_of(node.op).control == "fusion":
        value = attrs.get("kind")
    elif "custom_call_target" in attrs:
        value = str(attrs["custom_call_target"]).strip('"')
    elif node.role == "op":
        value = _variant(node.op, attrs)
    if value is None:
        return ""
    return shown_text(value if isinstance(value, str) else str(value))


def shown_text(text: str) -> str:
    """As much of it as a box has room for."""
    return ellipsize(text, _LONGEST_TEXT)
