"""All subclasses of a class, which hooks need in order to reach every rule of a compiler."""

from __future__ import annotations

from typing import Any


def subclasses(cls: Any) -> list[Any]:
    """Direct and indirect subclasses."""
    classes, waiting = [], [cls]
    while waiting:
        for sub in waiting.pop().__subclasses__():
            classes.append(sub)
            waiting.append(sub)
    return classes
