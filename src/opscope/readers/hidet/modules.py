"""A hidet module with its inputs: the graph that hidet traces of it, with the layer and line of each operator and the names of weights.

hidet's own graph keeps none of these. The forward of a module stores things in it (`Linear` replaces its weight by a transposed one), so
every module is put back as it was.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from opscope.errors import OpscopeError
from opscope.program import Frame, Path
from opscope.readers.torch.names import Call, scope_of


class Place(NamedTuple):
    """Where an operator was made: in which modules, and the line of the user's code."""

    scope: Path
    source: tuple[Frame, ...]


NOWHERE = Place((), ())


class Traced(NamedTuple):
    graph: Any
    places: dict[int, Place]
    """By the identity of an operator."""
    weights: dict[int, str]
    """By the identity of a tensor."""
    classes: dict[str, str]
    """The class of each module, by its path."""


def module_class(thing: Any) -> type | None:
    """hidet's `Module`, if this is one."""
    return next((kind for kind in type(thing).__mro__ if (kind.__module__, kind.__name__) == ("hidet.graph.nn.module", "Module")), None)


def traced(model: Any, inputs: tuple[Any, ...], module_base: Any) -> Traced:
    hidet = sys.modules["hidet"]
    for i, tensor in enumerate(inputs):
        if type(tensor).__name__ != "Tensor":
            raise OpscopeError(f"input {i} is a {type(tensor).__name__}; pass hidet's tensors, such as hidet.symbol([8], device='cpu')")
    if not inputs:
        raise OpscopeError(f"pass the inputs of {type(model).__name__} too: opscope.capture(model, hidet.symbol(shape, device='cpu'))")
    modules = dict(_modules(model))
    symbols = [hidet.symbol_like(tensor) for tensor in inputs]
    with _as_they_were(modules.values()), _places(modules, module_base, hidet) as places:
        graph = hidet.trace_from(list(_tensors(model(*symbols))), symbols)
        weights = {id(weight): f"{path}.{name}".lstrip(".") for path, module in modules.items() for name, weight in _weights(module)}
    return Traced(graph, places, weights, {path: type(module).__name__ for path, module in modules.items()})


@contextmanager
def _places(modules: dict[str, Any], module_base: Any, hidet: Any) -> Iterator[dict[int, Place]]:
    """The place of every operator that is made in this block."""
    paths = {id(module): path for path, module in modules.items()}
    operator_base = hidet.graph.operator.Operator
    package = os.path.dirname(hidet.__file__)
    places: dict[int, Place] = {}
    stack: list[Call] = []
    repeats: Counter[str] = Counter()
    call, init = module_base.__call__, operator_base.__init__

    def named_call(module: Any, *args: Any, **kwargs: Any) -> Any:
        path = paths.get(id(module), "")
        stack.append(Call(path, type(module).__name__, repeats[path]))
        repeats[path] += 1
        try:
            return call(module, *args, **kwargs)
        finally:
            stack.pop()

    def placed_init(op: Any, *args: Any, **kwargs: Any) -> None:
        places[id(op)] = Place(scope_of(stack), _users_line(package))
        init(op, *args, **kwargs)

    module_base.__call__, operator_base.__init__ = named_call, placed_init
    try:
        yield places
    finally:
        module_base.__call__, operator_base.__init__ = call, init


def _users_line(package: str) -> tuple[Frame, ...]:
    """The innermost line that is neither hidet's nor this file's."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((package, __file__)):
        frame = frame.f_back  # type: ignore[assignment]
    return () if frame is None else (Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name),)


def _modules(model: Any) -> Iterator[tuple[str, Any]]:
    """Every module with its path, each object once."""
    waiting, seen = [("", model)], set()
    while waiting:
        path, module = waiting.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield path, module
            waiting += [(f"{path}.{name}".lstrip("."), child) for name, child in module._submodules.items() if child is not None]


def _weights(module: Any) -> Iterator[tuple[str, Any]]:
    for name, weight in module._parameters.items():
        if weight is not None:
            yield name.lstrip("_"), weight


@contextmanager
def _as_they_were(modules: Iterable[Any]) -> Iterator[None]:
    before = [(module, dict(vars(module)), list(module._parameters.items()), list(module._submodules.items())) for module in modules]
    try:
        yield
    finally:
        for module, attributes, parameters, submodules in before:
            vars(module).clear()
            vars(module).update(attributes)
            for held, items in ((module._parameters, parameters), (module._submodules, submodules)):
                held.clear()
                held.update(items)


def _tensors(values: Any) -> Iterator[Any]:
    """The tensors in what a module takes or returns, in order."""
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if type(value).__name__ == "Tensor":
            yield value
        elif isinstance(value, (list, tuple)):
            waiting += reversed(value)
        elif isinstance(value, dict):
            waiting += reversed(list(value.values()))
