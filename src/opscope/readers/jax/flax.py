"""Flax modules as plain functions of their parameters and inputs, so that one tracer serves them all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opscope.errors import OpscopeError


def as_function(obj: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """(function, arguments) for a Flax module; anything else comes back as it is."""
    flax = sys.modules.get("flax")
    if flax is None:
        return obj, args
    linen = sys.modules.get("flax.linen")
    if linen is not None and isinstance(obj, linen.Module):
        return _linen(obj, args)
    nnx = sys.modules.get("flax.nnx")
    if nnx is not None and isinstance(obj, nnx.Module):
        return _nnx(nnx, obj, args)
    return obj, args


def _linen(module: Any, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Parameters are only shapes: nothing is initialised, so a model of any size can be looked at."""
    import jax

    if not args:
        raise OpscopeError(f"give the inputs of {type(module).__name__} too: opscope.capture(module, x)")
    variables = jax.eval_shape(module.init, jax.random.key(0), *args)

    def apply(variables: Any, *inputs: Any) -> Any:
        return module.apply(variables, *inputs)

    apply.__name__ = type(module).__name__
    return apply, (variables, *args)


def _nnx(nnx: Any, module: Any, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """nnx writes no scopes into the trace; each submodule's call opens one here, under its attribute path."""
    graphdef, state = nnx.split(module)

    def call(state: Any, *inputs: Any) -> Any:
        merged = nnx.merge(graphdef, state)
        with _scoped_calls(nnx, merged):
            return merged(*inputs)

    call.__name__ = type(module).__name__
    return call, (state, *args)


@contextmanager
def _scoped_calls(nnx: Any, module: Any) -> Iterator[None]:
    import jax

    names: dict[int, str] = {}
    classes: dict[type, Any] = {}
    for path, part in nnx.iter_modules(module):
        if path and callable(part):
            attribute = ".".join(str(p) for p in path[-2:]) if str(path[-1]).isdigit() and len(path) > 1 else str(path[-1])
            names[id(part)] = f"{attribute}: {type(part).__name__}"
            classes.setdefault(type(part), type(part).__call__)

    def wrap(original: Any) -> Any:
        def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
            name = names.get(id(self))
            if name is None:
                return original(self, *args, **kwargs)
            with jax.named_scope(name):
                return original(self, *args, **kwargs)

        return scoped

    try:
        for cls, original in classes.items():
            setattr(cls, "__call__", wrap(original))  # noqa: B010 (mypy knows that classes have no such attribute)
        yield
    finally:
        for cls, original in classes.items():
            setattr(cls, "__call__", original)  # noqa: B010
