"""Scopes for the calls of submodules, by their attributes: nnx writes none into a trace, and Equinox only the class of a layer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opscope.readers.jax.flax import Call
from opscope.readers.jax.modules import iter_modules, transformed

Submodules = Callable[[Any], Iterator[tuple[tuple[Any, ...], Any]]]


@contextmanager
def named_calls(call: Call) -> Iterator[None]:
    """Give each submodule's call a scope: in a captured module, and in modules passed to a captured function (a training step)."""
    classes: dict[Any, Submodules] = {}
    for module in (transformed(call.function), *call.args, *call.kwargs.values()):
        submodules = _submodules_of(module)
        for _, part in submodules(module) if submodules else ():
            if submodules and callable(part):
                classes[next(cls for cls in type(part).__mro__ if "__call__" in vars(cls))] = submodules
    originals = {cls: vars(cls)["__call__"] for cls in classes}
    try:
        names: dict[int, tuple[Any, str]] = {}
        for cls, submodules in classes.items():
            cls.__call__ = _named(submodules, originals[cls], names)
        yield
    finally:
        for cls, original in originals.items():
            cls.__call__ = original


def _submodules_of(module: Any) -> Submodules | None:
    nnx, equinox = sys.modules.get("flax.nnx"), sys.modules.get("equinox")
    if nnx is not None and isinstance(module, nnx.Module):
        return nnx.iter_modules  # type: ignore[no-any-return]
    return iter_modules if equinox is not None and isinstance(module, equinox.Module) else None


def _named(submodules: Submodules, original: Any, names: dict[int, tuple[Any, str]]) -> Any:
    """A module's `__call__`, run in its scope. A module without a name is the outermost (transformations make copies) and names its
    submodules."""
    import jax

    def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = original.__get__(self, type(self))
        if id(self) in names:
            with jax.named_scope(names[id(self)][1]):
                return bound(*args, **kwargs)
        for path, part in submodules(self):
            if path:
                attribute = ".".join(str(p) for p in path[-2:]) if str(path[-1]).isdigit() and len(path) > 1 else str(path[-1])
                names[id(part)] = part, f"{attribute}: {type(part).__name__}"
        return bound(*args, **kwargs)

    return scoped
