"""One computation: its instructions, line by line.

Almost every line that XLA prints has the same shape, and `_LINE` matches it whole. An instruction that differs (comments, nested
operands, attributes over several lines, omitted types) is left to the careful reader in `instruction.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from opscope.errors import SourceError
from opscope.program import LARGE, UNKNOWN_TYPE, WHOLE, Details, Graph, GraphBuilder, Node, NodeColumns, Role, TensorType, ValueRef
from opscope.readers.hlo.bulk import BulkRow, BulkRows
from opscope.readers.hlo.cut_text import CONTINUES, CutText, piece_end
from opscope.readers.hlo.details import TAIL_SHAPE, Context, HloDetails, PlacedDetails, Tail, Tails
from opscope.readers.hlo.instruction import ELEMENT, PAYLOAD_ROLES, read_instruction
from opscope.readers.hlo.lexing import fail, skip, without_comments
from opscope.readers.hlo.operands import operand_names
from opscope.readers.hlo.printed import PrintedLines
from opscope.readers.hlo.shapes import Types
from opscope.readers.hlo.shared import SHARED_SHAPE, SharedTails

_PIECE = 1 << 17
"""Characters that are split into rows at once."""
_START_SHAPE = (
    r"[ \t]*+(ROOT )?+%?+([A-Za-z_][A-Za-z0-9_.-]*+) = "
    r"([a-z][a-z0-9]*+\[[^ \n]*+|\([^()\n\"]*+(?:\([^()\n\"]*+\)[^()\n\"]*+)*+\)) "
    r"([a-z][a-z0-9-]*+)\(([^()\n\"#]*+|\([^()\n\"#]*+\)(?: %[A-Za-z0-9_.-]++)?+)\)"
)
_LINE_SHAPE = rf"{_START_SHAPE}({TAIL_SHAPE}([^\n]*+))\n(?!{CONTINUES})"
_LINE = re.compile(_LINE_SHAPE)
_LINES = re.compile("^" + _LINE_SHAPE, re.MULTILINE)
_BULK_LINES = re.compile(rf"^{_START_SHAPE.replace('(ROOT )?+%?+', '((?:ROOT )?+%?+)')}{SHARED_SHAPE}\n(?!{CONTINUES})", re.MULTILINE)

Row: TypeAlias = tuple[str, str, str, str, str, str, str, str, str]
"""A line's parts: ROOT or nothing, name, type, opcode, operands, attributes, and of these what is before the metadata, the first element
of the op_name, and what is after the metadata."""


class _Opcodes(dict[str, tuple[str, Role]]):
    """Opcodes with the role of their nodes. Each opcode appears thousands of times and needs only one object."""

    def __missing__(self, text: str) -> tuple[str, Role]:
        opcode = self[text] = (text, PAYLOAD_ROLES.get(text, "op"))
        return opcode


class Module:
    """What the computations of one module share."""

    def __init__(self, text: str, root: str, apart: CutText | None = None) -> None:
        self.text = text
        self.apart = apart
        """The instructions of a computation that are not in the text."""
        self.context = Context(root)
        self.types = Types()
        self.tails = Tails(self.context)
        self.shared = SharedTails(self.tails)
        self.opcodes = _Opcodes()
        self.is_regular = True
        """Whether every computation so far consisted of regular lines up to a brace in the first column."""


class Body:
    """A computation while it is being read."""

    def __init__(self, module: Module, name: str, start: int, *, is_closed: bool = True, is_fragment: bool = False) -> None:
        self.module = module
        self.name = name
        self.start = start
        self.is_closed = is_closed
        """Whether a brace ends it. Inlined bodies and fragments end where their text does."""
        self.is_fragment = is_fragment
        """In a fragment, undefined operands become its parameters."""
        self.parameter_count = 0
        """How many such parameters there are."""
        self.attrs: dict[str, str] = {}
        self.nodes: list[Node] = []
        self.refs: dict[str, ValueRef] = {}
        self.bulk: BulkRows | None = None
        """The instructions of a very large computation, instead of `nodes` and `refs`."""
        self.root = ""
        self.inlined: list[tuple[str, int, int]] = []
        """Computations written inside an attribute: name, start and end."""
        self.calls: set[str] = set()
        self._name_counts: dict[str, int] = {}
        self._relative_details: dict[str, HloDetails] = {}
        self._position: dict[str, int] = {}
        self._pending: list[tuple[int, int]] = []

    def read(self, pos: int, end: int) -> int:
        """Read instructions from here to the closing brace, or to the end if there is none."""
        text = self.module.text
        pos = self._read_regular(pos, end)
        while True:
            pos = skip(text, pos)
            if pos >= end:
                if self.is_closed:
                    raise fail(text, self.start, f"computation {self.name!r} is never closed; expected '}}'")
                return end
            if text[pos] == "}" and self.is_closed:
                return pos + 1
            self._leave_bulk()
            pos = skip(text, read_instruction(self, pos))
            pos = _below(text, pos, self._take(_rows(text, pos, end)))

    def _read_regular(self, pos: int, end: int) -> int:
        """Read many rows at once while the module is regular, otherwise one by one."""
        text, module = self.module.text, self.module
        if module.apart and module.apart.at == pos:
            return self._read_apart(module.apart)
        if module.is_regular:
            stop = text.find("\n}", pos, end) + 1
            if stop - pos > LARGE:
                self.bulk = self._new_bulk((pos, stop))
                pos = self._read_bulk(self.bulk, text, pos, stop)
                if pos < stop:
                    self._leave_bulk()
            while pos < stop:
                last = piece_end(text, pos, stop, _PIECE)
                rows: list[Row] = _LINES.findall(text, pos, last)
                if len(rows) != text.count("\n", pos, last):
                    break
                row_count = self._take(rows)
                if row_count < len(rows):
                    return _below(text, pos, row_count)
                pos = last
            if stop and pos == stop:
                return stop
            module.is_regular = False
        return _below(text, pos, self._take(_rows(text, pos, end)))

    def _new_bulk(self, span: tuple[int, int]) -> BulkRows:
        return BulkRows(self.module.tails, self.module.shared, span)

    def _read_bulk(self, bulk: BulkRows, text: str, pos: int, stop: int) -> int:
        """Read as columns, up to the first piece that has an irregular line."""
        while pos < stop:
            last = piece_end(text, pos, stop, _PIECE)
            rows: list[BulkRow] = _BULK_LINES.findall(text, pos, last)
            if len(rows) != text.count("\n", pos, last) or not bulk.take(self, rows):
                break
            pos = last
        return pos

    def _read_apart(self, apart: CutText) -> int:
        """Read instructions that are beside the text. Raises SourceError if one is irregular: then the whole text is needed."""
        self.bulk = self._new_bulk((apart.at, apart.at))
        for piece in apart.taken():
            if self._read_bulk(self.bulk, piece, 0, len(piece)) < len(piece):
                raise SourceError("has an irregular line")
        return apart.at

    def _leave_bulk(self) -> None:
        """Go on with nodes."""
        if self.bulk:
            self.nodes = self.bulk.nodes()
            self.refs = {node.id: self.bulk.ref(node.id) for node in self.nodes}
            self.bulk = None

    def _take(self, rows: Iterable[Row]) -> int:
        """Make nodes from rows, up to the first irregular one; returns how many.

        This is the hot loop. It looks each part up in a table instead of parsing it. A part that is in no table is irregular: the
        careful reader then either accepts the instruction or reports what is wrong with it.
        """
        types, tails, opcodes = self.module.types, self.module.tails, self.module.opcodes
        known = tails.known.get
        refs, nodes = self.refs, self.nodes
        ref, make, append = refs.__getitem__, tuple.__new__, nodes.append
        start = len(nodes)
        nothing: tuple[()] = ()
        for root, name, shape, opcode, operands, attributes, before, first, rest in rows:
            try:
                outputs, at = types[shape]
                op, role = opcodes[opcode]
                inputs: tuple[ValueRef, ...] = nothing
                if role != "op":
                    tail = tails.with_payload(op, operands, attributes, before, first, rest)
                else:
                    tail = known(attributes) or tails.printed(attributes, before, first, rest)
                    if operands:
                        is_usual = operands[0] == "%" and "/" not in operands
                        names = operands[1:].split(", %") if is_usual else operand_names(operands)
                        inputs = tuple(map(ref, names))
                    if op == ELEMENT:
                        inputs = self.element(inputs, tail.flow.element)
                _, details, (calls, control, _) = tail
                if name in refs or control:
                    break
            except (KeyError, SourceError):
                break
            if details is None:
                details = self.relative_details(tail, op, operands)
            refs[name] = (name, at)
            if root:
                self.root = name
            if calls:
                self.note_calls(calls, details)
            append(make(Node, (name, op, inputs, outputs, role, calls, nothing, nothing, details)))
        return len(nodes) - start

    def element(self, inputs: tuple[ValueRef, ...], index: int) -> tuple[ValueRef, ...]:
        """The input of a get-tuple-element: one output of its operand."""
        if len(inputs) != 1 or inputs[0][1] != WHOLE or not 0 <= index < len(self.outputs_of(inputs[0][0])):
            raise KeyError(index)
        return ((inputs[0][0], index),)

    def outputs_of(self, name: str) -> tuple[TensorType, ...]:
        """The outputs of an instruction that has already been read."""
        position = self._position
        for i in range(len(position), len(self.nodes)):
            position[self.nodes[i].id] = i
        return self.nodes[position[name]].outputs if name in position else (UNKNOWN_TYPE,)

    def fresh(self, base: str) -> str:
        """A name for something unnamed. `base` contains a colon, which no name in HLO text can."""
        number = self._name_counts[base] = self._name_counts.get(base, 0) + 1
        return base if number == 1 else f"{base}.{number}"

    def relative_details(self, tail: Tail, op: str, payload: str) -> HloDetails:
        """Details of an instruction whose op_name is relative to the call of this computation."""
        key = f"{op}({payload}){tail.text}" if op in PAYLOAD_ROLES else tail.text
        details = self._relative_details.get(key)
        if details is None:
            held = (op, without_comments(payload).strip()) if op in PAYLOAD_ROLES else ("", "")
            details = self._relative_details[key] = PlacedDetails(self.module.context, tail.text, *held, self.name)
        return details

    def note_calls(self, calls: tuple[str, ...], details: Details) -> None:
        callers = self.module.context.callers
        self.calls.update(calls)
        for called in calls:
            if isinstance(details, HloDetails):
                callers.setdefault(called, (self.name, details))

    def add(self, node: Node, index: int, tail: Tail, payload: str, pos: int, *, is_root: bool) -> None:
        """Add an instruction from the careful reader. Its inputs are checked at the end: they may be defined later."""
        if node.id in self.refs:
            raise fail(
                self.module.text, pos, f"duplicate name {node.id!r}: computation {self.name!r} already has an instruction of that name"
            )
        calls, control, _ = tail.flow
        details = tail.details or self.relative_details(tail, node.op, payload)
        if calls:
            self.note_calls(calls, details)
        if node.inputs or control:
            self._pending.append((len(self.nodes), pos))
        self.refs[node.id] = (node.id, index)
        self.nodes.append(node._replace(calls=calls, control=control, details=details))
        if is_root:
            self.root = node.id

    def finish(self, builder: GraphBuilder, computations: set[str], *, drop_unknown: bool) -> None:
        """Fill the graph's builder, with every reference resolved. A call to a computation that is not in the module is an error, or
        dropped: then only the node's attributes mention it."""
        self._resolve()
        if not computations.issuperset(self.calls):
            self._leave_bulk()
            if not drop_unknown:
                raise self._unknown_call(computations)
            self.nodes = [n._replace(calls=tuple(c for c in n.calls if c in computations)) if n.calls else n for n in self.nodes]
        builder.attrs = dict(self.attrs)
        if self.bulk:
            builder.columns = self.bulk.columns
            builder.outputs = [self.bulk.ref(self.root or self.bulk.columns.ids[-1])]
            return
        builder.take(self.nodes)
        root = self.root or (self.nodes[-1].id if self.nodes else "")
        builder.outputs = [self.refs[root]] if root else []

    def printed(self, graph: Graph) -> PrintedLines | None:
        """The lines of this computation, if they follow from the nodes of its graph."""
        if self.bulk is None or not isinstance(graph.nodes, NodeColumns):
            return None
        return self.bulk.printed(graph.nodes, self.module.types, self.root)

    def _resolve(self) -> None:
        """Check the references that the careful reader did not check, and find those that refer to a whole tuple."""
        text, refs = self.module.text, self.refs
        for i, pos in self._pending:
            node = self.nodes[i]
            for name in (*(name for name, _ in node.inputs), *node.control):
                if name not in refs:
                    raise fail(text, pos, f"{node.id!r} uses {name!r}, which is not an instruction of computation {self.name!r}")
            for name, index in node.inputs:
                outputs = self.outputs_of(name)
                if index >= max(len(outputs), 1) and outputs != (UNKNOWN_TYPE,):
                    raise fail(text, pos, f"{node.id!r} uses element {index} of {name!r}, which has {len(outputs)}")
            self.nodes[i] = node._replace(inputs=tuple(self._resolved(ref) for ref in node.inputs))

    def _resolved(self, ref: ValueRef) -> ValueRef:
        name, index = ref
        if index > 0 and self.outputs_of(name) == (UNKNOWN_TYPE,):
            return name, WHOLE
        return self.refs[name] if index == WHOLE else ref

    def _unknown_call(self, computations: set[str]) -> SourceError:
        node, called = next((node, name) for node in self.nodes for name in node.calls if name not in computations)
        text = self.module.text
        place = re.compile(rf"(?<![\w.-]){re.escape(node.id)}\s*=").search(text, self.start)
        message = f"{node.id!r} calls {called!r}, which is not a computation of the module"
        return fail(text, place.start() if place else self.start, message)


def _rows(text: str, pos: int, end: int) -> Iterator[Row]:
    """Regular lines from here, up to the first irregular one."""
    match = _LINE.match
    while line := match(text, pos, end):
        yield line.groups()  # type: ignore[misc]
        pos = line.end()


def _below(text: str, pos: int, lines: int) -> int:
    """The position that many lines further down."""
    for _ in range(lines):
        pos = text.index("\n", pos) + 1
    return pos
