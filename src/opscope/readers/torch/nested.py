"""Tensors in whatever a model takes or returns: lists, tuples, dicts, dataclasses and named tuples, nested to any depth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Every value that is not a container, with its path ("logits", "past[0].key"), in reading order."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, item = waiting.pop()
        inner = _items(path, item)
        if inner is None:
            yield path, item
        else:
            waiting.extend(reversed(inner))


def _items(path: str, value: Any) -> list[tuple[str, Any]] | None:
    dot = f"{path}." if path else ""
    if isinstance(value, Mapping):
        return [(f"{dot}{key}", item) for key, item in value.items()]
    if is_dataclass(value) and not isinstance(value, type):
        return [(f"{dot}{part.name}", getattr(value, part.name)) for part in fields(value)]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [(f"{dot}{name}", getattr(value, name)) for name in value._fields]
    if isinstance(value, list | tuple):
        return [(f"{path}[{index}]", item) for index, item in enumerate(value)]
    return None


def tensors(value: Any) -> list[tuple[str, Any]]:
    """The torch tensors in a value, with their paths."""
    import torch

    return [(path, item) for path, item in leaves(value) if isinstance(item, torch.Tensor)]
