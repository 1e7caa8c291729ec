"""What Dynamo says about the function that it compiles: whose it is, and why a graph ends."""

from __future__ import annotations

import sys
from typing import Any

from opscope.recording.hooks.torch_compile.dynamo_words import function_title

_LOCAL = "<locals>."
_INSTALLED = "/site-packages/"


def compiled_function() -> str:
    """The function that Dynamo is compiling: a frame above us has its code object.

    A function inside another is often a wrapper (`can_return_tuple.wrapper` around every model of transformers). If it is called for a
    module, the module's class says more.
    """
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_compile" and frame.f_globals.get("__name__") == "torch._dynamo.convert_frame":
            code = frame.f_locals.get("code")
            name = str(getattr(code, "co_qualname", getattr(code, "co_name", "")))
            module = _module_of(frame.f_locals) if _LOCAL in name else None
            return function_title(name.replace(_LOCAL, "") if module is None else f"{type(module).__name__}.forward")
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def seconds_of_tracing(until: int) -> float | None:
    """The seconds since Dynamo began with this function, its restarts included. Its clock is private to torch; without it, unknown."""
    metrics = getattr(getattr(sys.modules.get("torch._dynamo"), "utils", None), "get_metrics_context", None)
    started = getattr(metrics(), "_start_time_ns", 0) if metrics is not None and metrics().in_progress() else 0
    return (until - started) / 1e9 if 0 < started <= until else None


def _module_of(arguments: dict[str, Any]) -> Any:
    """The module that a wrapper is called for: its `self`, or what the function that it wraps belongs to."""
    from torch import nn

    variables = arguments.get("locals")
    candidates = [variables.get("self")] if isinstance(variables, dict) else []
    for cell in arguments.get("closure") or ():
        function = getattr(cell, "cell_contents", None)
        candidates += [function, getattr(function, "__self__", None)]
    return next((each for each in candidates if isinstance(each, nn.Module)), None)


def break_reasons() -> list[Any]:
    """Dynamo's list of reasons why graphs ended. It is private to torch; without it, no reason is recorded."""
    return getattr(getattr(sys.modules.get("torch._dynamo"), "utils", None), "graph_break_reasons", [])


def place_of(reason: Any) -> str:
    """The innermost line of the user's own at which a graph ended: "model.py:14"."""
    frames = list(reason.user_stack)
    place = next((frame for frame in reversed(frames) if _INSTALLED not in frame.filename), frames[-1] if frames else None)
    return "" if place is None else f"{place.filename}:{place.lineno}"
