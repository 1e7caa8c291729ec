"""What loops carry from round to round: a result of the body is an operand of its next round."""

from __future__ import annotations

from opscope.analysis.category import plain_name
from opscope.program import Node

_FIRST = {"while": 0, "while_loop": 0, "for": 3}
"""Operands before the carried ones: scf.for takes its bounds and step first."""


def first_carried(node: Node) -> int:
    """The operand of a loop that becomes its first result; the others follow. -1 for what is no loop.

    JAX puts the constants of a loop's body (and of its condition) before what it carries, and says how many there are.
    """
    name = plain_name(node.op)
    if name == "scan":
        return int(node.attrs.get("num_consts", -1))
    constants = (node.attrs.get(key, 0) for key in ("cond_nconsts", "body_nconsts"))
    return _FIRST[name] + sum(map(int, constants)) if name in _FIRST else -1
