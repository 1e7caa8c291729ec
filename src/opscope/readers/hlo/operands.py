"""The operands of an instruction as XLA prints them."""

from __future__ import annotations

import re

from opscope.readers.hlo.lexing import without_comments

_MARKED_NAMES = re.compile(r"%([A-Za-z0-9_.-]+)").findall


def operand_names(operands: str) -> list[str]:
    """The names in a list of operands, with or without % and types. Malformed operands are left to the lookup, which fails."""
    if "/*" in operands:
        operands = without_comments(operands)
    if operands.startswith("%"):
        return operands[1:].split(", %")
    if "%" not in operands:
        return operands.split(", ")
    names = _MARKED_NAMES(operands)
    return names if operands.startswith("(") or len(names) == operands.count(", ") + 1 else [operands]
