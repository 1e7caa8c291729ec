"""Types that the text omits: XLA accepts `add(x, y)` without one where it follows from the operands."""

from __future__ import annotations

import re

from opscope.program import UNKNOWN_TYPE, WHOLE, TensorType
from opscope.readers.hlo.shapes import Typed

_LIKE_FIRST = frozenset(
    re.findall(
        r"\S+",
        """abs add and atan2 cbrt ceil clamp clz copy cosine divide erf exponential exponential-minus-one floor log log-plus-one
        logistic maximum minimum multiply negate not or popcnt power remainder reverse round-nearest-afz round-nearest-even rsqrt
        shift-left shift-right-arithmetic shift-right-logical sign sine sqrt subtract tan tanh xor optimization-barrier opt-barrier
        all-reduce collective-permute while""",
    )
)
_LONGEST = 4096
_PREDICATES = frozenset(["compare", "is-finite"])


def infer(op: str, operands: list[tuple[TensorType, ...]], index: int) -> Typed:
    """The type of an instruction that omits it; "?" where it does not simply follow from the operands."""
    if op == "tuple":
        return Typed(tuple(outputs[0] if len(outputs) == 1 else _nested(outputs) for outputs in operands), WHOLE)
    if not operands:
        return Typed((UNKNOWN_TYPE,), 0)
    first = operands[-1] if op in ("select", "clamp") and len(operands) > 1 else operands[0]
    if op == "get-tuple-element" and 0 <= index < len(first):
        return Typed((first[index],), 0)
    if op in _LIKE_FIRST or op == "select":
        return Typed(first, 0 if len(first) == 1 else WHOLE)
    if op in _PREDICATES and len(first) == 1:
        return Typed((TensorType("pred", first[0].shape, first[0].layout),), 0)
    return Typed((UNKNOWN_TYPE,), 0)


def _nested(outputs: tuple[TensorType, ...]) -> TensorType:
    """A nested tuple is text. It is cut before nesting makes it too long to read."""
    text = ", ".join(map(str, outputs))
    return TensorType(f"({text})" if len(text) < _LONGEST else "(…)")
