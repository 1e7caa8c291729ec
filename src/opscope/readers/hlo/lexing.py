"""The lexical level of HLO text: whitespace and comments, strings, brackets, names, and the position of an error."""

from __future__ import annotations

import re

from opscope.errors import SourceError

_SPACE = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/|(?<![^\n])#[^\n]*+)*+", re.DOTALL)
"""Whitespace and comments. Some of XLA's tests have lines that begin with #, for the tool that runs them."""
_PLAIN = re.compile(r"""(?:[^"'{}()\[\]/]++|/(?![/*]))*+""")
_STRING = re.compile(r""""[^"\\]*+(?:\\.[^"\\]*+)*+"|'[^'\\]*+(?:\\.[^'\\]*+)*+'""", re.DOTALL)
_MARKED = r"/\*.*?(?:\*/|\Z)"
"""A comment; one that is never closed ends with the text, or each of a million would be searched to its end."""
_COMMENT = re.compile(rf"({_STRING.pattern})|//[^\n]*+|{_MARKED}", re.DOTALL)
_MARK = re.compile(_MARKED, re.DOTALL)
"""The comments that XLA prints into long lists, `/*index=5*/`."""
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_CLOSING = {"{": "}", "(": ")", "[": "]"}

NAME = re.compile(r"%([^\s=(),{}\"#]++)|([A-Za-z_][A-Za-z0-9_.-]*+)")
"""A name, with the % that XLA prints before it (group 1) or without (group 2)."""


def fail(text: str, pos: int, message: str) -> SourceError:
    """An error at a position in the text. Lines are counted only now that they are needed."""
    return SourceError(message, line=text.count("\n", 0, pos) + 1, column=pos - text.rfind("\n", 0, pos))


def expected(text: str, pos: int, what: str) -> SourceError:
    """An error that says what was expected here and what is here instead."""
    if pos >= len(text):
        return fail(text, pos, f"expected {what}, but the text ends")
    if text.startswith("/*", pos):
        return fail(text, pos, "this comment is never closed; expected */")
    token = re.compile(r"[\w.%-]{1,40}|.", re.DOTALL).match(text, pos)
    return fail(text, pos, f"expected {what}, found {token[0] if token else ''!r}")


def skip(text: str, pos: int) -> int:
    """The position after whitespace and comments."""
    space = _SPACE.match(text, pos)
    return space.end() if space else pos


def string_end(text: str, pos: int) -> int:
    """The end of the string that begins here."""
    string = _STRING.match(text, pos)
    if not string:
        raise fail(text, pos, f"this string is never closed; expected {text[pos]}")
    return string.end()


def group_end(text: str, pos: int) -> int:
    """The position after the bracket that closes the one here. Brackets in strings and comments do not count."""
    opened = [pos]
    pos += 1
    size = len(text)
    while opened:
        plain = _PLAIN.match(text, pos)
        pos = plain.end() if plain else pos
        if pos >= size:
            place = opened[-1]
            raise fail(text, place, f"{text[place]!r} is never closed; expected {_CLOSING[text[place]]!r}")
        char = text[pos]
        if char in "\"'":
            pos = string_end(text, pos)
        elif char == "/":
            after = skip(text, pos)
            if after == pos:
                raise expected(text, pos, "*/")
            pos = after
        else:
            if char in _CLOSING:
                opened.append(pos)
            elif char != _CLOSING[text[opened[-1]]]:
                place = opened[-1]
                raise fail(text, pos, f"expected {_CLOSING[text[place]]!r} to close {text[place]!r}, found {char!r}")
            else:
                opened.pop()
            pos += 1
    return pos


def split_list(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Spans of the comma-separated items between two positions, without surrounding whitespace and comments."""
    items: list[tuple[int, int]] = []
    pos = skip(text, start)
    while pos < end:
        first = last = pos
        while pos < end and text[pos] != ",":
            char = text[pos]
            if char in _CLOSING:
                pos = group_end(text, pos)
            elif char in "\"'":
                pos = string_end(text, pos)
            else:
                item = _ITEM.match(text, pos)
                pos = item.end() if item and item.end() > pos else pos + 1
            last = min(pos, end)
            pos = skip(text, pos)
        items.append((first, last))
        pos = skip(text, pos + 1)
    return items


_ITEM = re.compile(r"""(?:[^\s"'{}()\[\],/]++|/(?![/*]))+""")


def without_comments(text: str) -> str:
    """The text without comments. What looks like a comment inside a string stays."""
    if "//" in text or ("/*" in text and ('"' in text or "'" in text)):
        return _COMMENT.sub(r"\1", text)
    return _MARK.sub("", text) if "/*" in text else text


def unquote(text: str) -> str:
    """The contents of a quoted string; other text is returned as it is."""
    if len(text) < 2 or text[0] not in "\"'" or text[-1] != text[0]:
        return text
    inner = text[1:-1]
    return _ESCAPE.sub(_unescape, inner) if "\\" in inner else inner


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    return _ESCAPED.get(code, code)
