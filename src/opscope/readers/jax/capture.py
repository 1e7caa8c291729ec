"""Live JAX objects as Programs: functions, jitted functions, Lowered, Compiled, ClosedJaxpr, Exported, Flax modules.

One question decides everything: at which stage does the person want to look? `jaxpr` (what JAX traced), `stablehlo` (what it
hands to the compiler), `hlo` (the same as XLA reads it), `optimized` (what XLA made of it).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.readers.hlo import parse_hlo
from opscope.readers.jax.flax import as_function
from opscope.readers.jax.jaxpr import read_jaxpr
from opscope.readers.mlir import read_mlir

STAGES = ("jaxpr", "stablehlo", "hlo", "optimized")


def capture(
    obj: Any,
    *args: Any,
    stage: str | None = None,
    static_argnums: int | tuple[int, ...] | None = None,
    static_argnames: str | tuple[str, ...] | None = None,
    donate_argnums: int | tuple[int, ...] | None = None,
    compiler_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Program | None:
    """The Program of a JAX object at a stage, or None if it is not JAX's. Arrays may be `jax.ShapeDtypeStruct`s."""
    if stage is not None and stage not in STAGES:
        raise OpscopeError(f"no stage {stage!r} for JAX; there are: {', '.join(STAGES)}")
    made = _finished(obj, stage)
    if made is not None:
        return made
    function, args = as_function(obj, args)
    if not callable(function):
        return None
    if not args and not kwargs and _needs_inputs(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise OpscopeError(
            f"{name} needs its inputs: opscope.capture({name}, *inputs), or for module:callable a function that returns ({name}, *inputs)"
        )
    traced = _trace(function, args, kwargs, static_argnums, static_argnames, donate_argnums)
    if stage in (None, "jaxpr"):
        return read_jaxpr(traced.jaxpr, _name_of(traced, function), _arguments(traced))
    lowered = traced.lower()
    if stage == "optimized":
        return _compiled(lowered.compile(compiler_options) if compiler_options else lowered.compile())
    return _lowered(lowered, str(stage))


def _needs_inputs(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _trace(function: Callable[..., Any], args: Any, kwargs: Any, static: Any, static_names: Any, donate: Any) -> Any:
    import jax

    if not hasattr(function, "trace"):
        options = {"static_argnums": static, "static_argnames": static_names, "donate_argnums": donate}
        function = jax.jit(function, **{key: value for key, value in options.items() if value is not None})
    try:
        return function.trace(*args, **kwargs)  # type: ignore[attr-defined]
    except TypeError as error:
        about_types = "not a valid JAX type" in str(error) or "abstract array" in str(error)
        hint = " Name arguments that are no arrays with static_argnums=." if about_types else ""
        raise OpscopeError(f"JAX could not trace {getattr(function, '__name__', function)}: {_first_line(error)}{hint}") from error


def _finished(obj: Any, stage: str | None) -> Program | None:
    """Objects that stand at a stage already."""
    kind = type(obj).__name__
    module = type(obj).__module__
    if kind in ("ClosedJaxpr", "Jaxpr") and hasattr(getattr(obj, "jaxpr", obj), "eqns"):
        return read_jaxpr(obj)
    if not module.startswith("jax"):
        return None
    if kind == "Traced":
        return read_jaxpr(obj.jaxpr, obj.fun_name, _arguments(obj)) if stage in (None, "jaxpr") else _lowered(obj.lower(), stage)
    if kind == "Lowered":
        return _compiled(obj.compile()) if stage == "optimized" else _lowered(obj, stage or "hlo")
    if kind == "Compiled":
        return _compiled(obj)
    if kind == "Exported":
        return read_mlir(obj.mlir_module())
    return None


def _lowered(lowered: Any, stage: str) -> Program:
    if stage == "optimized":
        return _compiled(lowered.compile())
    if stage == "stablehlo":
        return read_mlir(lowered.as_text(debug_info=True))
    return parse_hlo(lowered.as_text("hlo", debug_info=True))[0]


def _compiled(compiled: Any) -> Program:
    return parse_hlo(compiled.as_text())[0]


def _name_of(traced: Any, function: Any) -> str:
    return str(getattr(traced, "fun_name", None) or getattr(function, "__name__", "main"))


def _arguments(traced: Any) -> list[dict[str, Any]]:
    """What JAX knows of each input: its path in the argument tree, donation, sharding."""
    import jax

    try:
        leaves = jax.tree_util.tree_flatten_with_path(traced.args_info)[0]
    except (AttributeError, TypeError, ValueError):
        return []
    found = []
    for path, info in leaves:
        attrs: dict[str, Any] = {"path": jax.tree_util.keystr(path)}
        if getattr(info, "donated", False):
            attrs["donated"] = True
        sharding = getattr(info, "sharding", None) or getattr(getattr(info, "_aval", None), "sharding", None)
        if sharding is not None and getattr(sharding, "spec", None) is not None and any(sharding.spec):
            attrs["sharding"] = str(sharding)
        found.append(attrs)
    return found


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
