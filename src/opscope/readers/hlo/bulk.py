"""The instructions of a very large computation, as columns: whole pieces of text at once, without a step in Python for each.

Only lines that `body.py` knows how to read can be here. A piece with any other line is left to it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from opscope.errors import SourceError
from opscope.program import WHOLE, Details, GrowingColumns, Node, NodeColumns, ValueRef
from opscope.readers.hlo.details import TAIL_SHAPE, Flow, Tails
from opscope.readers.hlo.instruction import ELEMENT, PAYLOAD_ROLES
from opscope.readers.hlo.operands import operand_names
from opscope.readers.hlo.printed import PrintedLines, payload_of
from opscope.readers.hlo.shapes import Types
from opscope.readers.hlo.shared import SharedTails, tail_of

if TYPE_CHECKING:
    from opscope.readers.hlo.body import Body

BulkRow: TypeAlias = tuple[str, str, str, str, str, str, str, str, str]
"""A line's parts: "ROOT " and the sign of names, where there are any, name, type, opcode, operands, and the parts of its attributes by
`SHARED_SHAPE`."""
_TAIL = re.compile(rf"{TAIL_SHAPE}([^\n]*+)")
_SIGN, _ROOT = "%", "ROOT %"
_STARTS = {_SIGN, _ROOT}


class BulkRows:
    """Columns that grow by the rows of a computation."""

    def __init__(self, tails: Tails, shared: SharedTails, span: tuple[int, int]) -> None:
        """`span` is where they are in the text."""
        self.columns = GrowingColumns()
        self._tails = tails
        self._shared = shared
        self._at = array("b")
        """By instruction, how others refer to it: 0, or WHOLE for a tuple."""
        self._written: dict[int, str] = {}
        """What is in the parentheses of an instruction, if that is not a list of names as XLA prints it."""
        self._span = span
        self._is_printed = True
        """Whether all lines are otherwise as XLA prints them, with signs before names and one root at most."""

    def take(self, body: Body, rows: Sequence[BulkRow]) -> bool:
        """Add these rows, or nothing if one of them is irregular."""
        self._tails.spare_memory()
        self._shared.spare_memory()
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

    def printed(self, nodes: NodeColumns, types: Types, root: str) -> PrintedLines | None:
        """The lines of these instructions; None if they do not follow from what was read."""
        return PrintedLines(nodes, types, root, self._written, self._span) if self._is_printed else None

    def ref(self, name: str) -> ValueRef:
        return name, self._at[self.columns.numbers[name]]

    def nodes(self) -> list[Node]:
        """The instructions so far as nodes, for the reader of single lines."""
        return list(self.columns.finished())

    def _take(self, body: Body, rows: Sequence[BulkRow], first: int) -> bool:
        module, columns = body.module, self.columns
        roots, names, shapes, opcodes, operands, *texts = zip(*rows, strict=True)
        typed = list(map(module.types.__getitem__, shapes))
        ops, roles = zip(*map(module.opcodes.__getitem__, opcodes), strict=True)
        details, flows = self._details(body, ops, operands, *texts)
        inputs, counts, written = _inputs(operands, opcodes)
        sources = list(map(columns.numbers.__getitem__, inputs))
        outputs = list(map(itemgetter(0), typed))
        self._at.extend(map(itemgetter(1), typed))
        indices = list(map(self._at.__getitem__, sources))
        if ELEMENT in opcodes and not self._take_elements(flows, rows, counts, sources, indices, outputs):
            return False
        if any(name not in columns.numbers for flow in flows.values() for name in flow.control):
            return False
        for i, (called, after, _) in flows.items():
            if ops[i] in PAYLOAD_ROLES and operands[i] != payload_of(details[i]):
                written[i] = operands[i]
            if called:
                body.note_calls(called, details[i])
                columns.calls[first + i] = called
            if after:
                columns.control[first + i] = after
        columns.extend(ops, sources, counts, indices, outputs, roles, details)
        self._written.update((first + i, text) for i, text in written.items())
        starts = set(roots)
        self._is_printed &= starts <= _STARTS and not (body.root and _ROOT in starts) and roots.count(_ROOT) < 2
        if starts != {_SIGN}:
            body.root = next((name for start, name in zip(reversed(roots), reversed(names), strict=True) if len(start) > 1), body.root)
        return True

    def _details(
        self,
        body: Body,
        ops: Sequence[str],
        operands: Sequence[str],
        starts: Sequence[str],
        modules: Sequence[str],
        ends: Sequence[str],
        others: Sequence[str],
    ) -> tuple[list[Details], dict[int, Flow]]:
        """The details of each row, and by row what they mean for the graph, if anything."""
        shared = self._shared
        parts = shared.parts(starts, modules, ends)
        details: list[Details] = list(shared.details(parts))
        flows: dict[int, Flow] = {}
        for i, (op, (known_modules, around)) in enumerate(zip(ops, parts, strict=True)):
            if known_modules is None or around is None:
                text = tail_of(starts[i], modules[i], ends[i]) if ends[i] else others[i]
                details[i], flows[i] = self._single(body, op, operands[i], text)
            elif op in PAYLOAD_ROLES:
                details[i] = shared.with_payload(parts[i], op, operands[i])
                flows[i] = around.flow
            elif around.is_special:
                flows[i] = around.flow
        return details, flows

    def _single(self, body: Body, op: str, operands: str, text: str) -> tuple[Details, Flow]:
        """The details of a row whose tail shares nothing with others."""
        parts = _TAIL.fullmatch(text)
        if parts is None:
            raise KeyError(text)
        before, first, rest = (part or "" for part in parts.groups())
        tails = self._tails
        if op in PAYLOAD_ROLES:
            tail = tails.with_payload(op, operands, text, before, first, rest)
        else:
            tail = tails.known.get(text) or tails.printed(text, before, first, rest)
        return body.relative_details(tail, op, operands) if tail.details is None else tail.details, tail.flow

    def _take_elements(
        self,
        flows: Mapping[int, Flow],
        rows: Sequence[BulkRow],
        counts: Sequence[int],
        sources: list[int],
        indices: list[int],
        outputs: Sequence[tuple[object, ...]],
    ) -> bool:
        """Set the outputs that get-tuple-element takes; whether all of them exist."""
        before, place = self.columns.outputs, 0
        first = len(before)
        for i, (row, count) in enumerate(zip(rows, counts, strict=True)):
            if row[3] == ELEMENT:
                index = flows[i].element
                if count != 1 or indices[place] != WHOLE:
                    return False
                source = sources[place]
                if not 0 <= index < len(before[source] if source < first else outputs[source - first]):
                    return False
                indices[place] = index
            place += count
        return True


def _inputs(operands: Sequence[str], opcodes: Sequence[str]) -> tuple[list[str], list[int], dict[int, str]]:
    """The names of all operands of many rows, and how many each has; by row, the text of operands that are not a plain list of names."""
    texts = ["" if opcode in PAYLOAD_ROLES else text for text, opcode in zip(operands, opcodes, strict=True)]
    joined = ", ".join(filter(None, texts))
    if not joined:
        return [], [0] * len(texts), {}
    if joined.startswith("%") and "/" not in joined:
        counts = [separators + 1 if text else 0 for text, separators in zip(texts, map(str.count, texts, repeat(", ")), strict=True)]
        if joined.count("%") == joined.count(", %") + 1 == sum(counts):
            return joined[1:].split(", %"), counts, {}
    each = [operand_names(text) if text else [] for text in texts]
    written = {i: text for i, (text, names) in enumerate(zip(texts, each, strict=True)) if text and text != "%" + ", %".join(names)}
    return [name for names in each for name in names], list(map(len, each)), written
