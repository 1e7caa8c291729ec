"""How the result of an operation depends on a seed, given how its operands do.

Backpropagation starts with a constant, the gradient of the loss with respect to itself, and everything it computes is linear in that
constant: sums of gradients, and products of a gradient with a value of the forward half. What depends on the seed in another way comes
after the gradients: the optimizer, which adds them to other values and squares them.

Many candidates for the seed are followed at once, one bit each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as fold
from operator import or_
from typing import NamedTuple


class Dependence(NamedTuple):
    linear: int = 0
    """The candidates that the value is linear in: it is a gradient."""
    other: int = 0
    """The candidates that the value depends on in another way."""
    after: int = 0
    """The candidates whose gradients it waits for without depending on them: a forward value that is computed again."""
    zero: bool = False
    """Whether it is a constant zero, which can be added to anything."""

    @property
    def any(self) -> int:
        return self.linear | self.other


INDEPENDENT = Dependence()

SUMS: dict[str, tuple[int, ...]] = {
    "pad": (0, 1), "dynamic_update_slice": (0, 1), "select": (1, 2), "scatter": (0, 2), "select_and_scatter": (1, 2), "reduce": (0, 1),
    "reduce_window": (0, 1),
}  # fmt: skip
"""Operations that only put values together, and which of their operands those are. The others choose: a predicate, indices."""
SUMS_OF_ALL = frozenset(("add", "add_any", "subtract", "sub", "concatenate", "complex"))
PRODUCTS = frozenset(("multiply", "mul", "dot", "dot_general", "convolution", "conv_general_dilated", "triangular_solve"))
QUOTIENTS = frozenset(("divide", "div"))
PASSING = frozenset(
    (
        "negate", "neg", "convert", "convert_element_type", "reshape", "squeeze", "expand_dims", "transpose", "broadcast",
        "broadcast_in_dim", "slice", "reverse", "rev", "copy", "real", "imag", "dynamic_slice", "gather", "all_reduce", "all_gather",
        "reduce_scatter", "collective_permute", "all_to_all", "reduce_precision", "fft", "get_tuple_element",
    )
)  # fmt: skip
"""Operations that are linear in their first operand and not in the others, which are indices."""
WITH_REDUCER = frozenset(("reduce", "reduce_window", "scatter", "select_and_scatter", "all_reduce", "reduce_scatter"))


def result(op: str, operands: Sequence[Dependence], adds: bool) -> Dependence:
    """The result of an operation, by its plain name. `adds` says that it combines values by adding, if it combines them at all."""
    if not any(operands):
        return INDEPENDENT
    rule = RULE.get(op)
    if rule is None or (op in WITH_REDUCER and not adds):
        return nonlinear(operands)
    return rule(op, operands)


def nonlinear(operands: Sequence[Dependence]) -> Dependence:
    other = fold(or_, (operand.any for operand in operands), 0)
    return Dependence(0, other, _after(operands) & ~other)


def unknown(operands: Sequence[Dependence]) -> Dependence:
    """A kernel of which only the name is known: what is given a gradient yields one."""
    linear, other = (
        (fold(or_, masks, 0) for masks in zip(*((each.linear, each.other) for each in operands), strict=True)) if operands else (0, 0)
    )
    return Dependence(linear & ~other, other, _after(operands) & ~(linear | other))


def total(addends: Sequence[Dependence], choosing: Sequence[Dependence] = ()) -> Dependence:
    """A sum is a gradient if every addend is one or zero."""
    some = fold(or_, (each.linear for each in addends), 0)
    linear = some & ~fold(or_, (each.any for each in choosing), 0)
    for each in addends:
        if not each.zero:
            linear &= each.linear
    other = fold(or_, (each.any for each in (*addends, *choosing)), 0) & ~linear
    return Dependence(linear, other, _after((*addends, *choosing)) & ~(linear | other), all(each.zero for each in addends))


def _sum(op: str, operands: Sequence[Dependence]) -> Dependence:
    places = SUMS.get(op)
    if places is None:
        return total(operands)
    addends = [operands[i] for i in places if i < len(operands)]
    return total(addends, [each for i, each in enumerate(operands) if i not in places])


def _product(op: str, operands: Sequence[Dependence]) -> Dependence:
    linear, dependent = 0, 0
    for operand in operands:
        linear = (linear & ~operand.any) | (operand.linear & ~dependent)
        dependent |= operand.any
    return Dependence(linear, dependent & ~linear, _after(operands) & ~dependent, any(operand.zero for operand in operands))


def _passed(op: str, operands: Sequence[Dependence]) -> Dependence:
    """Linear in the first operand alone: a gradient must not be among the others."""
    return total(operands[:1], operands[1:])


def _after(operands: Sequence[Dependence]) -> int:
    return fold(or_, (operand.after for operand in operands), 0)


RULE: dict[str, Callable[[str, Sequence[Dependence]], Dependence]] = {
    **dict.fromkeys((*SUMS, *SUMS_OF_ALL), _sum),
    **dict.fromkeys(PRODUCTS, _product),
    **dict.fromkeys((*PASSING, *QUOTIENTS), _passed),
}
