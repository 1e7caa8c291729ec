"""Attributes: the `, key=value` list after an instruction, a computation or a module header.

Values have many grammars (sharding, windows, replica groups, JSON), and XLA adds one every few months. So a value is plain text, and
all that matters here is where it ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from opscope.readers.hlo.lexing import expected, group_end, skip, string_end, unquote

_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*+)\s*+=")
_ATOM = re.compile(r"""(?:[^\s"'{}()\[\],/]++|/(?![/*]))+""")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'


def _bracketed(depth: int) -> str:
    """A regular expression for nested brackets, down to some depth."""
    inner = rf"(?:[^\"'{{}}()\[\]/]++|{_STRING}|/\*[^*]*+\*/" + (f"|{_bracketed(depth - 1)}" if depth else "") + ")*+"
    return rf"\{{{inner}\}}|\({inner}\)|\[{inner}\]"


_INNER_KEY = re.compile(r"""[\s,]*+(?:([A-Za-z_][A-Za-z0-9_.:/-]*+)|("(?:[^"\\]++|\\.)*+"))\s*+=\s*+""")
_DEVICE_IDS = re.compile(r",\s*+device_ids=(?=\()")
"""Continues the value of `replica_groups=mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'y'}`."""
_NAME_MARK = re.compile(r"%(?=[A-Za-z_0-9])")

_CALL_KEYS = re.compile(r"calls|to_apply|body|condition|select|scatter|\w*computations?")


@cache
def _usual() -> re.Pattern[str]:
    """An attribute as XLA prints it, for speed: what this does not match is read step by step. Compiling it takes milliseconds, and other
    readers import this module too."""
    return re.compile(rf""", ([A-Za-z_][A-Za-z0-9_.-]*+)=((?:[^\s"'{{}}()\[\],/]++|{_STRING}|{_bracketed(3)})++)(?=,|\Z)""")


@lru_cache
def names_computations(key: str) -> bool:
    """Whether this attribute's value names computations, or contains one."""
    return _CALL_KEYS.fullmatch(key) is not None


EXPANDED = ("metadata", "frontend_attributes")
"""Attributes whose members are shown one by one: `metadata.op_name`."""


class Attribute(NamedTuple):
    """A key and the span of its value in the text."""

    key: str
    start: int
    end: int


def value_end(text: str, pos: int) -> int:
    """The end of the value that begins here: adjacent brackets, strings and words, and after a space only what cannot begin a name."""
    size = len(text)
    end = pos
    while pos < size:
        char = text[pos]
        if char in "{[(":
            end = pos = group_end(text, pos)
        elif char in "\"'":
            end = pos = string_end(text, pos)
        else:
            atom = _ATOM.match(text, pos)
            if atom:
                end = pos = atom.end()
            else:
                after = skip(text, pos)
                if after == pos or after >= size or text[after].isalpha() or text[after] in "%_\"',})]":
                    break
                pos = after
    return end


def read_attributes(text: str, pos: int) -> tuple[list[Attribute], int]:
    """All of `, key=value, key=value` from here, and the position after them."""
    attributes: list[Attribute] = []
    match = _usual().match
    while True:
        usual = match(text, pos)
        if usual:
            attributes.append(Attribute(usual[1], *usual.span(2)))
            pos = usual.end()
            continue
        comma = skip(text, pos)
        if not text.startswith(",", comma):
            return attributes, pos
        start = skip(text, comma + 1)
        key = _KEY.match(text, start)
        if not key:
            raise expected(text, start, "an attribute like dimensions={0}")
        start = skip(text, key.end())
        pos = value_end(text, start)
        devices = _DEVICE_IDS.match(text, pos) if text.startswith("mesh[", start) else None
        if devices:
            pos = value_end(text, devices.end())
        attributes.append(Attribute(key[1], start, pos))


def decoded(text: str) -> Iterator[tuple[str, str]]:
    """Keys and values as people read them: strings unquoted, names without %, metadata member by member."""
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
        key = _INNER_KEY.match(value, pos)
        if not key:
            return members if not value[pos:last].strip(" ,\n\t") else None
        end = value_end(value, key.end())
        if end > last:
            return None
        members.append((key[1] or unquote(key[2]), unquote(value[key.end() : end])))
        pos = end
