"""The wire format of protocol buffers: bytes and a schema in, dictionaries out.

Strict: a field whose wire type does not fit the schema, a length beyond the end, a number that is too long and messages nested too
deeply are errors. Fields that the schema does not mention are skipped, because schemas grow.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from opscope.errors import SourceError

Message: TypeAlias = dict[str, Any]
"""The fields that are present, by name. A repeated field is a list; a nested message is a Message."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_DEEPEST = 100
"""How deeply messages may be nested; the limit of Google's own readers."""
_LONGEST_VARINT = 10
_MESSAGE = re.compile(r"message\s+(\w+)\s*\{([^}]*)\}")
_FIELD = re.compile(r"(repeated\s+)?(\w+)\s+(\w+)\s*=\s*(\d+)\s*;")


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


_DOUBLE, _FLOAT, _UINT64 = struct.Struct("<d"), struct.Struct("<f"), struct.Struct("<Q")

_NUMBERS: dict[str, Callable[[int], Any]] = {
    "int32": _signed,
    "int64": _signed,
    "uint32": int,
    "uint64": int,
    "bool": bool,
}
_FIXED: dict[str, tuple[int, struct.Struct]] = {
    "double": (FIXED64, _DOUBLE),
    "float": (FIXED32, _FLOAT),
    "fixed64": (FIXED64, _UINT64),
}


class Field(NamedTuple):
    """A line of a schema."""

    name: str
    type: str
    is_repeated: bool


class Schema:
    """Messages by name, from an excerpt of a .proto file. Enumerations are written as int64."""

    def __init__(self, text: str, *others: Schema) -> None:
        self.messages: dict[str, dict[int, Field]] = {}
        for other in others:
            self.messages.update(other.messages)
        for name, body in _MESSAGE.findall(text):
            fields = (match.groups() for match in _FIELD.finditer(body))
            self.messages[name] = {int(number): Field(field, type, bool(repeated)) for repeated, type, field, number in fields}

    def decode(self, name: str, data: bytes) -> Message:
        """The message that these bytes are."""
        return self._decode(name, data, 0, len(data), 0)

    def _decode(self, name: str, data: bytes, pos: int, end: int, depth: int) -> Message:
        if depth > _DEEPEST:
            raise SourceError(f"has messages nested more than {_DEEPEST} levels deep, in {name}; it is damaged")
        message: Message = {}
        fields = self.messages[name]
        while pos < end:
            key = data[pos]
            pos += 1
            if key > 127:
                key, pos = varint(data, pos - 1, end)
            field = fields.get(key >> 3)
            if field is None:
                pos = after_value(data, pos, end, key)
                continue
            value: Any
            wire = key & 7
            if wire == VARINT and field.type in _NUMBERS:
                number, pos = varint(data, pos, end)
                value = _NUMBERS[field.type](number)
            elif wire == BYTES:
                size, pos = varint(data, pos, end)
                stop = pos + size
                if stop > end:
                    raise _truncated(pos)
                if field.type == "string":
                    value = _text(data[pos:stop])
                elif field.type == "bytes":
                    value = data[pos:stop]
                elif field.type in self.messages:
                    value = self._decode(field.type, data, pos, stop, depth + 1)
                elif field.is_repeated:
                    message.setdefault(field.name, []).extend(_packed(field, data, pos, stop))
                    pos = stop
                    continue
                else:
                    raise _mismatch(name, field, pos)
                pos = stop
            elif field.type in _FIXED and wire == _FIXED[field.type][0]:
                form = _FIXED[field.type][1]
                if pos + form.size > end:
                    raise _truncated(pos)
                (value,) = form.unpack_from(data, pos)
                pos += form.size
            else:
                raise _mismatch(name, field, pos)
            if field.is_repeated:
                message.setdefault(field.name, []).append(value)
            else:
                message[field.name] = value
        return message


def varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """The number here, and the position after it."""
    if pos < end and data[pos] < 128:  # most numbers are small
        return data[pos], pos + 1
    value = shift = 0
    for at in range(pos, min(end, pos + _LONGEST_VARINT)):
        byte = data[at]
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at + 1
        shift += 7
    if end - pos < _LONGEST_VARINT:
        raise _truncated(pos)
    raise SourceError(f"has a number of more than {_LONGEST_VARINT} bytes at byte {pos:,}; it is damaged, or not a protocol buffer")


def after_value(data: bytes, pos: int, end: int, key: int) -> int:
    """The position after the value of a field that nobody asked for."""
    wire = key & 7
    if not key >> 3 or wire not in (VARINT, FIXED64, BYTES, FIXED32):
        raise SourceError(f"has a field that cannot be at byte {pos:,}; it is damaged, or not a protocol buffer")
    if wire == VARINT:
        return varint(data, pos, end)[1]
    if wire == BYTES:
        size, pos = varint(data, pos, end)
    else:
        size = 8 if wire == FIXED64 else 4
    if pos + size > end:
        raise _truncated(pos)
    return pos + size


def whole_fields(data: bytes) -> tuple[int, bytes]:
    """How many bytes of a message are whole fields, and the beginning of the message or text that the end of the file cuts, if it does."""
    pos, end = 0, len(data)
    while pos < end:
        try:
            key, value = varint(data, pos, end)
            if key & 7 == BYTES:
                size, start = varint(data, value, end)
                if start + size > end:
                    return pos, data[start:]
            pos = after_value(data, value, end, key)
        except SourceError:  # cut in a number, or damaged: decoding says which
            return pos if end - pos < 2 * _LONGEST_VARINT else end, b""
    return end, b""


def _packed(field: Field, data: bytes, pos: int, end: int) -> list[Any]:
    """Numbers of a repeated field, one after another."""
    if field.type in _FIXED:
        form = _FIXED[field.type][1]
        if (end - pos) % form.size:
            raise _truncated(pos)
        return [value for (value,) in form.iter_unpack(data[pos:end])]
    convert = _NUMBERS[field.type]
    values: list[Any] = []
    while pos < end:
        byte = data[pos]
        if byte < 128:
            pos += 1
            values.append(convert(byte))
        else:
            number, pos = varint(data, pos, end)
            values.append(convert(number))
    return values


def _truncated(pos: int) -> SourceError:
    return SourceError(f"ends in the middle of a field, at byte {pos:,}; the file may be truncated")


def _mismatch(message: str, field: Field, pos: int) -> SourceError:
    return SourceError(f"has a {field.name} in {message} that is not a {field.type}, at byte {pos:,}; it is damaged, or of another kind")
