"""Attributes that are JSON text, such as XLA's backend_config: compared by value, because compilers print the keys in any order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any


def canonical(text: str) -> str:
    """Text that is equal for equal JSON objects; other text stays as it is."""
    value = parsed(text)
    return text if value is None else json.dumps(value, sort_keys=True)


@lru_cache(maxsize=1024)
def parsed(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is, or None."""
    if not text.startswith("{"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def differing(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The keys whose values differ, as `a.b.c`, with both values; None where a side does not have the key."""
    stack = [(path, old, new)]
    while stack:
        at, was, now = stack.pop()
        if isinstance(was, dict) and isinstance(now, dict):
            keys = [key for key in {**was, **now} if was.get(key) != now.get(key)]
            stack += [(f"{at}.{key}" if at else key, was.get(key), now.get(key)) for key in reversed(keys)]
        else:
            yield at, was, now
