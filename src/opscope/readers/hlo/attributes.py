"""Attributes: the `, key=value` list after an instruction, a computation or a module header.

Values have many grammars (sharding, windows, replica groups, JSON) and XLA adds one every few months. A value is therefore text:
what matters here is only where it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from opscope.readers.hlo.lexing import expected, group_end, skip, string_end, unquote

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*+)\s*+=")
_ATOM = re.compile(r"""(?:[^\s"'{}()\[\],/]++|/(?![/*]))+""")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _bracketed(depth: int) -> str:
    """An expression for brackets in brackets, down to some depth."""
    inner = rf"(?:[^\"'{{}}()\[\]/]++|{_STRING}" + (f"|{_bracketed(depth - 1)}" if depth else "") + ")*+"
    return rf"\{{{inner}\}}|\({inner}\)|\[{inner}\]"


_USUAL = re.compile(rf""", ([A-Za-z_][A-Za-z0-9_.-]*+)=((?:[^\s"'{{}}()\[\],/]++|{_STRING}|{_bracketed(3)})++)(?=,|\Z)""")
"""An attribute as XLA prints it, for speed: what this does not take is read step by step."""
_INNER_KEY = re.compile(r"""[\s,]*+(?:([A-Za-z_][A-Za-z0-9_.:/-]*+)|("(?:[^"\\]++|\\.)*+"))\s*+=\s*+""")
_NAME_MARK = re.compile(r"%(?=[A-Za-z_0-9])")

_CALL_KEYS = re.compile(r"calls|to_apply|body|condition|select|scatter|\w*computations?")


@lru_cache
def names_computations(key: str) -> bool:
    """Does this attribute's value name computations, or hold one?"""
    return _CALL_KEYS.fullmatch(key) is not None


EXPANDED = ("metadata", "frontend_attributes")
"""Attributes whose members are shown one by one: `metadata.op_name`."""


class Attribute(NamedTuple):
    """A key and where its value stands in the text."""

    key: str
    start: int
    end: int


def value_end(text: str, pos: int) -> int:
    """Past the value that begins here: brackets, strings and words that touch, and after a space only what no name can begin."""
    size = len(text)
    end = pos
    while pos < size:
        char = text[pos]
        if char in "{[(":
            end = pos = group_end(text, pos)
        elif char in "\"'":
            end = pos = string_end(text, pos)
        else:
            found = _ATOM.match(text, pos)
            if found:
                end = pos = found.end()
            else:
                after = skip(text, pos)
                if after == pos or after >= size or text[after].isalpha() or text[after] in "%_\"',})]":
                    break
                pos = after
    return end


def read_attributes(text: str, pos: int) -> tuple[list[Attribute], int]:
    """All of `, key=value, key=value` from here, and the place after them."""
    found: list[Attribute] = []
    while True:
        usual = _USUAL.match(text, pos)
        if usual:
            found.append(Attribute(usual[1], *usual.span(2)))
            pos = usual.end()
            continue
        comma = skip(text, pos)
        if not text.startswith(",", comma):
            return found, pos
        start = skip(text, comma + 1)
        key = _KEY.match(text, start)
        if not key:
            raise expected(text, start, "an attribute like dimensions={0}")
        start = skip(text, key.end())
        pos = value_end(text, start)
        found.append(Attribute(key[1], start, pos))


def decoded(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values as a person wants them: strings unquoted, names without %, metadata member by member."""
    for key, start, end in read_attributes(text, 0)[0]:
        value = text[start:end]
        members = _members(value) if key in EXPANDED else None
        if members is not None:
            for name, member in members:
                yield f"{key}.{name}", member
        elif key == "control-predecessors" or names_computations(key):
            yield key, _NAME_MARK.sub("", value)
        else:
            yield key, unquote(value)


def _members(value: str) -> list[tuple[str, str]] | None:
    """The members of `{op_name="a" source_line=3}`, whatever separates them; None if it is something else."""
    members: list[tuple[str, str]] = []
    pos, last = 1, len(value) - 1
    if not value.startswith("{"):
        return None
    while True:
        found = _INNER_KEY.match(value, pos)
        if not found:
            return members if not value[pos:last].strip(" ,\n\t") else None
        end = value_end(value, found.end())
        if end > last:
            return None
        members.append((found[1] or unquote(found[2]), unquote(value[found.end() : end])))
        pos = end
