"""Capturing a model must not change it: whatever tracing or running leaves behind in a module is undone here."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from operator import is_
from typing import Any

from opscope.readers.torch.function_modules import modules_of_function
from opscope.readers.torch.module_calls import can_be_hooked

_CONTAINERS: tuple[Any, ...] = (OrderedDict, dict, list, set, deque)
_IMMUTABLE: tuple[Any, ...] = (tuple, frozenset)


@contextmanager
def same_state(module: Any) -> Iterator[None]:
    """Restore, on exit, the class and attributes of every reachable module, and the contents of every container and buffer.

    Everything has to be restored: transformers records in an attribute that its hooks are installed, and the hooks themselves are in
    the dicts of other modules.
    """
    import torch

    modules, contents = _in_reach(module)
    classes = [(part, type(part)) for part in modules]
    buffers = {id(buffer): buffer for part in modules for buffer in part.buffers(recurse=not can_be_hooked(part))}
    values = [(buffer, buffer.detach().clone()) for buffer in buffers.values() if _can_be_compared(buffer)]
    try:
        yield
    finally:
        for part, cls in classes:
            if type(part) is not cls:  # a lazy module changes its class when it first runs
                part.__class__ = cls
        for container, before in contents:
            now = _contents(container)
            if len(now) != len(before) or not all(map(is_, now, before)):
                _refill(container, before)
        for buffer, value in values:  # the statistics of a batch norm
            if not torch.equal(buffer, value):
                buffer.data.copy_(value)  # not as an operation, so that the user's graphs that saved it stay valid


@contextmanager
def undisturbed(module: Any) -> Iterator[None]:
    """For real runs: the random state is restored too, and nothing is compiled.

    Dynamo would cache what it compiles for `torch.cond` under our modes, and `torch.export` would then fail on it.
    """
    import torch

    with torch.random.fork_rng(devices=[]), same_state(module), torch.compiler.set_stance("force_eager"):
        yield


def _can_be_compared(tensor: Any) -> bool:
    import torch
    from torch._subclasses.fake_tensor import is_fake

    return tensor.layout is torch.strided and not tensor.is_meta and not is_fake(tensor)


def _in_reach(root: Any) -> tuple[list[Any], list[tuple[Any, list[Any]]]]:
    """Reachable modules, and the contents of all containers in them: attributes, hooks, parameters, a list in a dict."""
    import torch

    modules: list[Any] = []
    contents: list[tuple[Any, list[Any]]] = []
    visited: dict[int, Any] = {}  # keeps each item alive, so that its id is not reused
    followed = (torch.nn.Module, *_CONTAINERS, *_IMMUTABLE)
    waiting: list[Any] = [root, *modules_of_function(getattr(root, "opscope_function", None))]
    while waiting:
        item = waiting.pop()
        if id(item) in visited:
            continue
        visited[id(item)] = item
        inner: list[Any] = []
        if isinstance(item, torch.nn.Module):
            modules.append(item)
            if not can_be_hooked(item):
                continue  # TorchScript state is out of Python's reach
        else:
            inner = _contents(item)
            if not isinstance(item, _IMMUTABLE):
                contents.append((item, inner))
        if type(item) not in _CONTAINERS:  # a subclass of a container may have attributes too
            inner = [*inner, getattr(item, "__dict__", None)]
        waiting.extend([value for value in inner if isinstance(value, followed)])
    return modules, contents


def _contents(container: Any) -> list[Any]:
    """The items of a container; of a dict, its keys and then its values. Reading and refilling bypass what a subclass overrides:
    transformers' ModelOutput refuses `update`, and others compute their values."""
    kind = _kind(type(container))
    if issubclass(kind, dict):
        return [*kind.keys(container), *kind.values(container)]
    return list(kind.__iter__(container))


def _refill(container: Any, contents: list[Any]) -> None:
    kind = _kind(type(container))
    kind.clear(container)
    if issubclass(kind, dict):
        size = len(contents) // 2
        for key, value in zip(contents[:size], contents[size:], strict=True):
            kind.__setitem__(container, key, value)
    elif kind is set:
        set.update(container, contents)
    else:
        kind.extend(container, contents)


def _kind(cls: type) -> Any:
    """The built-in class of a container."""
    return cls if cls in _CONTAINERS else next(kind for kind in (*_CONTAINERS, *_IMMUTABLE) if issubclass(cls, kind))
