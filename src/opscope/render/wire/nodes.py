"""The columns over nodes, and what goes into them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any, get_args

from opscope.analysis.loops import first_carried
from opscope.program import Node, whole_number
from opscope.render.wire.sections import SectionWriter

_MOST_OPERANDS = (1 << 31) - 1

Row = tuple[
    int, int, int, int, int, int, int, int, int,
    tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...],
]  # fmt: skip
"""A node as numbers: its columns in the order of `NodeColumns.write`. A row refers to other nodes by name, so it stays the same as long as
its node does not change."""


class NodeColumns:
    """Rows of nodes, written column by column."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: Row) -> int:
        """Add a row; returns its number."""
        self._rows.append(row)
        return len(self._rows) - 1

    def write(self, out: SectionWriter, details: bool) -> None:
        """Write the columns. `details` says whether the table of details, to which one column refers, is sent too."""
        columns: list[Any] = list(zip(*self._rows, strict=True)) or [()] * len(get_args(Row))
        ids, ops, roles, categories, texts, places, detail, seats, metrics = columns[:9]
        outputs, output_names, inputs, indices, calls, control, links = columns[9:]
        out.deltas("nodeId", ids)
        out.integers("nodeOp", ops)
        out.block("nodeRole", bytes(roles))
        out.block("nodeCategory", bytes(categories))
        out.integers("nodeText", texts)
        out.integers("nodePlace", places)
        if details:
            out.deltas("nodeDetail", detail)
        out.deltas("nodeSeat", seats)
        out.integers("nodeMetrics", metrics)
        out.table("outputs", outputs)
        out.table("outputNames", output_names)
        # Operands usually come shortly before their users, and so do the numbers of their names.
        out.rows("inputs.rows", list(map(len, inputs)))
        out.integers("inputs.value", [id - name for id, names in zip(ids, inputs, strict=True) for name in names])
        if flat := list(chain.from_iterable(indices)):
            out.integers("inputs.extra", flat)
        out.table("calls", calls)
        out.rows("control.rows", list(map(len, control)))
        out.integers("control.value", [id - name for id, names in zip(ids, control, strict=True) for name in names])
        out.table("links", links)


def operand_place(node: Node, attrs: Mapping[str, Any]) -> int:
    """For a parameter: which operand of a call it receives, if the source says so (HLO lists parameters in any order; -1 means in listed
    order). For a loop: the first operand that it carries from one iteration to the next, as its first result (-1 for anything else)."""
    if not node.is_argument:
        return first_carried(node) if node.calls else -1
    number = whole_number(attrs.get("parameter_number", attrs.get("index")))
    return number if number is not None and 0 <= number <= _MOST_OPERANDS else -1


def output_names(node: Node, attrs: Mapping[str, Any]) -> list[str]:
    """The names of a node's values, where the source has tensors with names of their own: one for each output, or none."""
    text = attrs.get("output_names")
    if not isinstance(text, str):
        return []
    names = text.split(", ")
    return names if len(names) == len(node.outputs) else []
