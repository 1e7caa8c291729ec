"""Flax modules as plain functions of their parameters and inputs, so that they can be traced like any other function."""

from __future__ import annotations

import inspect
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from opscope.errors import InputsMissingError, OpscopeError
from opscope.program import Role
from opscope.readers.jax.refusals import refused


class Call(NamedTuple):
    """What to trace: a function and its arguments."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    roles: tuple[Role, ...] = ()
    """What each array is to the model, in the order in which JAX flattens the arguments; empty if unknown."""
    is_filtered: bool = False
    """Whether arguments that are not arrays are constants."""
    donated: tuple[int | str, ...] = ()
    """The arguments that the function may overwrite, by their numbers and names."""


def as_function(call: Call) -> Call:
    """A call of a Flax module as the call of a function; any other call is returned as it is."""
    if "flax" not in sys.modules:
        return call
    for name, adapt in (("flax.linen", _linen), ("flax.nnx", _nnx)):
        flavour = sys.modules.get(name)
        if flavour is not None and isinstance(call.function, flavour.Module):
            return adapt(call)
    return call


def _linen(call: Call) -> Call:
    """Parameters are only shapes: nothing is initialised, so models of any size can be captured.

    Dropout and other random operations get a key. State that a call changes (a batch norm's averages, a cache) is returned along with
    the result.
    """
    import jax
    from flax.errors import ModifyScopeVariableError

    module = call.function
    if not call.args and not call.kwargs:
        raise InputsMissingError(type(module).__name__, "opscope.capture(module, x)")
    inputs = _Inputs(call)
    key = jax.random.key(0)
    with refused(type(module).__name__, _hint(call)):
        variables = jax.eval_shape(lambda **arrays: inputs.pass_to(partial(module.init, key), arrays), **inputs.arrays)
    mutable: Any = False

    def apply(variables: Any, **arrays: Any) -> Any:
        return inputs.pass_to(partial(module.apply, variables, rngs=key, mutable=mutable), arrays)

    try:
        jax.eval_shape(apply, variables, **inputs.arrays)
    except ModifyScopeVariableError:
        mutable = [name for name in variables if name != "params"]
    collections = [str(path[0].key) for path, _ in jax.tree_util.tree_flatten_with_path(variables)[0]]
    return inputs.call_of(apply, "variables", variables, [_role(name == "params") for name in collections])


def _nnx(call: Call) -> Call:
    """State that the call changes (a batch norm's averages, a random generator's count) is returned along with the result."""
    import jax
    from flax import nnx

    graphdef, state = nnx.split(call.function)
    inputs = _Inputs(call)

    def run(state: Any, **arrays: Any) -> Any:
        before = dict(jax.tree_util.tree_flatten_with_path(state)[0])
        merged = nnx.merge(graphdef, state)
        result = inputs.pass_to(merged, arrays)
        after = jax.tree_util.tree_flatten_with_path(nnx.state(merged))[0]
        changed = {jax.tree_util.keystr(path): leaf for path, leaf in after if before.get(path) is not leaf}
        return (result, changed) if changed else result

    variables = jax.tree_util.tree_leaves(state, is_leaf=lambda item: hasattr(item, "type"))
    roles = [_role(issubclass(variable.type, nnx.Param)) for variable in variables for _ in jax.tree_util.tree_leaves(variable)]
    return inputs.call_of(run, "state", state, roles)


def _role(is_parameter: bool) -> Role:
    """A model's state is either a parameter or a buffer: a running average, a cache, a random generator's state."""
    return "parameter" if is_parameter else "buffer"


class _Inputs:
    """A module's arguments: arrays, which are traced under their parameter names, and settings (`train=True`)."""

    def __init__(self, call: Call) -> None:
        self._module = type(call.function).__name__
        self._signature = inspect.signature(call.function.__call__)
        try:
            arguments = self._signature.bind(*call.args, **call.kwargs).arguments
        except TypeError as error:
            raise OpscopeError(f"these inputs do not fit {self._module}: {error}{_hint(call)}") from None
        self._settings = {name: value for name, value in arguments.items() if isinstance(value, (bool, str)) or callable(value)}
        self.arrays = {name: value for name, value in arguments.items() if name not in self._settings}

    def pass_to(self, function: Callable[..., Any], arrays: dict[str, Any]) -> Any:
        arguments = {**self._settings, **arrays}
        bound = inspect.BoundArguments(
            self._signature, OrderedDict((name, arguments[name]) for name in self._signature.parameters if name in arguments)
        )
        return function(*bound.args, **bound.kwargs)

    def call_of(self, function: Callable[..., Any], first: str, state: Any, roles: Iterable[Role]) -> Call:
        """The call to trace. JAX names the graph's parameters by the function's signature."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        function.__name__ = self._module
        function.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in (first, *self.arrays)])  # type: ignore[attr-defined]
        input_roles: list[Role] = ["input" for _ in sys.modules["jax"].tree_util.tree_leaves(self.arrays)]
        return Call(function, (state,), self.arrays, (*roles, *input_roles))


def _hint(call: Call) -> str:
    """linen's own `apply` takes the variables first, so many pass them here."""
    passes_variables = call.args and isinstance(call.args[0], Mapping) and "params" in call.args[0]
    return "; pass only its inputs, or capture its apply: opscope.capture(module.apply, variables, *inputs)" if passes_variables else ""
