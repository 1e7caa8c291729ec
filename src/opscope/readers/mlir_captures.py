"""Which values each region of a function uses from outside, in one pass over the function: regions can be a thousand deep."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from opscope.limits import Budget

_NODE = 1000
"""Bytes that a parameter takes. Every region around a use has one, so that a short text can mean millions."""


class Region:
    """The values that a region uses and does not define, and the regions of its operations in their order."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        self.blocks = blocks
        self.captured: dict[str, Any] = {}
        """By their names in the text."""
        self.inside: deque[Region] = deque()
        self._defined: set[str] = set()

    def add(self, op: Any, state: Any) -> list[Region]:
        """Note what an operation uses and defines; its regions."""
        for operand in op.operands:
            self.captured.setdefault(operand.get_name(state), operand)
        self._defined.update(result.get_name(state) for result in op.results)
        regions = [Region(blocks) for region in op.regions if (blocks := list(region.blocks))]
        self.inside.extend(regions)
        return regions

    def finish(self, state: Any) -> None:
        """Leave out what is defined here: only now, because a value can be used before its definition."""
        self._defined.update(argument.get_name(state) for block in self.blocks for argument in block.arguments)
        self.captured = {name: value for name, value in self.captured.items() if name not in self._defined}
        self._defined.clear()


def regions_of(operations: Iterable[Any], state: Any, budget: Budget) -> deque[Region]:
    """The regions of the operations of a function."""
    function = Region(())
    waiting = [(function, iter(operations), function)]
    while waiting:
        region, inside, around = waiting[-1]
        op = next(inside, None)
        if op is not None:
            waiting.extend((inner, operations_of(inner.blocks), region) for inner in reversed(region.add(op.operation, state)))
            continue
        waiting.pop()
        if region is not function:
            region.finish(state)
            budget.take(_NODE * len(region.captured))
            for name, value in region.captured.items():
                around.captured.setdefault(name, value)
    return function.inside


def operations_of(blocks: Iterable[Any]) -> Iterator[Any]:
    return (op.operation for block in blocks for op in block.operations)
