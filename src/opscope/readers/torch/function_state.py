"""What a function uses and may change without taking it as an argument: modules, and generators of random numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from opscope.readers.torch.random_sources import random_sources

Cached: Any = type(lru_cache(lambda: None))
"""The class of functions that keep their results."""


def state_of_function(function: Any) -> list[Any]:
    """Modules and generators in its closure and bound arguments, and in the globals used by its code and by functions of the same file."""
    import torch

    kinds = (torch.nn.Module, *random_sources())
    found: list[Any] = []
    visited: dict[int, Any] = {}  # keeps each item alive, so that its id is not reused
    waiting: list[Any] = [function]
    while waiting:
        item = waiting.pop()
        if id(item) in visited:
            continue
        visited[id(item)] = item
        if isinstance(item, kinds):
            found.append(item)
        elif isinstance(item, FunctionType):
            waiting.extend(_values(item))
        elif isinstance(item, MethodType):
            waiting.extend((item.__func__, item.__self__, *getattr(item.__self__, "__dict__", {}).values()))
        elif isinstance(item, partial):
            waiting.extend((item.func, *item.args, *item.keywords.values()))
        elif isinstance(item, dict | list | tuple | set):
            waiting.extend(item.values() if isinstance(item, dict) else item)
        elif item is function:  # a callable object
            waiting.extend(getattr(item, "__dict__", {}).values())
    return found


def caches_of(functions: Iterable[Any]) -> list[Any]:
    """What some functions, and those that they may call, may keep results in: functions with `functools.lru_cache`, and global dicts and
    lists."""
    found: list[Any] = []
    visited: set[int] = set()
    waiting = list(functions)
    while waiting:
        item = waiting.pop()
        if id(item) in visited:
            continue
        visited.add(id(item))
        if isinstance(item, Cached):
            found.append(item)
            waiting.append(item.__wrapped__)
        elif type(item) in (dict, list):
            found.append(item)
        elif isinstance(item, FunctionType):
            for value in _values(item):
                if isinstance(value, ModuleType):
                    waiting.extend(cache for name in _global_names(item.__code__) if isinstance(cache := vars(value).get(name), Cached))
                else:
                    waiting.append(value)
        elif isinstance(item, staticmethod | classmethod):
            waiting.append(item.__func__)
        elif isinstance(item, property):
            waiting.append(item.fget)
    return found


def _values(function: FunctionType) -> Iterator[Any]:
    """The values of a function's non-local variables. Functions of other files are library code and are not followed."""
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
    """Global names in the code, including those in nested functions and comprehensions."""
    names: set[str] = set()
    waiting = [code]
    while waiting:
        inner = waiting.pop()
        names.update(inner.co_names)
        waiting.extend(constant for constant in inner.co_consts if isinstance(constant, CodeType))
    return names
