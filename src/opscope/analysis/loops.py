"""Loops: how often they run, and what they carry from one iteration to the next (a result of the body is an operand of the next)."""

from __future__ import annotations

from opscope.ops import LOOPS, Control, facts_of
from opscope.ops.loops import trip_count
from opscope.program import Graph, Node, Program, whole_number

_FIRST: dict[Control, int] = {"while": 0, "for": 3}
"""The number of operands before the carried ones: scf.for takes its bounds and step first."""


def times_text(program: Program, graph: Graph, node: Node) -> str:
    """How often a loop runs, for its box: "×24". Empty for anything else, and if it is unknown."""
    trips = trip_count(program, graph, node) if node.calls and facts_of(node.op).control in LOOPS else None
    return "" if trips is None else f"×{trips:,}"


def first_carried(node: Node) -> int:
    """The operand of a loop that becomes its first result; the others follow. -1 for anything but a loop.

    JAX puts the constants of a loop's body (and of its condition) before the carried values, and says how many there are.
    """
    control = facts_of(node.op).control
    if control == "scan":
        return _count(node, "num_consts", -1)
    constants = (_count(node, key, 0) for key in ("cond_nconsts", "body_nconsts"))
    return _FIRST[control] + sum(constants) if control in _FIRST else -1


def _count(node: Node, attribute: str, otherwise: int) -> int:
    """A number of operands, from an attribute."""
    number = whole_number(node.attrs.get(attribute, otherwise))
    return number if number is not None and 0 <= number <= len(node.inputs) else otherwise
