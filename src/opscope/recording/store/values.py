"""Attribute values as JSON text and back. Tuples, which JSON lacks, stay tuples.

Anything that is neither plain data nor a container (a dtype object, a symbolic size) becomes text, because a recording must be readable
where the framework that it came from is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TUPLE = "\x00tuple"
_TUPLE_MARK = json.dumps(_TUPLE)[1:-1]
_DEEPEST = 64
_SCALARS = frozenset({str, int, float, bool, type(None)})
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def to_json(value: Any) -> str:
    """Compact JSON, which `from_json` decodes to an equal value."""
    return _ENCODER.encode(_plain(value))


def from_json(text: str) -> Any:
    return json.loads(text, object_hook=_restore) if _TUPLE_MARK in text else json.loads(text)


def _plain(value: Any, depth: int = 0) -> Any:
    if type(value) in _SCALARS:
        return value
    if depth > _DEEPEST:
        return str(value)
    if isinstance(value, tuple):  # before mappings, whose test is slow
        return {_TUPLE: [item if type(item) in _SCALARS else _plain(item, depth + 1) for item in value]}
    if isinstance(value, (list, set, frozenset)):
        return [item if type(item) in _SCALARS else _plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {str(key): item if type(item) in _SCALARS else _plain(item, depth + 1) for key, item in value.items()}
    return str(value)


def _restore(mapping: dict[str, Any]) -> Any:
    return tuple(mapping[_TUPLE]) if len(mapping) == 1 and _TUPLE in mapping else mapping
