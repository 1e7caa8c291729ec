"""Classes of a compiler that hooks must reach, however deep they are derived."""

from __future__ import annotations

from typing import Any


def subclasses(cls: Any) -> list[Any]:
    """All that derive from a class, directly or not."""
    found, waiting = [], [cls]
    while waiting:
        for sub in waiting.pop().__subclasses__():
            found.append(sub)
            waiting.append(sub)
    return found
