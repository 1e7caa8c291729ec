"""Penzai modules, whose parameters are variables outside of the tree of the module: as functions of the values of these variables."""

from __future__ import annotations

import inspect
from typing import Any

from opscope.program import Role
from opscope.readers.jax.flax import Call


def as_function(call: Call) -> Call:
    """A call of a Penzai module as that of a function of its variables; any other call is returned as it is."""
    if not any(cls.__module__.startswith("penzai.") for cls in type(call.function).__mro__):
        return call
    import jax
    from penzai import pz

    unbound, variables = pz.unbind_variables(call.function)
    if not variables:
        return call
    frozen = [variable.freeze() for variable in variables]

    def run(values: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        named = zip(frozen, variables, strict=True)
        bound = [_with_value(value, values[_name(variable)]).unfreeze_as_copy() for value, variable in named]
        return pz.bind_variables(unbound, bound)(*args, **kwargs)

    run.__name__ = type(call.function).__name__
    names = [parameter for parameter in inspect.signature(call.function).parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    values = inspect.Parameter("params", inspect.Parameter.POSITIONAL_ONLY)
    rest = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)
    run.__signature__ = inspect.Signature([values, *names, rest])  # type: ignore[attr-defined]
    arrays = {_name(variable): value.value for value, variable in zip(frozen, variables, strict=True)}
    kinds = {_name(variable): _role(variable) for variable in variables}
    roles: list[Role] = [kinds[name] for name in sorted(arrays) for _ in jax.tree.leaves(arrays[name])]
    roles += ["input" for _ in jax.tree.leaves((call.args, call.kwargs))]
    return Call(run, (arrays, *call.args), call.kwargs, tuple(roles))


def _with_value(frozen: Any, value: Any) -> Any:
    import dataclasses

    return dataclasses.replace(frozen, value=value)


def _name(variable: Any) -> str:
    """The label of a parameter, or the path of any other variable."""
    return str(getattr(variable, "label", variable))


def _role(variable: Any) -> Role:
    return "parameter" if type(variable).__name__ == "Parameter" else "buffer"
