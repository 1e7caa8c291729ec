"""Looking must change nothing: whatever tracing or running leaves behind in a module, in its inputs or in torch is undone here."""

from __future__ import annotations

import random
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from operator import is_
from types import ModuleType
from typing import Any

from opscope.readers.torch.function_state import state_of_function
from opscope.readers.torch.module_calls import can_be_hooked
from opscope.readers.torch.random_sources import random_sources, rewind

_CONTAINERS: tuple[Any, ...] = (OrderedDict, dict, list, set, deque)
_IMMUTABLE: tuple[Any, ...] = (tuple, frozenset)
_PLAIN: frozenset[type] = frozenset([str, int, float, bool, bytes, type(None)])
"""What most containers contain, and what contains nothing itself."""


@contextmanager
def same_state(module: Any, *inputs: Any) -> Iterator[None]:
    """Restore, on exit, the class and attributes of every module and object in reach of a module and its inputs, the contents of every
    container, every tensor that is not a parameter, and every generator of random numbers.

    Everything has to be restored: transformers records in an attribute that its hooks are installed, and the hooks themselves are in
    the dicts of other modules. A model may write into its inputs, too: an activation in place, a cache of keys and values.
    """
    import torch

    reach = _Reach([module, *state_of_function(getattr(module, "opscope_function", None)), *inputs])
    classes = [(part, type(part)) for part in reach.modules]
    values = [(tensor, tensor.detach().clone()) for tensor in reach.tensors if _can_be_compared(tensor)]
    try:
        yield
    finally:
        for part, cls in classes:
            if type(part) is not cls:  # a lazy module changes its class when it first runs
                part.__class__ = cls
        for container, before in reach.contents:
            now = _contents(container)
            if len(now) != len(before) or not all(map(is_, now, before)):
                _refill(container, before)
        for tensor, value in values:  # the statistics of a batch norm
            if not torch.equal(tensor, value):
                tensor.data.copy_(value)  # not as an operation, so that the user's graphs that saved it stay valid
        for put_back in reach.rewinds:
            put_back()


@contextmanager
def undisturbed(module: Any, *inputs: Any) -> Iterator[None]:
    """For real runs: random numbers and the settings that a model may change are restored too, and nothing is compiled.

    Dynamo would cache what it compiles for `torch.cond` under our modes, and `torch.export` would then fail on it.
    """
    import torch

    with same_settings(), same_state(module, *inputs), torch.compiler.set_stance("force_eager"):
        yield


@contextmanager
def same_settings() -> Iterator[None]:
    """Restore, on exit, the random numbers of torch, Python and NumPy, whether gradients are recorded, and the default dtype."""
    import torch

    numpy_random = getattr(sys.modules.get("numpy"), "random", None)
    of_python, of_numpy = random.getstate(), numpy_random.get_state() if numpy_random else None
    gradients, dtype = torch.is_grad_enabled(), torch.get_default_dtype()
    devices = range(torch.cuda.device_count()) if torch.cuda.is_available() and torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(of_python)
        if numpy_random:
            numpy_random.set_state(of_numpy)
        torch.set_grad_enabled(gradients)
        torch.set_default_dtype(dtype)


def _can_be_compared(tensor: Any) -> bool:
    import torch
    from torch._subclasses.fake_tensor import is_fake

    return type(tensor) is torch.Tensor and tensor.layout is torch.strided and not tensor.is_meta and not is_fake(tensor)


class _Reach:
    """What can be reached from some objects: modules, the contents of all containers (attributes, hooks, a list in a dict), tensors
    except parameters, which no forward changes and which may be too large to copy, and generators of random numbers."""

    def __init__(self, roots: list[Any]) -> None:
        import torch

        self.modules: list[Any] = []
        self.contents: list[tuple[Any, list[Any]]] = []
        self.tensors: list[Any] = []
        self.rewinds: list[Callable[[], Any]] = []
        sources = random_sources()
        followed = (torch.Tensor, torch.nn.Module, *_CONTAINERS, *_IMMUTABLE, *sources)
        visited: dict[int, Any] = {}  # keeps each item alive, so that its id is not reused
        waiting = list(roots)
        while waiting:
            item = waiting.pop()
            if id(item) in visited:
                continue
            visited[id(item)] = item
            if isinstance(item, torch.Tensor):
                if not isinstance(item, torch.nn.Parameter):
                    self.tensors.append(item)
                continue
            if isinstance(item, sources):
                if put_back := rewind(item):
                    self.rewinds.append(put_back)
                continue
            inner: list[Any] = []
            if isinstance(item, torch.nn.Module):
                self.modules.append(item)
                if not can_be_hooked(item):  # the other state of TorchScript is out of Python's reach
                    waiting.extend(item.buffers())
                    continue
            elif isinstance(item, (*_CONTAINERS, *_IMMUTABLE)):
                inner = _contents(item)
                if not isinstance(item, _IMMUTABLE):
                    self.contents.append((item, inner))
            if type(item) not in _CONTAINERS:  # a module, an object, or a subclass of a container, which may have attributes too
                inner = [*inner, getattr(item, "__dict__", None)]
            waiting.extend([value for value in inner if type(value) not in _PLAIN and (isinstance(value, followed) or _keeps_state(value))])


def _keeps_state(value: Any) -> bool:
    """Whether it is an object of a model's own, such as a cache. Those of Python and torch (locks, loggers, process groups) are left alone:
    they lead to the rest of the process."""
    if isinstance(value, (type, ModuleType, Enum)) or not hasattr(value, "__dict__"):
        return False
    package = type(value).__module__.partition(".")[0]
    return package != "torch" and package not in sys.stdlib_module_names


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


def runs(module: Any, args: Any, kwargs: Any) -> bool:
    """Whether a module takes these inputs: a detector does take a list of images."""
    import torch

    try:
        with undisturbed(module, args, kwargs), torch.no_grad():
            module(*args, **kwargs)
    except Exception:  # whatever a model raises
        return False
    return True
