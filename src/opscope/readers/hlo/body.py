"""One computation: its instructions, line by line.

Almost every line that XLA prints has the same shape, and `_LINE` takes it whole. Whatever differs (comments, nested operands,
attributes over several lines, omitted types) is left to the careful reader in `instruction.py`, for that one instruction.
"""

from __future__ import annotations

import re

from opscope.errors import SourceError
from opscope.program import WHOLE, Details, GraphBuilder, Node, TensorType, ValueRef
from opscope.readers.hlo.details import Context, HloDetails, Tail, Tails
from opscope.readers.hlo.instruction import ELEMENT, PAYLOAD_ROLES, read_instruction
from opscope.readers.hlo.lexing import fail, skip, without_comments
from opscope.readers.hlo.shapes import UNKNOWN, Types

_LINE = re.compile(
    r"[ \t]*+(ROOT )?+%?+([A-Za-z_][A-Za-z0-9_.-]*+) = "
    r"([a-z][a-z0-9]*+\[[^ \n]*+|\([^()\n\"]*+(?:\([^()\n\"]*+\)[^()\n\"]*+)*+\)) "
    r"([a-z][a-z0-9-]*+)\(([^()\n\"#]*+)\)([^\n]*+)\n(?!\s*+[,</])"
)
_MARKED_NAMES = re.compile(r"%([A-Za-z0-9_.-]+)").findall


class _Once(dict[str, str]):
    """Each text once: opcodes repeat a thousand times and need one object."""

    def __missing__(self, text: str) -> str:
        self[text] = text
        return text


class Module:
    """What the computations of one module share."""

    def __init__(self, text: str, root: str) -> None:
        self.text = text
        self.context = Context(root)
        self.types = Types()
        self.tails = Tails(self.context)
        self.ops = _Once()
        self.called: list[tuple[str, int]] = []
        """Names of called computations, with the place of the call."""


class Body:
    """A computation while it is being read."""

    def __init__(self, module: Module, name: str, start: int, *, is_closed: bool = True, is_fragment: bool = False) -> None:
        self.module = module
        self.name = name
        self.start = start
        self.is_closed = is_closed
        """Does a brace end it? Inlined bodies and fragments end where their text does."""
        self.is_fragment = is_fragment
        """In a fragment, operands that nobody defined are its parameters."""
        self.attrs: dict[str, str] = {}
        self.nodes: list[Node] = []
        self.refs: dict[str, ValueRef] = {}
        self.root = ""
        self.inlined: list[tuple[str, int, int]] = []
        """Computations that stand inside an attribute: name, and from where to where."""
        self._own: dict[str, HloDetails] = {}
        self._position: dict[str, int] = {}
        self._pending: list[tuple[int, int]] = []

    def read(self, pos: int, end: int) -> int:
        """Instructions from here to the closing brace, or to the end where there is none."""
        text, types, tails = self.module.text, self.module.types, self.module.tails
        refs, nodes, ops = self.refs, self.nodes, self.module.ops
        match, ref, make = _LINE.match, refs.__getitem__, tuple.__new__
        while True:
            line = match(text, pos, end)
            if line is None:
                pos = skip(text, pos)
                if pos >= end:
                    if self.is_closed:
                        raise fail(text, self.start, f"computation {self.name!r} is never closed; expected '}}'")
                    return end
                if text[pos] == "}" and self.is_closed:
                    return pos + 1
                pos = read_instruction(self, pos)
                continue
            root, name, shape, op, operands, attributes = line.groups()
            role = PAYLOAD_ROLES.get(op)
            inputs: tuple[ValueRef, ...] = ()
            try:
                outputs, at = types[shape]
                if role:
                    tail = tails.get(f"{op}({operands}){attributes}") or tails.learn(tails[attributes].text, op, operands)
                else:
                    tail = tails[attributes]
                    if "%" in operands:
                        inputs = tuple(map(ref, _MARKED_NAMES(operands)))
                        if len(inputs) != operands.count(", ") + 1:
                            raise KeyError(operands)
                    elif operands:
                        inputs = tuple(map(ref, without_comments(operands).split(", ")))
                    if op == ELEMENT:
                        inputs = self.element(inputs, tail.element)
                if name in refs:
                    raise KeyError(name)
                _, details, calls, control, _ = tail
                if control:
                    raise KeyError(name)
            except (KeyError, SourceError):
                pos = read_instruction(self, skip(text, pos))
                continue
            if details is None:
                details = self.own_details(tail, op, operands)
            refs[name] = (name, at)
            if root:
                self.root = name
            if calls:
                self.note_calls(calls, details, pos)
            nodes.append(make(Node, (name, ops[op], inputs, outputs, role or "op", calls, (), (), details)))
            pos = line.end()

    def element(self, inputs: tuple[ValueRef, ...], index: int) -> tuple[ValueRef, ...]:
        """The input of a get-tuple-element: one output of its operand."""
        if len(inputs) != 1 or inputs[0][1] != WHOLE or not 0 <= index < len(self.outputs_of(inputs[0][0])):
            raise KeyError(index)
        return ((inputs[0][0], index),)

    def outputs_of(self, name: str) -> tuple[TensorType, ...]:
        """What an instruction that was read already yields."""
        position = self._position
        for i in range(len(position), len(self.nodes)):
            position[self.nodes[i].id] = i
        return self.nodes[position[name]].outputs if name in position else (UNKNOWN,)

    def own_details(self, tail: Tail, op: str, payload: str) -> HloDetails:
        """Details of an instruction whose op_name is relative to the call of this computation."""
        key = f"{op}({payload}){tail.text}" if op in PAYLOAD_ROLES else tail.text
        known = self._own.get(key)
        if known is None:
            held = (op, payload) if op in PAYLOAD_ROLES else ("", "")
            known = self._own[key] = HloDetails(self.module.context, tail.text, *held, self.name)
        return known

    def note_calls(self, calls: tuple[str, ...], details: Details, pos: int) -> None:
        callers = self.module.context.callers
        for called in calls:
            self.module.called.append((called, pos))
            if isinstance(details, HloDetails):
                callers.setdefault(called, (self.name, details))

    def add(self, node: Node, index: int, tail: Tail, payload: str, pos: int, *, is_root: bool) -> None:
        """Take in an instruction from the careful reader. Its inputs are checked at the end: they may be defined later."""
        details = tail.details or self.own_details(tail, node.op, payload)
        if tail.calls:
            self.note_calls(tail.calls, details, pos)
        if node.inputs or tail.control:
            self._pending.append((len(self.nodes), pos))
        self.refs[node.id] = (node.id, index)
        self.nodes.append(node._replace(calls=tail.calls, control=tail.control, details=details))
        if is_root:
            self.root = node.id

    def finish(self, builder: GraphBuilder, known: set[str] | None) -> None:
        """Give the graph's builder what was read, with every reference resolved. Calls to computations that are not known are
        left to the attributes, where a set of known ones is given."""
        text, refs = self.module.text, self.refs
        for i, pos in self._pending:
            node = self.nodes[i]
            for name in (*(name for name, _ in node.inputs), *node.control):
                if name not in refs:
                    raise fail(text, pos, f"{node.id!r} uses {name!r}, which is no instruction of computation {self.name!r}")
            for name, index in node.inputs:
                count = len(self.outputs_of(name))
                if index >= max(count, 1) and self.outputs_of(name) != (UNKNOWN,):
                    raise fail(text, pos, f"{node.id!r} asks for element {index} of {name!r}, which has {count}")
            if any(index == 0 and refs[name][1] == WHOLE and node.op != ELEMENT for name, index in node.inputs):
                whole = tuple(refs[name] if index == 0 else (name, index) for name, index in node.inputs)
                self.nodes[i] = node._replace(inputs=whole)
        if known is not None:
            self.nodes = [n._replace(calls=tuple(c for c in n.calls if c in known)) if n.calls else n for n in self.nodes]
        builder.nodes = self.nodes
        builder.lines = [0] * len(self.nodes)
        builder.attrs = dict(self.attrs)
        root = self.root or (self.nodes[-1].id if self.nodes else "")
        builder.outputs = [refs[root]] if root else []
