"""How often loops run."""

from __future__ import annotations

import re
from typing import Any

from opscope.ops.table import facts_of
from opscope.program import Node, whole_number

_KNOWN = re.compile(r'"?known_trip_count"?\s*:\s*\{\s*"?n"?\s*:\s*"?(\d+)')
"""What XLA writes into the backend_config of a loop."""


def trip_count(node: Node) -> int | None:
    """The number of iterations of a loop, or None if the program does not say."""
    attrs: Any = node.attrs
    match = _KNOWN.search(str(attrs.get("backend_config", "")))
    if match:
        return whole_number(match[1])
    length = attrs.get("length") if facts_of(node.op).control == "scan" else None
    return whole_number(length)
