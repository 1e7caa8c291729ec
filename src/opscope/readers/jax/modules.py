"""Callable pytrees (the modules of Equinox and Penzai) as plain functions of their arrays, so that they can be traced like any other
function. What is not an array in them, such as an activation function or the rate of a dropout, is a constant of the trace. So it is with
Equinox's own transformations: `filter_grad(f)` is a module that holds `f`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from opscope.program import Role
from opscope.readers.jax.flax import Call

_ITSELF = -1
"""The number of a module among the arguments of its call."""
_NUMBERS = (bool, int, float, complex)


def unwrapped(obj: Any) -> Any:
    """What `eqx.filter_jit(f).lower(…)` and its `.compile()` wrap, which are JAX's; any other object is returned as it is."""
    if not type(obj).__module__.startswith("equinox."):
        return obj
    return next((getattr(obj, name) for name in ("lowered", "compiled") if hasattr(obj, name)), obj)


def without_filter(call: Call) -> Call:
    """The call of the function in an `eqx.filter_jit`; any other call is returned as it is.

    Equinox's other wrappers have a `__wrapped__` too, but compute something else than what it names: a gradient, a batch.
    """
    equinox = sys.modules.get("equinox")
    is_jitted = equinox is not None and type(call.function) is _type_of_jitted()
    if not is_jitted:
        return call
    first, rest = (getattr(call.function, name, False) for name in ("donate_first", "donate_rest"))
    donated = [key for key in (*range(len(call.args)), *call.kwargs) if (first if key == 0 else rest)]
    itself = [_ITSELF] if rest else []
    return call._replace(function=call.function.__wrapped__, is_filtered=True, donated=(*itself, *donated))


@cache
def _type_of_jitted() -> type:
    """The class of what `eqx.filter_jit` returns, which is private."""
    return type(sys.modules["equinox"].filter_jit(lambda: None))


def transformed(function: Any) -> Any:
    """What Equinox's transformations were given, which names what they make; any other object is returned as it is.

    A bound method has the arrays of its module, unlike the plain method that it wraps.
    """
    while type(function).__module__.startswith("equinox.") and hasattr(function, "__wrapped__"):
        wrapped = function.__wrapped__
        if inspect.ismethod(wrapped):
            break
        function = wrapped
    return function


def as_function(call: Call) -> Call:
    """A call of a module, or of a function that takes modules, as the call of a function of arrays; any other call is returned as it is."""
    import jax

    is_module = _is_module(call.function)
    if is_module and hasattr(call.function, "__wrapped__") and not any(map(_is_array, jax.tree.leaves(call.function))):
        call, is_module = call._replace(is_filtered=True), False
    if not is_module and not call.is_filtered and not any(map(_is_module, (*call.args, *call.kwargs.values()))):
        return call
    inputs = [*call.args, *call.kwargs.values()]
    given = [call.function, *inputs] if is_module else inputs
    traced = [_arrays_of(item) if is_module or call.is_filtered or _is_module(item) else item for item in given]
    names = list(call.kwargs)

    def run(*args: Any, **kwargs: Any) -> Any:
        items = [_with_arrays(item, arrays) for item, arrays in zip(given, (*args, *(kwargs[name] for name in names)), strict=True)]
        function = items.pop(0) if is_module else call.function
        count = len(call.args)
        return _arrays_of(function(*items[:count], **dict(zip(names, items[count:], strict=True))), numbers=True)

    positional = len(given) - len(names)
    run.__name__ = _name_of(call.function)
    run.__signature__ = _signature(call.function, is_module)  # type: ignore[attr-defined]
    keywords = dict(zip(names, traced[positional:], strict=True))
    donated = [key + is_module if isinstance(key, int) else key for key in call.donated if is_module or key != _ITSELF]
    return Call(run, tuple(traced[:positional]), keywords, _roles(*traced) if is_module else (), donated=tuple(donated))


def iter_modules(module: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """An Equinox module and all modules in it, each with its path: ("layers", "0")."""
    import jax

    waiting: list[tuple[tuple[str, ...], Any]] = [((), module)]
    while waiting:
        path, item = waiting.pop()
        yield path, item
        inner = jax.tree_util.tree_flatten_with_path(item, is_leaf=lambda part, item=item: part is not item and _is_module(part))[0]
        waiting.extend((path + tuple(map(_key, keys)), part) for keys, part in reversed(inner) if part is not item and _is_module(part))


def _key(key: Any) -> str:
    return str(next((getattr(key, name) for name in ("name", "key", "idx") if hasattr(key, name)), key))


def _is_module(item: Any) -> bool:
    """Is this a callable pytree? Flax's modules are handled elsewhere, and the arrays of a partial function are constants."""
    import jax

    nnx = sys.modules.get("flax.nnx")
    if not callable(item) or isinstance(item, (type, partial)) or (nnx is not None and isinstance(item, nnx.Module)):
        return False
    return not jax.tree_util.treedef_is_leaf(jax.tree_util.tree_structure(item))


def _is_array(leaf: Any) -> bool:
    import jax
    import numpy as np

    return isinstance(leaf, (jax.Array, jax.ShapeDtypeStruct, np.ndarray, np.generic))


def _arrays_of(tree: Any, *, numbers: bool = False) -> Any:
    """A tree with None for what is not an array (nor, on request, a number)."""
    import jax

    return jax.tree.map(lambda leaf: leaf if _is_array(leaf) or (numbers and isinstance(leaf, _NUMBERS)) else None, tree)


def _with_arrays(tree: Any, arrays: Any) -> Any:
    """A tree with these arrays in place of its own."""
    import jax

    return jax.tree.map(lambda array, leaf: leaf if array is None else array, arrays, tree, is_leaf=lambda leaf: leaf is None)


def _name_of(function: Callable[..., Any]) -> str:
    """In a part of an `eqx.filter_jit`, a missing `__name__` is an object of Equinox."""
    function = transformed(function)
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def _signature(function: Callable[..., Any], is_module: bool) -> inspect.Signature | None:
    """JAX names the graph's parameters by it."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    itself = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)] if is_module else []
    return signature.replace(parameters=[*itself, *signature.parameters.values()])


def _roles(module: Any, *inputs: Any) -> tuple[Role, ...]:
    """A module's arrays of real numbers are parameters; its others (keys, counters) are state."""
    import jax
    import jax.numpy as jnp

    state: list[Role] = ["parameter" if jnp.issubdtype(leaf.dtype, jnp.inexact) else "buffer" for leaf in jax.tree.leaves(module)]
    others: list[Role] = ["input" for _ in jax.tree.leaves(inputs)]
    return (*state, *others)
