"""The columns over nodes, and what goes into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opscope.analysis.loops import first_carried
from opscope.program import Node, whole_number
from opscope.render.wire.sections import Rows, SectionWriter

_MOST_OPERANDS = (1 << 31) - 1

Row = tuple[
    int, int, int, int, int, int, int, int, int,
    tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...],
]  # fmt: skip
"""A node as numbers: its columns in the order of `NodeColumns.add`. A row refers to other nodes by name, so it stays the same as long as
its node does not change."""


class NodeColumns:
    """Rows of nodes, column by column."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.ops: list[int] = []
        self.roles = bytearray()
        self.categories = bytearray()
        self.texts: list[int] = []
        self.places: list[int] = []
        self.details: list[int] = []
        self.seats: list[int] = []
        self.metrics: list[int] = []
        self.outputs, self.output_names, self.inputs, self.calls, self.control, self.links = (Rows() for _ in range(6))

    def add(self, row: Row) -> int:
        """Add a row; returns its number."""
        id, op, role, category, text, place, detail, seat, metrics, outputs, output_names, inputs, calls, control, links = row
        number = len(self.ids)
        self.ids.append(id)
        self.ops.append(op)
        self.roles.append(role)
        self.categories.append(category)
        self.texts.append(text)
        self.places.append(place)
        self.details.append(detail)
        self.seats.append(seat)
        self.metrics.append(metrics)
        self.outputs.add(outputs)
        self.output_names.add(output_names)
        # Operands usually come shortly before their users, and so do the numbers of their names.
        self.inputs.add([id - name for name in inputs[::2]])
        self.inputs.extra.extend(inputs[1::2])
        self.calls.add(calls)
        self.control.add([id - name for name in control])
        self.links.add(links)
        return number

    def write(self, out: SectionWriter, details: bool) -> None:
        """Write the columns. `details` says whether the table of details, to which one column refers, is sent too."""
        out.deltas("nodeId", self.ids)
        out.integers("nodeOp", self.ops)
        out.block("nodeRole", bytes(self.roles))
        out.block("nodeCategory", bytes(self.categories))
        out.integers("nodeText", self.texts)
        out.integers("nodePlace", self.places)
        if details:
            out.deltas("nodeDetail", self.details)
        out.deltas("nodeSeat", self.seats)
        out.integers("nodeMetrics", self.metrics)
        self.outputs.write(out, "outputs")
        self.output_names.write(out, "outputNames")
        self.inputs.write(out, "inputs")
        self.calls.write(out, "calls")
        self.control.write(out, "control")
        self.links.write(out, "links")


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
