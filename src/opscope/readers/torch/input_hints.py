"""What is probably wrong with the inputs of a module that fails before its first operation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from opscope.readers.torch.names import ONE_BY_ONE


def input_mistake(args: tuple[Any, ...]) -> str:
    """A common mistake, and what to write instead; empty if there is none."""
    if args and all(isinstance(size, int) and not isinstance(size, bool) for argument in args for size in _items(argument)):
        return with_tensors(args[0] if len(args) == 1 else args)
    if any(type(argument) in (tuple, list) for argument in args):
        return ONE_BY_ONE
    if any(isinstance(argument, Mapping) for argument in args):
        return "pass the entries of a dict as keywords: opscope.capture(model, **inputs)"
    if any(type(argument).__module__ == "numpy" for argument in args):
        return "pass tensors, not NumPy arrays: opscope.capture(model, torch.from_numpy(x))"
    return ""


def with_tensors(size: Any) -> str:
    """What to write instead of the size of an input, or of those of several."""
    several = size if all(isinstance(each, tuple | list) for each in _items(size)) else (_items(size),)
    inputs = ", ".join(f"torch.rand({', '.join(map(str, each))})" for each in several)
    return f"pass tensors, not sizes: opscope.capture(model, {inputs})"


def input_hint(module: Any, args: tuple[Any, ...]) -> str:
    return input_mistake(args) or f"pass the inputs that its forward takes: {', '.join(input_names(module)) or 'none'}"


def input_names(module: Any) -> list[str]:
    """The names of the positional parameters of `forward`."""
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _items(argument: Any) -> Any:
    return argument if isinstance(argument, tuple | list) else (argument,)
