"""Parses a document while its nodes are made, one after the other.

`json.loads` makes a dictionary of every node before the first one is used; for a million nodes these take twice the memory of the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from opscope.native.bulk import BulkNodes
from opscope.program import GrowingColumns

Reads: TypeAlias = Callable[[int], tuple[Any, int]]
"""Reads the value at a place of the text; returns it and the place after it."""

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")


class Unusual(Exception):
    """The text is not what a writer of opscope's JSON writes. Reading all of it at once then says what is wrong, if anything is."""


class SparingParser:
    """`made` is called with every element of a list `nodes` of a graph, and what it returns takes the element's place. With
    `bulk`, such a list becomes columns."""

    def __init__(self, text: str, made: Callable[[Any], Any], parse_constant: Callable[[str], Any], bulk: BulkNodes | None = None) -> None:
        self._text = text
        self._made = made
        self._bulk = bulk
        self._decode = json.JSONDecoder(parse_constant=parse_constant).raw_decode

    def document(self) -> Any:
        """What `json.loads` returns, with the nodes replaced."""
        graph = {"nodes": self._nodes}
        program = {"graphs": lambda at: self._list(at, lambda at: self._object(at, graph))}
        document = {**program, "programs": lambda at: self._list(at, lambda at: self._object(at, program))}
        try:
            value, at = self._object(self._skip(0), document)
        except (ValueError, OverflowError, RecursionError):
            raise Unusual from None
        if self._skip(at) != len(self._text):
            raise Unusual
        return value

    def _value(self, at: int) -> tuple[Any, int]:
        return self._decode(self._text, at)

    def _node(self, at: int) -> tuple[Any, int]:
        raw, end = self._decode(self._text, at)
        return self._made(raw), end

    def _object(self, at: int, members: Mapping[str, Reads]) -> tuple[dict[str, Any], int]:
        """An object, some of whose members have readers of their own."""
        values: dict[str, Any] = {}

        def member(at: int) -> int:
            self._expect('"', at)
            key, at = self._value(at)
            values[key], at = members.get(key, self._value)(self._after(_COLON, at))
            return at

        return values, self._items("{}", at, member)

    def _nodes(self, at: int) -> tuple[Any, int]:
        if self._bulk is None:
            return self._list(at, self._node)
        columns, bulk = GrowingColumns(), self._bulk
        is_first = True

        def element(at: int) -> int:
            nonlocal is_first
            if is_first:
                at = self._skip(bulk.read(self._text, at, columns))
                is_first = False
            node, at = self._node(at)
            columns.append(node)
            return at

        return columns, self._items("[]", at, element)

    def _list(self, at: int, item: Reads) -> tuple[list[Any], int]:
        values: list[Any] = []

        def element(at: int) -> int:
            value, at = item(at)
            values.append(value)
            return at

        return values, self._items("[]", at, element)

    def _items(self, brackets: str, at: int, item: Callable[[int], int]) -> int:
        """Items between brackets, with commas between them. `item` reads one and returns the place after it; so does this."""
        self._expect(brackets[0], at)
        at = self._skip(at + 1)
        if not self._text.startswith(brackets[1], at):
            at = item(at)
            while comma := _COMMA.match(self._text, at):
                at = item(comma.end())
            at = self._skip(at)
        self._expect(brackets[1], at)
        return at + 1

    def _expect(self, character: str, at: int) -> None:
        if not self._text.startswith(character, at):
            raise Unusual

    def _skip(self, at: int) -> int:
        return self._after(_SPACE, at)

    def _after(self, pattern: re.Pattern[str], at: int) -> int:
        match = pattern.match(self._text, at)
        if match is None:
            raise Unusual
        return match.end()
