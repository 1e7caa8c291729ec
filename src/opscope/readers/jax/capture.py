"""Live JAX objects as Programs: functions, jitted functions, Lowered, Compiled, ClosedJaxpr, Exported, modules.

The stage decides what is captured: `jaxpr` (what JAX traced), `stablehlo` (what it passes to the compiler), `hlo` (the same in XLA's
form) or `optimized` (what XLA compiled it to).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from opscope.errors import InputsMissingError, OpscopeError
from opscope.program import WHOLE, Program
from opscope.readers.hlo import parse_hlo
from opscope.readers.jax import flax, haiku, modules, penzai
from opscope.readers.jax.flax import Call
from opscope.readers.jax.jaxpr import read_jaxpr
from opscope.readers.jax.memory_plan import memory_plan_of
from opscope.readers.jax.named_calls import named_calls
from opscope.readers.jax.refusals import refused
from opscope.readers.mistakes import check_spelling, takes_stage
from opscope.readers.mlir import read_mlir
from opscope.readers.result_paths import paths_of_tree, results_attr

STAGES = ("jaxpr", "stablehlo", "hlo", "optimized")
_HERE = Path(__file__).parents[2]
_OPTIONS = ("stage", "static_argnums", "static_argnames", "donate_argnums", "compiler_options")


def capture(
    obj: Any,
    *args: Any,
    stage: Any = None,
    static_argnums: int | tuple[int, ...] | None = None,
    static_argnames: str | tuple[str, ...] | None = None,
    donate_argnums: int | tuple[int, ...] | None = None,
    compiler_options: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Program | None:
    """The Program of a JAX object at a stage, or None if it is not a JAX object. Arrays may be `jax.ShapeDtypeStruct`s."""
    is_stage = stage is None or (isinstance(stage, str) and stage in STAGES)
    if not is_stage and takes_stage(obj):
        if isinstance(stage, str) and not hasattr(obj, "trace"):
            static_argnames = ("stage", *([static_argnames] if isinstance(static_argnames, str) else static_argnames or ()))
        kwargs["stage"], stage = stage, None
    elif not is_stage:
        raise OpscopeError(f"JAX has no stage {stage!r}; choose one of: {', '.join(STAGES)}")
    program = _from_stage_object(modules.unwrapped(obj), stage)
    if program is not None:
        return program
    call = penzai.as_function(haiku.as_function(Call(obj, args, kwargs)))
    if not callable(call.function):
        return None
    check_spelling(call.function, getattr(obj, "__name__", type(obj).__name__), kwargs, _OPTIONS)
    call = modules.without_filter(call)
    function, args, kwargs, roles, _, donated = modules.as_function(flax.as_function(call))
    if not args and not kwargs and _needs_inputs(function):
        name = getattr(function, "__name__", type(function).__name__)
        raise InputsMissingError(name, f"opscope.capture({name}, *inputs)")
    with named_calls(call):
        traced = _trace(function, args, kwargs, static_argnums, static_argnames, donate_argnums, donated)
    if stage in (None, "jaxpr"):
        return read_jaxpr(traced.jaxpr, _name_of(traced, function), _arguments(traced, (args, kwargs)), roles)
    with warnings.catch_warnings():
        if donated:  # by `eqx.filter_jit`, which says itself what of it could not be used, if it is to
            warnings.filterwarnings("ignore", message="Some donated buffers were not usable")
        lowered = traced.lower()
    return _lowered(lowered, str(stage), compiler_options)


def _needs_inputs(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def _trace(function: Callable[..., Any], args: Any, kwargs: Any, static: Any, static_names: Any, donate: Any, donated: Any) -> Any:
    import jax

    options = {"static_argnums": static, "static_argnames": static_names, "donate_argnums": donate}
    options = {key: value for key, value in options.items() if value is not None}
    if donated and donate is None:
        options["donate_argnums"] = tuple(key for key in donated if isinstance(key, int))
        options["donate_argnames"] = tuple(key for key in donated if isinstance(key, str))
    if not hasattr(function, "trace"):
        function = jax.jit(function, **options)
    elif options:
        raise OpscopeError(f"this function is already jitted; pass {', '.join(options)} to jax.jit instead")
    _exclude_opscope_frames()
    with refused(str(getattr(function, "__name__", function))):
        traced = function.trace(*args, **kwargs)  # type: ignore[attr-defined]
        return getattr(traced, "traced", traced)  # nnx.jit wraps what jax.jit returns


@cache
def _exclude_opscope_frames() -> None:
    """Leave opscope's own frames out of captured functions. The helper is private to JAX; without it, they are included."""
    try:
        from jax._src.source_info_util import register_exclusion
    except ImportError:
        return
    register_exclusion(str(_HERE))


def _from_stage_object(obj: Any, stage: str | None) -> Program | None:
    """The Program of an object that is already at a stage, or None. It can be taken to a later stage, not to an earlier one."""
    kind = type(obj).__name__
    if kind in ("ClosedJaxpr", "Jaxpr") and hasattr(getattr(obj, "jaxpr", obj), "eqns"):
        return read_jaxpr(obj) if stage in (None, "jaxpr") else _lowered(_function_of(obj).lower(), stage)
    if not type(obj).__module__.startswith("jax"):
        return None
    if kind == "Traced":
        return read_jaxpr(obj.jaxpr, obj.fun_name, _arguments(obj)) if stage in (None, "jaxpr") else _lowered(obj.lower(), stage)
    if kind not in ("Lowered", "Compiled", "Exported"):
        return None
    if stage == "jaxpr" or (kind == "Compiled" and stage not in (None, "optimized")):
        article = "an" if kind == "Exported" else "a"
        raise OpscopeError(f"{article} {kind} is past the stage {stage!r}; capture the original function with its inputs instead")
    if kind == "Compiled":
        return _compiled(obj)
    if kind == "Lowered":
        return _lowered(obj, stage or "hlo")
    return _exported(obj, stage or "stablehlo")


def _function_of(jaxpr: Any) -> Any:
    """A jaxpr, traced again as a function so that it can be lowered."""
    import jax
    from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

    closed = jaxpr if hasattr(jaxpr, "jaxpr") else ClosedJaxpr(jaxpr, ())
    return jax.jit(jaxpr_as_fun(closed)).trace(*closed.in_avals)


def _exported(exported: Any, stage: str) -> Program:
    import jax

    if stage == "stablehlo":
        return read_mlir(exported.mlir_module())
    if any(not isinstance(dimension, int) for aval in exported.in_avals for dimension in aval.shape):
        raise OpscopeError(f"stage {stage!r} needs concrete shapes, and this export has symbolic ones; use stage='stablehlo'")
    shapes = jax.tree_util.tree_unflatten(exported.in_tree, exported.in_avals)
    return _lowered(jax.jit(exported.call).lower(*shapes[0], **shapes[1]), stage)


def _lowered(lowered: Any, stage: str, compiler_options: dict[str, Any] | None = None) -> Program:
    if stage == "optimized":
        return _compiled(lowered.compile(compiler_options) if compiler_options else lowered.compile())
    if stage == "stablehlo":
        return read_mlir(lowered.as_text(debug_info=True))
    return _with_results(parse_hlo(lowered.as_text("hlo", debug_info=True))[0], lowered)


def _compiled(compiled: Any) -> Program:
    return replace(_with_results(parse_hlo(compiled.as_text())[0], compiled), memory_plan=memory_plan_of(compiled))


def _with_results(program: Program, stage_object: Any) -> Program:
    """The text of HLO does not name the results; the object that it came from does."""
    results = program[program.entry].outputs
    count = sum(len(program[program.entry].types_of(name)) if index == WHOLE else 1 for name, index in results)
    try:
        names = results_attr(paths_of_tree(stage_object.out_info), count)
    except (AttributeError, TypeError, ValueError):
        return program
    return replace(program, attrs={**program.attrs, **names})


def _name_of(traced: Any, function: Any) -> str:
    return str(getattr(traced, "fun_name", None) or getattr(function, "__name__", "main"))


def _arguments(traced: Any, values: Any = ()) -> list[dict[str, Any]]:
    """Attributes of each input: its path in the argument tree, donation, and the sharding set by `jit` or by the argument itself."""
    import jax

    try:
        leaves = jax.tree_util.tree_flatten_with_path(traced.args_info)[0]
    except (AttributeError, TypeError, ValueError):
        return []
    of_jit = list(getattr(traced, "_params", {}).get("in_shardings", ()))  # private: without it, shardings of arguments still work
    of_values = [getattr(leaf, "sharding", None) for leaf in jax.tree_util.tree_leaves(values)]
    arguments = []
    for number, (path, info) in enumerate(leaves):
        attrs: dict[str, Any] = {"path": f"{'kwargs' if path[0].idx else 'args'}{jax.tree_util.keystr(path[1:])}"}
        if getattr(info, "donated", False):
            attrs["donated"] = True
        for shardings in (of_jit, of_values):
            spec = getattr(shardings[number], "spec", None) if len(shardings) == len(leaves) else None
            if spec is not None and any(spec):
                attrs["sharding"] = str(shardings[number])
                break
        arguments.append(attrs)
    return arguments
