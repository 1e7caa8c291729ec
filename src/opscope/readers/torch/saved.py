"""What an autograd function holds: its attributes and the tensors it saved for backward, unless they have been freed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from opscope.readers.torch.values import plain

PREFIX = "_saved_"
CUSTOM = "saved["
"""The prefix of tensors saved by a custom autograd.Function, which have no names."""
FREED = "[freed]"
_UNSIGNED_HALF = 1 << 63


class Held(NamedTuple):
    """What one function holds. `freed` means that backward() has freed its tensors."""

    values: dict[str, Any]
    tensors: list[tuple[str, Any]]
    freed: bool


def is_custom(name: str) -> bool:
    """Whether the name of a saved tensor is one that a custom autograd.Function's tensors get."""
    return name.startswith(CUSTOM)


@lru_cache(maxsize=2048)
def _saved_names(cls: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of saved values, and of saved tensors, which torch also offers packed under another name."""
    names = [name for name in dir(cls) if name.startswith(PREFIX)]
    opened = tuple(name for name in names if hasattr(cls, f"_raw{name}"))
    return tuple(name for name in names if name not in opened), opened


def held_by(function: Any, *, values: bool, tensors: bool, listed: bool = False) -> Held:
    """What a function holds. Tensors of a custom autograd.Function are always included, as in torchviz.

    `listed` names the tensors among the values too: "[saved tensor]", or "None" where the function did not need one.
    """
    import torch

    plain_names, tensor_names = _saved_names(function.__class__)
    attributes: dict[str, Any] = {}
    saved: list[tuple[str, Any]] = []
    freed = False
    if values:
        for name in plain_names:
            attributes[name[len(PREFIX) :]] = _signed(getattr(function, name))
    if values or tensors:
        for name in tensor_names:
            try:
                value = getattr(function, name) if tensors or listed else None
            except RuntimeError:  # "Trying to backward through the graph a second time"
                freed = True
                if listed:
                    attributes[name[len(PREFIX) :]] = FREED
                continue
            if listed:
                attributes[name[len(PREFIX) :]] = _saved_text(value)
            if tensors:
                saved.extend(_tensors_in(name[len(PREFIX) :], value))
    if isinstance(function, torch.autograd.function.BackwardCFunction):
        custom: list[tuple[str, Any]] = []
        try:
            custom = [(f"{CUSTOM}{index}]", tensor) for index, tensor in enumerate(function.saved_tensors)]
        except RuntimeError:
            freed = True
        saved.extend((name, tensor) for name, tensor in custom if tensor is not None)
        if values:
            attributes.update((key, value) for key, value in vars(function).items() if not isinstance(value, torch.Tensor))
        if listed:
            attributes.update((name, _saved_text(tensor)) for name, tensor in custom)
    return Held(dict(sorted(attributes.items())) if listed else attributes, saved, freed)


def is_freed(function: Any) -> bool | None:
    """Whether backward() has freed what a function saved; None if it saved nothing. Unpacks one tensor, which hooks may notice."""
    for name in _saved_names(function.__class__)[1]:
        try:
            if getattr(function, name) is not None:
                return False
        except RuntimeError:
            return True
    return None


_BINARY = ("MulBackward0", "DivBackward0")


def took_a_number(function: Any, position: int) -> bool:
    """Whether an operand without a gradient was a Python number: products and quotients save it as a zero-dimensional tensor."""
    if type(function).__name__ not in _BINARY:
        return False
    try:
        operand = getattr(function, f"{PREFIX}{'other' if position else 'self'}")
    except RuntimeError:  # freed by backward()
        return False
    return operand is not None and operand.dim() == 0


def _saved_text(value: Any) -> str:
    """What torchviz lists for a saved tensor, a tuple of them, or one that was not needed."""
    if hasattr(value, "dtype"):
        return "[saved tensor]"
    several = isinstance(value, tuple | list) and any(hasattr(item, "dtype") for item in value)
    return "[saved tensors]" if several else str(value)


def _tensors_in(name: str, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, tuple | list):
        return [(f"{name}[{index}]", item) for index, item in enumerate(value) if item is not None]
    return [] if value is None else [(name, value)]


def _signed(value: Any) -> Any:
    """A signed dimension: autograd stores dimensions as unsigned 64-bit numbers, so 2**64 - 1 is -1."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= _UNSIGNED_HALF:
        return value - 2 * _UNSIGNED_HALF
    if isinstance(value, tuple | list):
        return type(value)(_signed(item) for item in value) if not hasattr(value, "_fields") else value
    return value


def attribute_text(value: Any, most: int) -> Any:
    """A value for the node's attributes; text is cut to `most` characters."""
    shown = plain(value)
    text = shown if isinstance(shown, str) else str(shown)
    if len(text) <= max(most, 3):
        return shown
    return f"{text[: max(most, 3) - 3]}..."
