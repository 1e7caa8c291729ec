"""The careful reader of one instruction: everything that XLA's grammar allows, token by token.

`[ROOT] [%]name = [type] opcode(operands)[, attribute]*`, where an operand is a name, a type and a name, a type alone, or another
instruction; an attribute may contain a whole computation; and comments and line breaks may appear anywhere. Nesting is kept on an
explicit stack, so no depth of it can exhaust Python's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from opscope.errors import SourceError
from opscope.program import UNKNOWN_TYPE, WHOLE, Node, Role, ValueRef
from opscope.readers.hlo.attributes import Attribute, names_computations, read_attributes
from opscope.readers.hlo.infer import infer
from opscope.readers.hlo.lexing import NAME, expected, fail, group_end, skip, split_list, without_comments
from opscope.readers.hlo.shapes import Typed, at_shape, shape_end

if TYPE_CHECKING:
    from opscope.readers.hlo.body import Body

PAYLOAD_ROLES: dict[str, Role] = {"parameter": "parameter", "constant": "constant"}
"""Operations whose parentheses hold no operands, and the roles of their nodes."""
ELEMENT = "get-tuple-element"

_OPCODE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*+")
_INDEX = re.compile(r"#([0-9]{1,9})(?![0-9])")
_ELIDED = re.compile(r"\.\.\.(?:\(\+([0-9]+)\))?")
_ROOT = re.compile(r"ROOT(?![\w.-])")
_STATEMENT = re.compile(r"(?:ROOT\s++)?+(?:%[^\s=(),{}\"#]++|[A-Za-z_][A-Za-z0-9_.-]*+)\s*+=(?!=)")


class _Call:
    """An instruction whose operands are being read."""

    __slots__ = ("inputs", "name", "notes", "op", "opened", "pos", "typed")

    def __init__(self, name: str, op: str, typed: Typed | None, pos: int, opened: int) -> None:
        self.name = name
        self.op = op
        self.typed = typed
        self.pos = pos
        self.opened = opened
        """The position of its opening parenthesis."""
        self.inputs: list[ValueRef] = []
        """Names, each with an element index; WHOLE until the body knows what the name refers to."""
        self.notes: list[str] = []
        """The payload of a parameter or constant; otherwise attributes for what the inputs cannot express."""


def at_statement(text: str, pos: int) -> bool:
    """Whether `name = …` begins here."""
    return _STATEMENT.match(text, pos) is not None


def read_instruction(body: Body, pos: int) -> int:
    """Read the instruction here into the body; returns the position after it."""
    text = body.module.text
    start = pos
    root = _ROOT.match(text, pos)
    if root:
        pos = skip(text, root.end())
    name = ""
    if at_statement(text, pos):
        match = NAME.match(text, pos)
        name = (match[1] or match[2]) if match else ""
        pos = skip(text, text.index("=", pos) + 1)
    elif not body.is_fragment:
        raise expected(text, pos, "an instruction like name = f32[2] add(x, y), or '}'")
    call = _open(body, name or body.fresh("instruction:"), pos)
    pos = _read_operands(body, call)
    return _close(body, call, pos, has_attributes=True, is_root=bool(root), start=start)


def _typed(body: Body, pos: int, end: int) -> Typed:
    try:
        return body.module.types[body.module.text[pos:end]]
    except SourceError as error:
        raise fail(body.module.text, pos, error.message) from None


def _open(body: Body, name: str, pos: int) -> _Call:
    """`[type] opcode(` from here."""
    text = body.module.text
    start = pos
    typed = None
    if at_shape(text, pos):
        end = shape_end(text, pos)
        typed = _typed(body, pos, end)
        pos = skip(text, end)
    opcode = _OPCODE.match(text, pos)
    after = skip(text, opcode.end()) if opcode else pos
    if not opcode or not text.startswith("(", after):
        raise expected(text, after if opcode else pos, "'(' and the operands" if opcode else "an opcode like add")
    return _Call(name, opcode[0], typed, start, after)


def _read_operands(body: Body, call: _Call) -> int:
    """Operands up to the parenthesis that closes the call. Nested instructions are added on the way."""
    text = body.module.text
    outer = [call]
    pos = call.opened + 1
    while True:
        call = outer[-1]
        pos = skip(text, pos)
        if call.op in PAYLOAD_ROLES:
            pos = group_end(text, call.opened) - 1
            call.notes.append(without_comments(text[call.opened + 1 : pos]).strip())
        elif not text.startswith(")", pos):
            nested, pos = _read_operand(body, outer, pos)
            if nested:
                outer.append(nested)
                continue
            pos = skip(text, pos)
        while text.startswith(")", pos):
            pos += 1
            done = outer.pop()
            if not outer:
                return pos
            _close(body, done, pos)
            pos = skip(text, pos)
            outer[-1].inputs.append((done.name, WHOLE))
        if not text.startswith(",", pos):
            raise expected(text, pos, "',' or ')' after an operand")
        pos += 1


def _read_operand(body: Body, outer: list[_Call], pos: int) -> tuple[_Call | None, int]:
    """One operand of the innermost call. A nested instruction is opened and returned; its name derives from the outermost."""
    text = body.module.text
    call = outer[-1]
    elided = _ELIDED.match(text, pos)
    if elided:
        call.notes.append(f", elided_operands={elided[1] or ''}")
        return None, elided.end()
    typed = None
    start = pos
    if at_shape(text, pos):
        end = shape_end(text, pos)
        typed = _typed(body, pos, end)
        pos = skip(text, end)
        if text.startswith((",", ")"), pos):
            name = body.fresh(f"{outer[0].name}:operand")
            _add_parameter(body, name, typed, start)
            call.inputs.append((name, WHOLE))
            return None, pos
    match = NAME.match(text, pos)
    if not match:
        raise expected(text, pos, "an operand")
    name = match[1] or match[2]
    after = skip(text, match.end())
    if match[2] and text.startswith("(", after):
        return _Call(body.fresh(f"{outer[0].name}:{name}"), name, typed, start, after), after + 1
    if body.is_fragment and name not in body.refs:
        _add_parameter(body, name, typed, start)
    index = _INDEX.match(text, match.end())
    if index:
        return None, _read_element(call, name, index, text)
    call.inputs.append((name, WHOLE))
    return None, match.end()


def _read_element(call: _Call, name: str, index: re.Match[str], text: str) -> int:
    """The short form `x#1` of a tuple's element. A deeper one, `x#1#0`, keeps the rest of its path as a note."""
    call.inputs.append((name, int(index[1])))
    pos = index.end()
    while deeper := _INDEX.match(text, pos):
        pos = deeper.end()
    if pos > index.end():
        call.notes.append(f", operand_{len(call.inputs) - 1}_element={text[index.start() : pos]}")
    return pos


def _add_parameter(body: Body, name: str, typed: Typed | None, pos: int) -> None:
    number = str(body.parameter_count)
    body.parameter_count += 1
    outputs, index = typed or Typed((UNKNOWN_TYPE,), 0)
    tail = body.module.tails.assembled("", "parameter", number)
    body.add(Node(name, "parameter", (), outputs, "parameter"), index, tail, number, pos, is_root=False)


def _close(body: Body, call: _Call, pos: int, *, has_attributes: bool = False, is_root: bool = False, start: int = 0) -> int:
    """Add an instruction whose operands have all been read, with the attributes that follow it."""
    text, tails = body.module.text, body.module.tails
    attributes: list[Attribute] = []
    if has_attributes:
        attributes, pos = read_attributes(text, pos)
    role = PAYLOAD_ROLES.get(call.op)
    payload = call.notes.pop() if role else ""
    attribute_text = "".join(f", {a.key}={_value(body, call.name, a)}" for a in attributes) + "".join(call.notes)
    tail = tails.assembled(attribute_text, call.op if role else "", payload)
    inputs = tuple(call.inputs)
    if call.op == ELEMENT:
        if tail.flow.element < 0 or len(inputs) != 1:
            raise fail(text, call.pos, "get-tuple-element needs one operand and an index like index=0")
        inputs = ((inputs[0][0], tail.flow.element),)
    outputs, index = call.typed or infer(call.op, [body.outputs_of(name) for name, _ in inputs], tail.flow.element)
    body.add(Node(call.name, call.op, inputs, outputs, role or "op"), index, tail, payload, start or call.pos, is_root=is_root)
    return pos


def _value(body: Body, owner: str, attribute: Attribute) -> str:
    """An attribute's value on one line. Computations inside it are replaced by generated names."""
    text = body.module.text
    key, start, end = attribute
    if not names_computations(key) or not text.startswith("{", start):
        return without_comments(text[start:end])
    if at_statement(text, skip(text, start + 1)):
        return _inline(body, f"{owner}:{key}", start, end)
    parts: list[str] = []
    for first, last in split_list(text, start + 1, end - 1):
        inlined = text.startswith("{", first)
        parts.append(_inline(body, f"{owner}:{key}.{len(parts)}", first, last) if inlined else text[first:last])
    return f"{{{', '.join(parts)}}}"


def _inline(body: Body, name: str, start: int, end: int) -> str:
    body.inlined.append((f"{body.name}:{name}", start + 1, end - 1))
    return f"{body.name}:{name}"
