"""Attributes of hidet's operators: values in a Program, the name of a Python type and a text in hidet's netron JSON.

A value whose type and text do not follow from it (a tuple, an object of hidet's own) is also kept as hidet writes it, among the
attributes of the graph, so that the JSON comes back as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

NetronForm: TypeAlias = tuple[str, str]
"""Type name and text."""

SOURCE = "Hidet"
"""What hidet writes as the source of its graphs."""
FUSED_GRAPH = "fused_graph"
"""hidet's attribute with the graph of a fused operator, which is a called graph in a Program."""

TASK, CATEGORY, SHARE_MAP, FUSED = "task", "category", "share_map", "fused"
NOT_HIDETS = frozenset((TASK, CATEGORY, SHARE_MAP, FUSED))
"""Attributes in a Program that are not attributes of the operator in hidet."""
VERBATIM = "netron"
"""Attribute of a graph: by operator and attribute, type and text as hidet writes them."""


def netron_form(value: Any) -> NetronForm:
    """What `hidet.utils.netron` writes for a value."""
    if isinstance(value, list | tuple):
        return f"Sequence[{type(value[0]).__name__ if value else ''}]", str(value)
    return type(value).__name__, str(value)


def value_of(form: NetronForm) -> Any:
    """The value of an attribute; its text if that is not the text of a simple value."""
    name, text = form
    decode = _DECODERS.get("Sequence" if name.startswith("Sequence[") else name)
    if decode is None:
        return text
    try:
        value = decode(text)
    except (ValueError, RecursionError):
        return text
    return value if netron_form(value) == form else text


_DECODERS: Mapping[str, Callable[[str], Any]] = {
    "bool": lambda text: text == "True",
    "int": int,
    "float": float,
    "NoneType": lambda text: None,
    "Sequence": json.loads,
}


def verbatim_of(attributes: Mapping[str, tuple[Any, NetronForm]]) -> dict[str, dict[str, str]]:
    """What hidet writes for those values from which it does not follow."""
    return {name: {"type": form[0], "value": form[1]} for name, (value, form) in attributes.items() if netron_form(value) != form}
