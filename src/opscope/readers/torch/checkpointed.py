"""Which modules of a model run inside `torch.utils.checkpoint`: torch.export traces through it and leaves no mark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

CHECKPOINTED = "checkpointed"
"""The attribute of a program: the qualified names of modules that are recomputed; empty for a function that is not of a module."""
_STARTS = "_checkpoint_without_reentrant_generator"


@contextmanager
def noticed(model: Any) -> Iterator[list[str]]:
    """The modules that are checkpointed while a model runs, filled in meanwhile."""
    from torch.utils import checkpoint

    names = {id(module): name for name, module in model.named_modules()}
    found: list[str] = []
    original = getattr(checkpoint, _STARTS, None)

    def start(function: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(names.get(id(function)) or names.get(id(getattr(function, "__self__", None))) or "")
        return original(function, *args, **kwargs)  # type: ignore[misc]

    if original is None:
        yield found
        return
    setattr(checkpoint, _STARTS, start)
    try:
        yield found
    finally:
        setattr(checkpoint, _STARTS, original)
