"""Attributes that are the text of an object, such as XLA's backend_config: compared by value, because compilers print keys in any order.

The text is JSON or that of a protocol buffer (`triton { block_m: 64 }`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_FIELD = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::\s*(\{|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|-?[\w.+-]+)|(\{))\s*[,;]?|\s*(\})\s*[,;]?")
"""A field of a protocol buffer's text with its value, one that begins a message, or the end of a message."""
_DEEPEST = 100
"""Messages in messages, as protocol buffers allow."""


def canonical(text: str) -> str:
    """Text that is equal for equal objects; other text stays as it is."""
    value = parsed(text)
    return text if value is None else json.dumps(value, sort_keys=True)


@lru_cache(maxsize=1024)
def parsed(text: str) -> dict[str, Any] | None:
    """The object that the text is, or None."""
    if not text.startswith("{"):
        return _message(text)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _message(text: str) -> dict[str, Any] | None:
    """The message that the text of a protocol buffer is, or None. A field that is there several times is a list."""
    messages: list[dict[str, Any]] = [{}]
    end, whole = 0, len(text.rstrip())
    while end < whole:
        field = _FIELD.match(text, end)
        if field is None:
            return None
        end = field.end()
        name, value, opens, closes = field.groups()
        if closes:
            messages.pop()
            if not messages:
                return None
            continue
        inner: Any = {} if opens or value == "{" else value
        message = messages[-1]
        if name not in message:
            message[name] = inner
        elif isinstance(message[name], list):
            message[name].append(inner)
        else:
            message[name] = [message[name], inner]
        if isinstance(inner, dict):
            messages.append(inner)
            if len(messages) > _DEEPEST:
                return None
    return messages[0] if len(messages) == 1 and messages[0] else None


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
