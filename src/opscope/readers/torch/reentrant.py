"""Checkpoints of the reentrant kind, which run without gradients and once more, with gradients, inside their backward."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

TRACED = "Reentrant checkpoints are traced in their other form (use_reentrant=False), which gives the same gradients"
UNSEEN = "Reentrant checkpoints run once more inside their backward, where their parameters get gradients: these are not in this graph"
_LOCK = threading.RLock()
"""The class belongs to the whole process; what other threads do with it stays as it is."""


def is_reentrant(function: Any) -> bool:
    """Whether an autograd function is the backward of such a checkpoint."""
    return type(function).__name__ == "CheckpointFunctionBackward"


def has_gradient(inputs: tuple[Any, ...]) -> bool:
    """Whether such a checkpoint has a gradient: if one of its inputs has, whatever parameters are in it."""
    import torch

    return torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in inputs)


@contextmanager
def other_form() -> Iterator[list[Any]]:
    """In this thread, such checkpoints run in the form whose gradients can be followed. Yields the functions that did."""
    import torch
    from torch.utils.checkpoint import checkpoint

    found: list[Any] = []

    def call(original: Callable[..., Any], function: Any, preserve: bool, *args: Any) -> Any:
        found.append(function)
        if not has_gradient(args):
            with torch.no_grad():  # without the function, which torch.export would take to end without gradients
                return function(*args)
        return checkpoint(function, *args, use_reentrant=False, preserve_rng_state=preserve)

    with called_by(call):
        yield found


@contextmanager
def called_by(call: Callable[..., Any]) -> Iterator[None]:
    """In this thread, `call` runs such checkpoints; it gets what would run them, and what that takes."""
    from torch.utils.checkpoint import CheckpointFunction

    thread = threading.get_ident()
    before = CheckpointFunction.__dict__.get("apply")

    def apply(cls: Any, *args: Any) -> Any:
        original = before.__get__(None, cls) if before else super(CheckpointFunction, cls).apply
        return call(original, *args) if threading.get_ident() == thread else original(*args)

    with _LOCK:
        CheckpointFunction.apply = classmethod(apply)
        try:
            yield
        finally:
            if before:
                CheckpointFunction.apply = before
            else:
                del CheckpointFunction.apply
