"""Reads a pickle that contains plain data: dictionaries, lists, tuples, texts, numbers, booleans and None.

Python's own unpickler can import and call anything, and allocates what a file asks for. This one knows only the instructions that
build plain data, and what it builds is bounded by the size of the file.
"""

from __future__ import annotations

import pickle
import struct
from typing import Any

from opscope.errors import SourceError
from opscope.plugin import Progress

_PROGRESS_STEP = 1 << 20

_CONSTANTS: dict[int, Any] = {pickle.NONE[0]: None, pickle.NEWTRUE[0]: True, pickle.NEWFALSE[0]: False}
_NUMBERS = {
    pickle.BININT[0]: struct.Struct("<i"),
    pickle.BININT1[0]: struct.Struct("<B"),
    pickle.BININT2[0]: struct.Struct("<H"),
    pickle.BINFLOAT[0]: struct.Struct(">d"),
}
_TEXTS = {
    pickle.SHORT_BINUNICODE[0]: struct.Struct("<B"),
    pickle.BINUNICODE[0]: struct.Struct("<I"),
    pickle.BINUNICODE8[0]: struct.Struct("<Q"),
}
_GETS = {pickle.BINGET[0]: struct.Struct("<B"), pickle.LONG_BINGET[0]: struct.Struct("<I")}
_PUTS = {pickle.BINPUT[0]: struct.Struct("<B"), pickle.LONG_BINPUT[0]: struct.Struct("<I")}
_TUPLES = {pickle.TUPLE1[0]: 1, pickle.TUPLE2[0]: 2, pickle.TUPLE3[0]: 3}
_SKIPPED = {pickle.PROTO[0]: 1, pickle.FRAME[0]: 8}
_LONG1 = pickle.LONG1[0]
_LONGEST_NUMBER = 9
"""Bytes, for 64 bits without a sign. Larger numbers can be chosen so that all of them have one hash, and no dictionary takes those."""


def is_pickle(head: bytes) -> bool:
    """Whether a file begins like a pickle of protocol 2 or later."""
    return len(head) > 2 and head[0] == pickle.PROTO[0] and 2 <= head[1] <= pickle.HIGHEST_PROTOCOL


def read_plain_pickle(data: bytes, progress: Progress | None = None) -> Any:
    """The value in a pickle. Anything but plain data is an error, and nothing of it is imported or called."""
    try:
        return _Reader(data, progress).read()
    except TypeError as error:
        raise SourceError(f"is not a complete pickle of plain data: {error}; write it again") from None
    except (struct.error, LookupError, UnicodeDecodeError):
        raise SourceError("is not a complete pickle of plain data: it is truncated or damaged; write it again") from None


class _Reader:
    def __init__(self, data: bytes, progress: Progress | None) -> None:
        self.data = data
        self.progress = progress
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def read(self) -> Any:
        data, stack, memo = self.data, self.stack, self.memo
        pos, reported = 0, 0
        while True:
            code = data[pos]
            pos += 1
            if code in _GETS:
                number = _GETS[code]
                stack.append(memo[number.unpack_from(data, pos)[0]])
                pos += number.size
            elif code == pickle.MEMOIZE[0]:
                memo[len(memo)] = stack[-1]
            elif code in _NUMBERS:
                number = _NUMBERS[code]
                stack.append(number.unpack_from(data, pos)[0])
                pos += number.size
            elif code in _TEXTS:
                number = _TEXTS[code]
                start = pos + number.size
                pos = start + number.unpack_from(data, pos)[0]
                if pos > len(data):
                    raise IndexError("a text that is longer than the file")
                stack.append(data[start:pos].decode("utf-8", "surrogatepass"))
            elif code == _LONG1:
                if data[pos] > _LONGEST_NUMBER:
                    raise TypeError("a number of more than 64 bits")
                start = pos + 1
                pos = start + data[pos]
                stack.append(int.from_bytes(data[start:pos], "little", signed=True))
            elif code in _PUTS:
                number = _PUTS[code]
                memo[number.unpack_from(data, pos)[0]] = stack[-1]
                pos += number.size
            elif code in _SKIPPED:
                pos += _SKIPPED[code]
            elif code == pickle.STOP[0]:
                return stack[-1]
            else:
                self._build(code, pos)
            if self.progress and pos - reported > _PROGRESS_STEP:
                reported = pos
                self.progress(pos / len(data))

    def _build(self, code: int, pos: int) -> None:
        """Instructions without arguments."""
        stack = self.stack
        if code == pickle.MARK[0]:
            self.marks.append(len(stack))
        elif code == pickle.EMPTY_DICT[0]:
            stack.append({})
        elif code == pickle.EMPTY_LIST[0]:
            stack.append([])
        elif code == pickle.EMPTY_TUPLE[0]:
            stack.append(())
        elif code in _CONSTANTS:
            stack.append(_CONSTANTS[code])
        elif code in _TUPLES:
            count = _TUPLES[code]
            stack[-count:] = [tuple(stack[-count:])]
        elif code == pickle.TUPLE[0]:
            items = self._since_mark()
            stack.append(tuple(items))
        elif code == pickle.APPEND[0]:
            value = stack.pop()
            self._top(list).append(value)
        elif code == pickle.APPENDS[0]:
            items = self._since_mark()
            self._top(list).extend(items)
        elif code == pickle.SETITEM[0]:
            value, key = stack.pop(), stack.pop()
            self._set([key], [value])
        elif code == pickle.SETITEMS[0]:
            items = self._since_mark()
            self._set(items[::2], items[1::2])
        else:
            raise SourceError(f"contains more than plain data (instruction {chr(code)!r} at byte {pos - 1}); refused")

    def _set(self, keys: list[Any], values: list[Any]) -> None:
        if any(isinstance(key, tuple) for key in keys):
            raise TypeError("a tuple as a key")  # Python crashes when it hashes one that is nested a million levels deep
        self._top(dict).update(zip(keys, values, strict=False))

    def _top(self, kind: type) -> Any:
        if not isinstance(self.stack[-1], kind):
            raise TypeError(f"expected a {kind.__name__}")
        return self.stack[-1]

    def _since_mark(self) -> list[Any]:
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items
