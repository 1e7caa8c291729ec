"""The instructions of a very large computation, as columns: whole pieces of text at once, without a step in Python for each.

Only lines that `body.py` knows how to read can be here. A piece with any other line is left to it.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING

from opscope.errors import SourceError
from opscope.program import WHOLE, Details, GrowingColumns, Node, ValueRef
from opscope.readers.hlo.details import Tails
from opscope.readers.hlo.instruction import ELEMENT, PAYLOAD_ROLES
from opscope.readers.hlo.operands import operand_names

if TYPE_CHECKING:
    from opscope.readers.hlo.body import Body, Row


class BulkRows:
    """Columns that grow by the rows of a computation."""

    def __init__(self) -> None:
        self.columns = GrowingColumns()
        self._at = array("b")
        """By instruction, how others refer to it: 0, or WHOLE for a tuple."""

    def take(self, body: Body, rows: Sequence[Row]) -> bool:
        """Add these rows, or nothing if one of them is irregular."""
        body.module.tails.spare_memory()
        names = [row[1] for row in rows]
        columns, first = self.columns, len(self.columns.ids)
        columns.add_ids(names)
        try:
            is_regular = len(columns.numbers) == len(columns.ids) and self._take(body, rows, first)
        except (KeyError, SourceError):
            is_regular = False
        if not is_regular:
            columns.drop_ids(first)
            del self._at[first:]
        return is_regular

    def ref(self, name: str) -> ValueRef:
        return name, self._at[self.columns.numbers[name]]

    def nodes(self) -> list[Node]:
        """The instructions so far as nodes, for the reader of single lines."""
        return list(self.columns.finished())

    def _take(self, body: Body, rows: Sequence[Row], first: int) -> bool:
        module, columns = body.module, self.columns
        roots, names, shapes, opcodes, operands, *_ = zip(*rows, strict=True)
        typed = list(map(module.types.__getitem__, shapes))
        ops, roles = zip(*map(module.opcodes.__getitem__, opcodes), strict=True)
        details, calls, control = _details(body, rows, ops)
        inputs, counts = _inputs(operands, opcodes)
        sources = list(map(columns.numbers.__getitem__, inputs))
        outputs = list(map(itemgetter(0), typed))
        self._at.extend(map(itemgetter(1), typed))
        indices = list(map(self._at.__getitem__, sources))
        if ELEMENT in opcodes and not self._take_elements(module.tails, rows, counts, sources, indices, outputs):
            return False
        if any(name not in columns.numbers for each in control.values() for name in each):
            return False
        for i, called in calls.items():
            body.note_calls(called, details[i])
            columns.calls[first + i] = called
        columns.control.update((first + i, each) for i, each in control.items())
        columns.extend(ops, sources, counts, indices, outputs, roles, details)
        if any(roots):
            body.root = next(name for root, name in zip(reversed(roots), reversed(names), strict=True) if root)
        return True

    def _take_elements(
        self,
        tails: Tails,
        rows: Sequence[Row],
        counts: Sequence[int],
        sources: list[int],
        indices: list[int],
        outputs: Sequence[tuple[object, ...]],
    ) -> bool:
        """Set the outputs that get-tuple-element takes; whether all of them exist."""
        before, place = self.columns.outputs, 0
        first = len(before)
        for row, count in zip(rows, counts, strict=True):
            if row[3] == ELEMENT:
                index = tails.known[row[5]].flow.element
                if count != 1 or indices[place] != WHOLE:
                    return False
                source = sources[place]
                if not 0 <= index < len(before[source] if source < first else outputs[source - first]):
                    return False
                indices[place] = index
            place += count
        return True


def _details(
    body: Body, rows: Sequence[Row], ops: Sequence[str]
) -> tuple[list[Details], dict[int, tuple[str, ...]], dict[int, tuple[str, ...]]]:
    """The details of each row; by row, the computations that it calls, and what it must come after."""
    tails = body.module.tails
    known_tail = tails.known.get
    details: list[Details] = []
    calls: dict[int, tuple[str, ...]] = {}
    control: dict[int, tuple[str, ...]] = {}
    for op, (_, _, _, _, operands, text, before, first, rest) in zip(ops, rows, strict=True):
        if op in PAYLOAD_ROLES:
            tail = tails.with_payload(op, operands, text, before, first, rest)
        else:
            tail = known_tail(text) or tails.printed(text, before, first, rest)
        _, known, (called, after, _) = tail
        if called:
            calls[len(details)] = called
        if after:
            control[len(details)] = after
        details.append(body.relative_details(tail, op, operands) if known is None else known)
    return details, calls, control


def _inputs(operands: Sequence[str], opcodes: Sequence[str]) -> tuple[list[str], list[int]]:
    """The names of all operands of many rows, and how many each has."""
    texts = ["" if opcode in PAYLOAD_ROLES else text for text, opcode in zip(operands, opcodes, strict=True)]
    joined = ", ".join(filter(None, texts))
    if not joined:
        return [], [0] * len(texts)
    if joined.startswith("%") and "/" not in joined:
        counts = [separators + 1 if text else 0 for text, separators in zip(texts, map(str.count, texts, repeat(", ")), strict=True)]
        if joined.count("%") == joined.count(", %") + 1 == sum(counts):
            return joined[1:].split(", %"), counts
    each = [operand_names(text) if text else [] for text in texts]
    return [name for names in each for name in names], list(map(len, each))
