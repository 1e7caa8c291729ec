"""HLO protos: `.hlo.pb` files (xla_dump_hlo_as_proto), HloModuleProto, HloProto and snapshots.

The module is written as HLO text and read by the reader of HLO text (`opscope.readers.hlo`): the names and order of attributes, scopes
and source lines have one home.
"""

from __future__ import annotations

import re

from opscope.errors import SourceError
from opscope.program import Program
from opscope.protobuf.hlo import HLO
from opscope.protobuf.wire import BYTES, Message, varint
from opscope.readers import Progress, Verdict
from opscope.readers.hlo import parse_hlo
from opscope.readers.hlo_proto.text import module_text
from opscope.readers.source import Source

__all__ = ["hlo_proto", "program_of", "read", "sniff"]

_OPCODE = re.compile(rb"[a-z][a-z0-9-]*")
_PRINTABLE = re.compile(rb"[\x20-\x7e]+")
_DEEPEST_MODULE = 3
"""A snapshot has the module inside an HloProto; nothing wraps it twice more."""
_FIRST, _SECOND, _COMPUTATIONS = (1 << 3 | BYTES, 2 << 3 | BYTES, 3 << 3 | BYTES)


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    depth = module_depth(source.head)
    return Verdict(0, "not an HLO proto") if depth is None else Verdict(0.95, "has an HloModuleProto")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    proto = hlo_proto(source.read_bytes())
    return [program_of(proto["hlo_module"], progress)]


def hlo_proto(data: bytes) -> Message:
    """The HloProto of a file: it is one, or has one inside (a snapshot), or is only the module."""
    depth = module_depth(data)
    if depth is None:
        raise SourceError("has no HloModuleProto; expected a .hlo.pb file, as xla_dump_hlo_as_proto writes it")
    if depth == 0:
        return {"hlo_module": HLO.decode("HloModuleProto", data)}
    proto: Message = HLO.decode("HloProto", data) if depth == 1 else HLO.decode("HloSnapshot", data)["hlo"]
    return proto


def program_of(module: Message, progress: Progress | None = None) -> Program:
    """The Program of an HloModuleProto."""
    try:
        return parse_hlo(module_text(module), progress)[0]
    except SourceError as error:
        raise SourceError(error.message) from None  # lines of a text that nobody has seen would mislead


def module_depth(data: bytes) -> int | None:
    """How many messages are around the HloModuleProto that begins these bytes, or None if there is none.

    A module begins with its name, the name of its entry, and a computation that begins with its name and an instruction. Other files
    begin alike, so the first instruction must have an opcode.
    """
    pos = 0
    for depth in range(_DEEPEST_MODULE):
        if _begins_module(data, pos):
            return depth
        if pos >= len(data) or data[pos] != _FIRST:
            return None
        try:
            pos = varint(data, pos + 1, len(data))[1]
        except SourceError:
            return None
    return None


def _begins_module(data: bytes, pos: int) -> bool:
    for number in (_FIRST, _SECOND):  # the names of the module and of its entry
        after = _after_text(data, pos, number)
        if after is None and number == _FIRST:
            return False
        pos = pos if after is None else after
    for number in (_COMPUTATIONS, _SECOND):  # the first computation, and its first instruction
        if pos >= len(data) or data[pos] != number:
            return False
        try:
            pos = varint(data, pos + 1, len(data))[1]
        except SourceError:
            return False
        after = _after_text(data, pos, _FIRST)
        if after is None:
            return False
        pos = after
    if pos >= len(data) or data[pos] != _SECOND:
        return False
    try:
        size, start = varint(data, pos + 1, len(data))
    except SourceError:
        return False
    return _OPCODE.fullmatch(data[start : start + size]) is not None


def _after_text(data: bytes, pos: int, key: int) -> int | None:
    """The position after a string field, if one is here."""
    if pos >= len(data) or data[pos] != key:
        return None
    try:
        size, start = varint(data, pos + 1, len(data))
    except SourceError:
        return None
    text = data[start : start + size]
    return start + size if len(text) == size and _PRINTABLE.fullmatch(text) else None
