"""What a module's forward could change: whatever can be reached from it and its inputs, and how each part is put back."""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from operator import is_
from types import CellType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from opscope.readers.torch.function_state import Cached, caches_of
from opscope.readers.torch.module_calls import can_be_hooked
from opscope.readers.torch.random_sources import random_sources, rewind
from opscope.readers.torch.tensor_state import TensorState, can_be_put_back
from opscope.readers.torch.values import dense_parts

_CONTAINERS: tuple[Any, ...] = (OrderedDict, dict, list, set, deque)
_IMMUTABLE: tuple[Any, ...] = (tuple, frozenset)
_PLAIN: frozenset[type] = frozenset([str, int, float, bool, bytes, type(None)])
"""What most containers contain, and what contains nothing itself."""
_HOLDERS = frozenset(["argparse", "collections", "types", "weakref"])
"""Modules of Python whose objects hold what a model puts into them. Others (locks, loggers) lead to the rest of the process."""
_FUNCTIONS = (FunctionType, staticmethod, classmethod, property)
_EMPTY = object()


class Reach:
    """What can be reached from some objects: modules and their classes, the contents of all containers (attributes, hooks, a list in a
    dict), the variables of functions such as hooks, tensors, arrays, and generators of random numbers.

    Parameters and gradients are apart: nearly no forward changes them, and they may be too large to copy.
    """

    def __init__(self, roots: list[Any]) -> None:
        import torch

        self.modules: list[Any] = []
        self.tensors: list[TensorState] = []
        self.parameters: list[TensorState] = []
        self._contents: list[tuple[Any, list[Any]]] = []
        self._variables: list[tuple[Any, Any, Any]] = []
        """Where a value is that is not in a container: what gets and sets it, of which object, and the value."""
        self._classes: dict[type, dict[str, Any]] = {}
        self._rewinds: list[Callable[[], Any]] = []
        self._caches: list[tuple[Any, int]] = []
        """Functions with `functools.lru_cache`, and how often they have been computed."""
        self._global: list[tuple[Any, list[Any]]] = []
        """Global dicts and lists, which are put back only if torch.export left fake tensors in them: others may note what was done once."""
        self._array: Any = getattr(sys.modules.get("numpy"), "ndarray", type(None))
        self._sources = random_sources()
        self._followed = (torch.Tensor, torch.nn.Module, *_CONTAINERS, *_IMMUTABLE, *self._sources)
        visited: dict[int, Any] = {}  # keeps each item alive, so that its id is not reused
        waiting = list(roots)
        while waiting:
            item = waiting.pop()
            if id(item) in visited:
                continue
            visited[id(item)] = item
            waiting.extend(value for value in self._inside(item) if type(value) not in _PLAIN and self._is_followed(value))

    def put_back(self) -> None:
        """Containers, variables, attributes of classes, tensors, arrays and generators as they were."""
        from torch._subclasses.fake_tensor import FakeTensor

        for container, before in self._contents:
            now = _contents(container)
            if len(now) != len(before) or not all(map(is_, now, before)):
                _refill(container, before)
        for place, owner, value in self._variables:
            if _read(place, owner) is not value:
                if value is _EMPTY:
                    place.__delete__(owner)
                else:
                    place.__set__(owner, value)
        for cls, attributes in self._classes.items():
            present = _attributes(cls)
            for name in present.keys() - attributes.keys():
                delattr(cls, name)
            for name, value in attributes.items():
                if present.get(name, _EMPTY) is not value:
                    setattr(cls, name, value)
        for cache, misses in self._caches:
            if cache.cache_info().misses != misses:  # of fake tensors, when torch.export traced
                cache.cache_clear()
        for container, before in self._global:
            if any(type(value) is FakeTensor for value in _contents(container)):
                _refill(container, before)
        for state in (*self.tensors, *self.parameters):
            state.put_back()
        for each in self._rewinds:
            each()

    def _is_followed(self, value: Any) -> bool:
        return isinstance(value, self._followed) or type(value) is self._array or _keeps_state(value)

    def _inside(self, item: Any) -> list[Any]:
        """Notes an item, and returns what can be reached from it directly."""
        import torch

        if isinstance(item, torch.Tensor):
            return self._of_tensor(item)
        if isinstance(item, self._sources):
            self._rewinds += [put_back] if (put_back := rewind(item)) else []
            return []
        if type(item) is self._array:
            if item.flags.writeable:
                self._rewinds.append(partial(item.__setitem__, ..., item.copy()))
            return []
        if isinstance(item, Cached):
            self._caches.append((item, item.cache_info().misses))
            return [item.__wrapped__]
        inner: list[Any] = []
        if isinstance(item, torch.nn.Module):
            self.modules.append(item)
            if not can_be_hooked(item):  # the other state of TorchScript is out of Python's reach
                return list(item.buffers())
            inner = [value for cls in type(item).__mro__ if _is_own(cls.__module__) for value in self._of_class(cls)]
        elif isinstance(item, (*_CONTAINERS, *_IMMUTABLE)):
            inner = _contents(item)
            if not isinstance(item, _IMMUTABLE):
                self._contents.append((item, inner))
        elif isinstance(item, FunctionType):
            inner = [*(item.__closure__ or ()), *(item.__defaults__ or ()), *(item.__kwdefaults__ or {}).values()]
        elif isinstance(item, CellType):
            inner = [self._variable(vars(CellType)["cell_contents"], item)]
        else:
            inner = [*_parts(item), *(self._variable(slot, item) for slot in _slots(type(item)))]
        if type(item) not in _CONTAINERS:  # a module, an object, or a subclass of a container, which may have attributes too
            inner = [*inner, getattr(item, "__dict__", None)]
        return inner

    def _of_tensor(self, tensor: Any) -> list[Any]:
        import torch

        inner = [vars(tensor)]  # Dynamo leaves marks on tensors
        if not can_be_put_back(tensor):
            return [*inner, *(part for part in dense_parts(tensor) if part is not tensor)]
        (self.parameters if isinstance(tensor, torch.nn.Parameter) else self.tensors).append(TensorState(tensor))
        gradient = tensor.grad if tensor.is_leaf else None
        if gradient is not None and can_be_put_back(gradient):
            self.parameters.append(TensorState(gradient))
            inner.append(vars(gradient))
        return inner

    def _variable(self, place: Any, owner: Any) -> Any:
        value = _read(place, owner)
        self._variables.append((place, owner, value))
        return value

    def _of_class(self, cls: type) -> list[Any]:
        """A count of all objects, a cache that they share."""
        if cls in self._classes:
            return []
        self._classes[cls] = _attributes(cls)
        caches = caches_of(value for value in vars(cls).values() if isinstance(value, _FUNCTIONS))
        self._global += [(each, _contents(each)) for each in caches if not isinstance(each, Cached)]
        values = [value for value in self._classes[cls].values() if not isinstance(value, _FUNCTIONS)]
        return [*values, *(each for each in caches if isinstance(each, Cached))]


def _attributes(cls: type) -> dict[str, Any]:
    return {name: value for name, value in vars(cls).items() if not name.startswith("__")}


def _read(place: Any, owner: Any) -> Any:
    try:
        return place.__get__(owner)
    except (AttributeError, ValueError):  # a slot or a cell without a value
        return _EMPTY


def _slots(cls: type) -> Iterator[Any]:
    for kind in cls.__mro__:
        if _is_own(kind.__module__):
            yield from (member for member in vars(kind).values() if isinstance(member, MemberDescriptorType))


def _parts(item: Any) -> tuple[Any, ...]:
    """What is in an object of Python's own that is neither a container nor has attributes."""
    if isinstance(item, MethodType):
        return item.__self__, item.__func__
    if isinstance(item, partial):
        return item.func, *item.args, *item.keywords.values()
    return (item(),) if isinstance(item, weakref.ref) else ()


def _keeps_state(value: Any) -> bool:
    """Whether it is an object of a model's own, such as a cache or a hook."""
    if isinstance(value, (FunctionType, Cached)):
        return _is_own(value.__module__)
    if isinstance(value, (CellType, MethodType, partial, weakref.ref)):
        return True
    if isinstance(value, type):
        return False
    kind = type(value)
    if isinstance(value, (ModuleType, Enum)) or not (hasattr(value, "__dict__") or "__slots__" in vars(kind)):
        return False
    return _is_own(kind.__module__) or kind.__module__ in _HOLDERS


def _is_own(module: str | None) -> bool:
    """Whether code belongs neither to Python nor to torch."""
    package = str(module).partition(".")[0]
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
