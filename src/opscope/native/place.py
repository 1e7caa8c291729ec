"""Finds the line and column of a field in a JSON text, so that an editor can jump to an error. `json` itself skips the values before it,
which is fast."""

from __future__ import annotations

import json
import re

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_SPACE = re.compile(r"[ \t\r\n]*")


def place_of(text: str, path: str) -> tuple[int, int]:
    """Line and column of a path such as `graphs[0].nodes[3].inputs`, or of the innermost part of it that exists."""
    at = _skip(text, 0)
    for key, index in _STEP.findall(path):
        start = _member(text, at, key or int(index))
        if start is None:
            break
        at = start
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _member(text: str, at: int, member: str | int) -> int | None:
    """Where the member of the object or list at `at` starts; None if it has no such member."""
    if text[at : at + 1] != ("{" if isinstance(member, str) else "["):
        return None
    skip_value = json.JSONDecoder().raw_decode
    at = _skip(text, at + 1)
    count = 0
    while text[at : at + 1] not in ("}", "]", ""):
        key: object = count
        if isinstance(member, str):
            key, at = skip_value(text, at)
            at = _skip(text, _skip(text, at) + 1)
        if key == member:
            return at
        at = _skip(text, skip_value(text, at)[1])
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        count += 1
    return None


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
