"""Which way a live torch object is captured."""

from __future__ import annotations

import inspect
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from typing import Any

from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.program import Program
from opscope.readers.torch import autograd, export
from opscope.readers.torch.caches import caches_registered
from opscope.readers.torch.names import ONE_BY_ONE, first_words
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.undisturbed import same_state, undisturbed

STAGES = ("forward", "eager", "autograd", "joint")
_OPTIONS = ("stage", "dynamic_shapes", "strict")
_SHOWN = ("params", "show_attrs", "show_saved", "max_attr_chars", "merge_saved", "show_cuts")


def capture(
    obj: Any, *args: Any, stage: str | None = None, dynamic_shapes: Any = None, strict: bool = False, **kwargs: Any
) -> Program | None:
    """A module or function with its inputs, a tensor with a gradient, an exported program or a graph module; else None.

    `stage` chooses what of a module is shown: "forward" (torch.export, the default), "eager" (one real run), "autograd" (the graph
    behind its results) or "joint" (forward and backward). `params`, `show_attrs`, `show_saved` and `max_attr_chars` are torchviz's;
    every other keyword goes to the module.
    """
    import torch

    if type(obj).__module__.startswith("executorch.") and callable(getattr(obj, "exported_program", None)):
        obj = obj.exported_program()  # an EdgeProgramManager or ExecutorchProgramManager
    obj = getattr(obj, "_orig_mod", obj)  # torch.compile's wrapper: what it wraps is what was written
    if isinstance(obj, torch.export.ExportedProgram):
        _check_stage(stage, "an exported program", ("forward", "joint"))
        if stage == "joint":
            examples = obj.example_inputs or (None, None)
            return _joint(obj, examples[0], examples[1], "")
        return export.program_of_exported(obj)
    if isinstance(obj, torch.fx.GraphModule) and not args and not kwargs and stage is None:
        return export.program_of_graph_module(obj)
    if not isinstance(obj, torch.nn.Module):
        if isinstance(obj, type) or not callable(obj) or isinstance(obj, torch.Tensor):
            _check_stage(stage, "tensors", ("autograd",))
            return autograd.program_of_tensors(obj, _options(kwargs))
        if not tensors([args, kwargs]):
            return None
        obj = _module_of(obj)
    _check_stage(stage, "a torch module", STAGES)
    if stage in ("eager", "autograd") and (dynamic_shapes is not None or strict):
        raise OpscopeError(f"dynamic_shapes and strict are torch.export's, and stage={stage!r} follows a real run; leave them out")
    if any(type(parameter).__name__ == "UninitializedParameter" for parameter in obj.parameters()):
        raise OpscopeError(f"{_name(obj)} has parameters without a size yet (lazy modules); run it once with real inputs first")
    _check_spelling(obj, kwargs)
    if not args and not kwargs and _needs_inputs(obj):
        raise OpscopeError(f"{_name(obj)} needs its inputs to be captured: opscope.capture(model, *inputs)")
    if stage == "autograd":
        return _autograd(obj, args, kwargs)
    misplaced = [name for name in kwargs if name in _SHOWN and name not in inspect.signature(obj.forward).parameters]
    if misplaced:
        raise OpscopeError(f"{misplaced[0]} is about autograd graphs; add stage='autograd', or leave it out")
    if stage == "eager":
        from opscope.readers.torch.eager import program_of_run

        return program_of_run(obj, args, kwargs, _name(obj))
    if stage == "joint":
        with _exported(obj, args, kwargs, dynamic_shapes, strict) as exported, same_state(obj):
            if not isinstance(exported, str):
                return _joint(exported, args, kwargs, _name(obj))
        if len(args) == 1 and type(args[0]) in (tuple, list):
            raise OpscopeError(f"{exported} {ONE_BY_ONE[0].upper()}{ONE_BY_ONE[1:]}")
        raise OpscopeError(f"{exported} A joint graph needs torch.export; stage='autograd' follows a real run instead.")
    return _forward(obj, args, kwargs, dynamic_shapes, strict)


def _check_stage(stage: str | None, of: str, known: tuple[str, ...]) -> None:
    if stage is not None and stage not in known:
        there = f"there are: {', '.join(known)}" if len(known) > 1 else f"there is only {known[0]!r}"
        raise OpscopeError(f"no stage {stage!r} of {of}; {there}")


def _check_spelling(module: Any, kwargs: dict[str, Any]) -> None:
    """A keyword that `forward` does not take and that looks like an option is a slip, and not the model's mistake."""
    try:
        taken = inspect.signature(module.forward).parameters
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        return
    for name in kwargs:
        meant = "" if name in taken or name in _SHOWN else suggest(name, (*_OPTIONS, *_SHOWN), otherwise="")
        if meant:
            raise OpscopeError(f"neither capture nor {_name(module)}.forward has an option {name!r}{meant}")


def _options(kwargs: dict[str, Any]) -> autograd.Options:
    unknown = [name for name in kwargs if name not in _SHOWN]
    if unknown:
        raise OpscopeError(f"no option {unknown[0]!r} for the graph behind tensors; there are: {', '.join(_SHOWN)}")
    return autograd.Options(**kwargs)


def _needs_inputs(module: Any) -> bool:
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _name(module: Any) -> str:
    return str(getattr(module, "opscope_name", None) or getattr(module, "original_name", None) or type(module).__name__)


def _module_of(function: Any) -> Any:
    """A function as a module: what torch.export takes. Modules that the function closes over keep their parameters as constants."""
    import torch

    class Function(torch.nn.Module):  # type: ignore[misc]
        opscope_name = getattr(function, "__name__", type(function).__name__)
        opscope_function = staticmethod(function)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    try:
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [p for p in inspect.signature(function).parameters.values() if p.name != own.name]
        Function.forward.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]  # names the inputs
    except (TypeError, ValueError):  # built-in functions have none
        pass
    return Function()


@contextmanager
def _exported(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any, strict: bool) -> Iterator[Any]:
    """The exported program, or a paragraph that says why there is none. What is in the program can be read while this is open."""
    import torch

    def attempt() -> Any:
        try:
            with _quietly(), same_state(module):  # export leaves fake tensors where a model keeps some
                return torch.export.export(module, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict)
        except Exception as error:  # export raises whatever the model, Dynamo or a fake tensor raises
            return error

    with ExitStack() as registered:
        result = attempt()
        if isinstance(result, Exception) and "DynamicCache" in str(result) and registered.enter_context(caches_registered()):
            result = attempt()
        yield refusal(result, _name(module)) if isinstance(result, Exception) else result


@contextmanager
def _quietly() -> Iterator[None]:
    """torch.export logs pages about a refusal before it raises it; the reason is ours to tell, once."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


def refusal(error: BaseException, name: str) -> str:
    """torch.export's reasons run over pages; the first paragraph is the one for people."""
    words = str(error).strip() or type(error).__name__
    paragraphs = words.split("\n\n")
    paragraph = " ".join(" ".join(paragraphs[: 2 if paragraphs[0].endswith(":") else 1]).split())
    if len(paragraph) > 400:
        paragraph = f"{paragraph[:400].rsplit(' ', 1)[0]} …"
    return f"torch.export refused {name} ({type(error).__name__}): {paragraph.rstrip('.')}."


def _forward(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any, strict: bool) -> Program:
    with _exported(module, args, kwargs, dynamic_shapes, strict) as exported:
        if not isinstance(exported, str):
            return export.program_of_exported(exported, _name(module))
    from opscope.readers.torch.eager import program_of_run

    program = program_of_run(module, args, kwargs, _name(module), exported)
    warnings.warn(program.attrs["notes"][0], stacklevel=_frames_of_ours())
    return program


def _frames_of_ours() -> int:
    """The `stacklevel` at which a warning points at the person's line: the first one outside opscope."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "opscope":
        frame, level = frame.f_back, level + 1
    return level


def _autograd(module: Any, args: Any, kwargs: Any) -> Program:
    from opscope.readers.torch.autograd_run import RecordedOrigins

    shown = autograd.Options(**{name: kwargs.pop(name) for name in _SHOWN if name in kwargs})
    origins = RecordedOrigins(module)
    with undisturbed(module):
        try:
            results = origins.run(*args, **kwargs)
        except Exception as error:  # the model's own mistake; the forward graph shows where
            raise OpscopeError(f"{_name(module)} raised {first_words(error)}; stage='eager' shows the graph up to there") from error
        program = autograd.program_of_tensors(results, shown, origins, _name(module))
    if program is None:
        raise OpscopeError(f"{_name(module)} gave no tensor; an autograd graph stands behind tensors")
    return program


def _joint(exported: Any, args: Any, kwargs: Any, name: str) -> Program:
    from opscope.readers.torch.joint import program_of_joint

    return program_of_joint(exported, args, kwargs, name or export.root_class(exported.graph_module) or "joint")
