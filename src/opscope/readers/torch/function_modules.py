"""The modules that a function works with, though they are not its arguments."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any


def modules_of_function(function: Any) -> list[Any]:
    """Modules in its closure, in what is bound to it, and under the global names in its code and in the functions beside it."""
    import torch

    modules: list[Any] = []
    visited: dict[int, Any] = {}  # holds each item, so that no other can get its id
    waiting: list[Any] = [function]
    while waiting:
        item = waiting.pop()
        if id(item) in visited:
            continue
        visited[id(item)] = item
        if isinstance(item, torch.nn.Module):
            modules.append(item)
        elif isinstance(item, FunctionType):
            waiting.extend(_values(item))
        elif isinstance(item, MethodType):
            waiting.extend((item.__func__, item.__self__, *getattr(item.__self__, "__dict__", {}).values()))
        elif isinstance(item, partial):
            waiting.extend((item.func, *item.args, *item.keywords.values()))
        elif isinstance(item, dict | list | tuple | set):
            waiting.extend(item.values() if isinstance(item, dict) else item)
        elif item is function:  # an object that can be called
            waiting.extend(getattr(item, "__dict__", {}).values())
    return modules


def _values(function: FunctionType) -> Iterator[Any]:
    """What the variables of a function hold that are not local. Functions of other files are somebody's library, and not followed."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    for name in _global_names(function.__code__):
        value = function.__globals__.get(name)
        if not isinstance(value, FunctionType) or value.__globals__ is function.__globals__:
            yield value


def _global_names(code: CodeType) -> set[str]:
    """With those of functions and comprehensions inside of it."""
    names: set[str] = set()
    waiting = [code]
    while waiting:
        inner = waiting.pop()
        names.update(inner.co_names)
        waiting.extend(each for each in inner.co_consts if isinstance(each, CodeType))
    return names
