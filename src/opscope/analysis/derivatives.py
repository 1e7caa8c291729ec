"""Local derivative rules in textbook notation: for y = f(x), what backpropagation does with dy.

The rules are data (`derivatives.json`), and every formula in it is also code: the tests evaluate exactly what the viewer shows.
Operations without a derivative (a comparison, a random number) are listed too, with the reason.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from opscope.ops import facts_of, plain_name
from opscope.program import Node, Program


class Rule(NamedTuple):
    """`y` in terms of its operands, and the gradient of each operand in terms of dy.

    The keys of `sample` are the operands in order. An operation that takes them in another order, or takes more, is listed in `orders`.
    """

    ops: tuple[str, ...]
    y: str
    vjp: dict[str, str]
    note: str
    sample: dict[str, tuple[str, list[int]]]
    params: dict[str, float]
    orders: dict[str, list[str]]


def _load() -> tuple[tuple[Rule, ...], dict[str, str]]:
    data: dict[str, Any] = json.loads(files("opscope.analysis").joinpath("derivatives.json").read_text("utf-8"))
    rules = tuple(
        Rule(tuple(r["ops"]), r["y"], r["vjp"], r.get("note", ""), r["sample"], r.get("params", {}), r.get("orders", {}))
        for r in data["rules"]
    )
    return rules, {op: row["why"] for row in data["silent"] for op in row["ops"].split()}


RULES, SILENT = _load()
_BY_OP = {op.replace("-", "_").strip("_"): rule for rule in RULES for op in rule.ops}
_MEANT = {
    "aten.select.int": "select_int", "SelectBackward0": "select_int",
    "aten.pow.Tensor_Scalar": "integer_pow", "PowBackward0": "integer_pow",
    "MaxBackward0": "reduce_max", "MaxBackward1": "reduce_max", "MinBackward0": "reduce_min", "MinBackward1": "reduce_min",
}  # fmt: skip
"""Operations whose meaning differs from that of their name without its overload."""
REDUCING = frozenset(["reduce", "reduce_window", "scatter", "all_reduce"])
"""Operations that apply a small computation, which combines two values."""
OWN_RESULT = frozenset({"exp", "exp2", "exponential", "logistic", "rsqrt", "sigmoid", "sqrt", "tanh"})
"""Operations whose derivative is expressed by their own result."""


@cache
def rule_name(op: str) -> str:
    """The name under which an operation's rule is listed, for any framework's name: `aten.exp.default`, `stablehlo.exponential`."""
    if op in _MEANT:
        return _MEANT[op]
    name = plain_name(op)
    return f"reduce_{name}" if name in ("max", "min") and facts_of(op).category == "reduce" else name


def rule_for(op: str) -> Rule | None:
    return _BY_OP.get(rule_name(op)) or _BY_OP.get(op.replace("-", "_"))


def reason_for(op: str) -> str:
    """Why no gradient flows through an operation; empty if one does, or if unknown."""
    return SILENT.get(rule_name(op), "")


def reducer_key(program: Program, node: Node) -> str:
    """ "reduce:maximum" for an operation whose meaning depends on the computation that it applies; empty for others."""
    if not node.calls or plain_name(node.op) not in REDUCING or not program[node.calls[0]].outputs:
        return ""
    body = program[node.calls[0]]
    return f"{node.op}:{body[body.outputs[0][0]].op}"


def explanations(program: Program) -> dict[str, dict[str, Any]]:
    """Rules for the operations (and reducers) of a program that have one, and reasons for those that have no derivative."""
    entries: dict[str, dict[str, Any]] = {}
    keys = {key for graph in program for node in graph.calling if (key := reducer_key(program, node))}
    for op in sorted({op for graph in program for op in graph.ops} | keys):
        outer, _, inner = op.rpartition(":")
        rule = rule_for(f"{rule_name(outer)}:{rule_name(inner)}") if op in keys else rule_for(op)
        if rule is not None:
            entries[op] = {"y": rule.y, "vjp": rule.vjp, "note": rule.note, "operands": list(rule.sample)}
            if rule_name(op) in rule.orders:
                entries[op]["order"] = rule.orders[rule_name(op)]
        elif reason_for(op):
            entries[op] = {"y": "", "vjp": {}, "note": reason_for(op), "operands": []}
    return entries
