"""Parses a document while its nodes are made, one after the other.

`json.loads` makes a dictionary of every node before the first one is used; for a million nodes these take twice the memory of the program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

Reads: TypeAlias = Callable[[int], tuple[Any, int]]
"""Reads the value at a place of the text; returns it and the place after it."""
Made = TypeVar("Made")

_SPACE = re.compile(r"[ \t\r\n]*")


class Unusual(Exception):
    """The text is not what a writer of opscope's JSON writes. Reading all of it at once then says what is wrong, if anything is."""


class SparingParser:
    """`made` is called with every element of a list `nodes` of a graph, and what it returns takes the element's place."""

    def __init__(self, text: str, made: Callable[[Any], Made], parse_constant: Callable[[str], Any]) -> None:
        self._text = text
        self._made = made
        self._value: Reads = self._guarded(json.JSONDecoder(parse_constant=parse_constant).raw_decode)

    def document(self) -> Any:
        """What `json.loads` returns, with the nodes replaced."""
        graph = {"nodes": lambda at: self._list(at, self._node)}
        program = {"graphs": lambda at: self._list(at, lambda at: self._object(at, graph))}
        document = {**program, "programs": lambda at: self._list(at, lambda at: self._object(at, program))}
        value, at = self._object(self._skip(0), document)
        if self._skip(at) != len(self._text):
            raise Unusual
        return value

    def _guarded(self, decode: Callable[[str, int], tuple[Any, int]]) -> Reads:
        text = self._text

        def read(at: int) -> tuple[Any, int]:
            try:
                return decode(text, at)
            except (ValueError, RecursionError):
                raise Unusual from None

        return read

    def _node(self, at: int) -> tuple[Any, int]:
        raw, end = self._value(at)
        return self._made(raw), end

    def _skip(self, at: int) -> int:
        space = _SPACE.match(self._text, at)
        return space.end() if space else at

    def _object(self, at: int, members: Mapping[str, Reads]) -> tuple[Any, int]:
        """An object, some of whose members have readers of their own."""
        text = self._text
        if text[at : at + 1] != "{":
            raise Unusual
        values: dict[str, Any] = {}
        first = self._skip(at + 1)
        if text[first : first + 1] == "}":
            return values, first + 1
        while text[at] != "}":
            at = self._skip(at + 1)
            if text[at : at + 1] != '"':
                raise Unusual
            key, at = self._value(at)
            at = self._skip(at)
            if text[at : at + 1] != ":":
                raise Unusual
            values[key], at = members.get(key, self._value)(self._skip(at + 1))
            at = self._after(at, "}")
        return values, at + 1

    def _list(self, at: int, item: Reads) -> tuple[list[Any], int]:
        text = self._text
        if text[at : at + 1] != "[":
            raise Unusual
        values: list[Any] = []
        first = self._skip(at + 1)
        if text[first : first + 1] == "]":
            return values, first + 1
        while text[at] != "]":
            value, at = item(self._skip(at + 1))
            values.append(value)
            at = self._after(at, "]")
        return values, at + 1

    def _after(self, at: int, closing: str) -> int:
        """The comma or the closing bracket after a value."""
        at = self._skip(at)
        if self._text[at : at + 1] not in (",", closing):
            raise Unusual
        return at
