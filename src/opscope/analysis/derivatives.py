"""Local derivative rules in the notation of a textbook: for y = f(x), what backpropagation does with dy.

The rules are data (`derivatives.json`), and every text in it is also code: the tests evaluate exactly what a person is shown.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """`y` in terms of its operands, and the gradient of each operand in terms of dy."""

    ops: tuple[str, ...]
    y: str
    vjp: dict[str, str]
    note: str
    sample: dict[str, tuple[str, list[int]]]
    params: dict[str, float]


def _load() -> tuple[Rule, ...]:
    data: dict[str, Any] = json.loads(files("opscope.analysis").joinpath("derivatives.json").read_text("utf-8"))
    rows = data["rules"]
    return tuple(Rule(tuple(r["ops"]), r["y"], r["vjp"], r.get("note", ""), r["sample"], r.get("params", {})) for r in rows)


RULES = _load()
_BY_OP = {op: rule for rule in RULES for op in rule.ops}
_WRAPPING = re.compile(
    r"^(?:aten|prims|stablehlo|mhlo|chlo|onnx|torch|jax)(?:\.ops)?(?:\.|::)+|\.(?:default|Tensor|Scalar|int|dim_IntList|\w*_?out|self\w*)$"
)


@cache
def rule_for(op: str) -> Rule | None:
    """The rule of an operation, whatever framework named it: `aten.exp.default`, `stablehlo.exponential`, `ExpBackward0`."""
    name = op
    while (shorter := _WRAPPING.sub("", name)) != name:
        name = shorter
    name = re.sub(r"Backward\d*$", "", name)
    for candidate in (name, name.lower(), re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower(), name.lower().replace("-", "_")):
        if candidate in _BY_OP:
            return _BY_OP[candidate]
    return None
