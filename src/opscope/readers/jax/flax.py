"""Flax modules as plain functions of their parameters and inputs, so that one tracer serves them all."""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from opscope.errors import OpscopeError
from opscope.program import Role


class Call(NamedTuple):
    """What is to be traced: a function, and what it is called with."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    roles: tuple[Role, ...] = ()
    """What each array is to the model, in the order in which JAX flattens the arguments; empty where nobody says it."""


def as_function(call: Call) -> Call:
    """A call of a Flax module as the call of a function; anything else comes back as it is."""
    if "flax" not in sys.modules:
        return call
    for name, adapt in (("flax.linen", _linen), ("flax.nnx", _nnx)):
        flavour = sys.modules.get(name)
        if flavour is not None and isinstance(call.function, flavour.Module):
            return adapt(call)
    return call


def _linen(call: Call) -> Call:
    """Parameters are only shapes: nothing is initialised, so a model of any size can be looked at.

    Dropout and whatever else draws numbers gets a key. State that a call changes (a batch norm's averages, a cache) comes out of
    it beside the result.
    """
    import jax
    from flax.errors import ModifyScopeVariableError

    module = call.function
    if not call.args and not call.kwargs:
        raise OpscopeError(f"give the inputs of {type(module).__name__} too: opscope.capture(module, x)")
    inputs = _Inputs(call)
    key = jax.random.key(0)
    variables = jax.eval_shape(lambda **arrays: inputs.give(partial(module.init, key), arrays), **inputs.arrays)
    mutable: Any = False

    def apply(variables: Any, **arrays: Any) -> Any:
        return inputs.give(partial(module.apply, variables, rngs=key, mutable=mutable), arrays)

    try:
        jax.eval_shape(apply, variables, **inputs.arrays)
    except ModifyScopeVariableError:
        mutable = [name for name in variables if name != "params"]
    collections = [str(path[0].key) for path, _ in jax.tree_util.tree_flatten_with_path(variables)[0]]
    return inputs.call_of(apply, "variables", variables, [_role(name == "params") for name in collections])


def _nnx(call: Call) -> Call:
    """State that the call changes (a batch norm's averages, a random generator's count) comes out of it beside the result."""
    import jax
    from flax import nnx

    graphdef, state = nnx.split(call.function)
    inputs = _Inputs(call)

    def run(state: Any, **arrays: Any) -> Any:
        before = dict(jax.tree_util.tree_flatten_with_path(state)[0])
        merged = nnx.merge(graphdef, state)
        result = inputs.give(merged, arrays)
        after = jax.tree_util.tree_flatten_with_path(nnx.state(merged))[0]
        changed = {jax.tree_util.keystr(path): leaf for path, leaf in after if before.get(path) is not leaf}
        return (result, changed) if changed else result

    variables = jax.tree_util.tree_leaves(state, is_leaf=lambda each: hasattr(each, "type"))
    roles = [_role(issubclass(each.type, nnx.Param)) for each in variables for _ in jax.tree_util.tree_leaves(each)]
    return inputs.call_of(run, "state", state, roles)


def _role(is_parameter: bool) -> Role:
    """What a model holds is either learned or a buffer: a running average, a cache, a random generator's state."""
    return "parameter" if is_parameter else "buffer"


class _Inputs:
    """What a module is called with: arrays, which are traced under the names that the module gives them, and settings (`train=True`)."""

    def __init__(self, call: Call) -> None:
        self._module = type(call.function).__name__
        self._signature = inspect.signature(call.function.__call__)
        try:
            given = self._signature.bind(*call.args, **call.kwargs).arguments
        except TypeError as error:
            raise OpscopeError(f"{self._module} cannot be called so: {error}") from None
        self._settings = {name: value for name, value in given.items() if isinstance(value, (bool, str)) or callable(value)}
        self.arrays = {name: value for name, value in given.items() if name not in self._settings}

    def give(self, function: Callable[..., Any], arrays: dict[str, Any]) -> Any:
        every = {**self._settings, **arrays}
        bound = inspect.BoundArguments(
            self._signature, OrderedDict((name, every[name]) for name in self._signature.parameters if name in every)
        )
        return function(*bound.args, **bound.kwargs)

    def call_of(self, function: Callable[..., Any], first: str, state: Any, roles: Iterable[Role]) -> Call:
        """The call to trace. JAX takes the names of the graph's parameters from the signature."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        function.__name__ = self._module
        function.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in (first, *self.arrays)])  # type: ignore[attr-defined]
        given: list[Role] = ["input" for _ in sys.modules["jax"].tree_util.tree_leaves(self.arrays)]
        return Call(function, (state,), self.arrays, (*roles, *given))


@contextmanager
def named_calls(call: Call) -> Iterator[None]:
    """nnx writes no scopes into a trace. Here each submodule's call opens one, named by its attribute: of a module that is captured,
    and of those that a function (a training step) is given."""
    nnx = sys.modules.get("flax.nnx")
    modules = [each for each in (call.function, *call.args, *call.kwargs.values()) if nnx and isinstance(each, nnx.Module)]
    classes: set[Any] = set()
    for module in modules:
        for _, part in nnx.iter_modules(module) if nnx else ():
            if callable(part):
                classes.add(next(cls for cls in type(part).__mro__ if "__call__" in vars(cls)))
    originals = {cls: vars(cls)["__call__"] for cls in classes}
    try:
        names: dict[int, tuple[Any, str]] = {}
        for cls, original in originals.items():
            cls.__call__ = _named(nnx, original, names)
        yield
    finally:
        for cls, original in originals.items():
            cls.__call__ = original


def _named(nnx: Any, original: Any, names: dict[int, tuple[Any, str]]) -> Any:
    """A module's `__call__` in its scope. One without a name is the outermost (transformations make copies): it names its parts."""
    import jax

    def scoped(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in names:
            with jax.named_scope(names[id(self)][1]):
                return original(self, *args, **kwargs)
        for path, part in nnx.iter_modules(self):
            if path:
                attribute = ".".join(str(p) for p in path[-2:]) if str(path[-1]).isdigit() and len(path) > 1 else str(path[-1])
                names[id(part)] = part, f"{attribute}: {type(part).__name__}"
        return original(self, *args, **kwargs)

    return scoped
