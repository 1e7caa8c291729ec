"""Where in a JSON text a field stands: for errors, so that an editor can jump there. Values that are passed by are skipped by
`json` itself, at its own speed."""

from __future__ import annotations

import json
import re

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_SPACE = re.compile(r"[ \t\r\n]*")


def place_of(text: str, path: str) -> tuple[int, int]:
    """Line and column of `graphs[0].nodes[3].inputs`, or of the innermost part of the path that is there."""
    at = _skip(text, 0)
    for key, index in _STEP.findall(path):
        found = _member(text, at, key or int(index))
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def _member(text: str, at: int, wanted: str | int) -> int | None:
    """Where a member of the object or list at `at` begins."""
    if text[at : at + 1] != ("{" if isinstance(wanted, str) else "["):
        return None
    skip_value = json.JSONDecoder().raw_decode
    at = _skip(text, at + 1)
    count = 0
    while text[at : at + 1] not in ("}", "]", ""):
        key: object = count
        if isinstance(wanted, str):
            key, at = skip_value(text, at)
            at = _skip(text, _skip(text, at) + 1)
        if key == wanted:
            return at
        at = _skip(text, skip_value(text, at)[1])
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        count += 1
    return None


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
