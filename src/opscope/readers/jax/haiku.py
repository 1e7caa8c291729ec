"""What `haiku.transform` returns, as a plain function of parameters and inputs. Parameters are only shapes: nothing is initialised."""

from __future__ import annotations

import inspect
from typing import Any

from opscope.errors import InputsMissingError
from opscope.program import Role
from opscope.readers.jax.flax import Call
from opscope.readers.jax.refusals import refused

_KINDS = {"Transformed": 1, "TransformedWithState": 2}
"""By class, how many trees its `init` returns: parameters, and state."""


def as_function(call: Call) -> Call:
    """A call of a transformed function as that of its `apply`; any other call is returned as it is."""
    transformed = call.function
    trees = _KINDS.get(type(transformed).__name__, 0) if type(transformed).__module__.startswith("haiku.") else 0
    if not trees:
        return call
    import jax

    if not call.args and not call.kwargs:
        raise InputsMissingError("a transformed function", "opscope.capture(hk.transform(f), *inputs)")
    key = jax.random.key(0)
    with refused(_name(transformed)):
        variables = jax.eval_shape(transformed.init, key, *call.args, **call.kwargs)
    variables = variables if trees == 2 else (variables,)

    # `without_apply_rng` returns the same class, with an `apply` that takes no key.
    keys = (key,) if "rng" in inspect.signature(transformed.apply).parameters else ()

    def apply(*args: Any, **kwargs: Any) -> Any:
        return transformed.apply(*args[:trees], *keys, *args[trees:], **kwargs)

    apply.__name__ = _name(transformed)
    names = ("params", "state")[:trees]
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
    rest = [inspect.Parameter(f"input_{number}", inspect.Parameter.POSITIONAL_ONLY) for number in range(len(call.args))]
    apply.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*parameters, *rest, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)]
    )
    kinds: tuple[Role, ...] = ("parameter", "buffer")
    roles = [role for role, tree in zip(kinds, variables, strict=False) for _ in jax.tree_util.tree_leaves(tree)]
    roles += ["input" for _ in jax.tree_util.tree_leaves((call.args, call.kwargs))]
    return Call(apply, (*variables, *call.args), call.kwargs, tuple(roles))


def _name(transformed: Any) -> str:
    """The name of the function that was transformed, which haiku keeps only in the closures of its own functions."""
    waiting: list[Any] = [transformed.apply]
    visited: set[int] = set()
    while waiting:
        item = waiting.pop()
        item = item.apply if hasattr(item, "apply") else item
        if id(item) in visited or not callable(item):
            continue
        visited.add(id(item))
        if not str(getattr(item, "__module__", "")).startswith("haiku."):
            return str(getattr(item, "__name__", "apply"))
        waiting.extend(cell.cell_contents for cell in getattr(item, "__closure__", None) or ())
    return "apply"
