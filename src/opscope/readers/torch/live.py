"""How a live torch object is captured."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from opscope.errors import InputsMissingError, OpscopeError
from opscope.naming import suggest
from opscope.program import Program
from opscope.readers.mistakes import check_spelling, takes_stage
from opscope.readers.torch import autograd, export
from opscope.readers.torch.checkpointed import CHECKPOINTED, noticed
from opscope.readers.torch.exporting import WITHOUT_CACHE, exported_module, module_name, refuse_lazy, takes
from opscope.readers.torch.input_hints import input_mistake, input_names, with_tensors
from opscope.readers.torch.kept_functions import KeptFunctions, kept_functions
from opscope.readers.torch.modes import gradients_on
from opscope.readers.torch.names import first_words
from opscope.readers.torch.nested import tensors
from opscope.readers.torch.reentrant import UNSEEN
from opscope.readers.torch.undisturbed import runs, same_settings, same_state, undisturbed
from opscope.readers.torch.untrained import cut_parameters
from opscope.terminal import one_line

STAGES = ("forward", "eager", "autograd", "joint")
_OPTIONS = ("stage", "dynamic_shapes", "strict")
_SHOWN = ("params", "show_attrs", "show_saved", "max_attr_chars", "merge_saved", "show_cuts")


def capture(obj: Any, *args: Any, stage: Any = None, dynamic_shapes: Any = None, strict: bool = False, **kwargs: Any) -> Program | None:
    """Capture a module or function with its inputs, a tensor with a gradient, an exported program or a graph module; None for others.

    `stage` chooses what to show of a module: "forward" (torch.export, the default), "eager" (one real run), "autograd" (the graph
    behind its results) or "joint" (forward and backward). `params`, `show_attrs`, `show_saved` and `max_attr_chars` work as in
    torchviz; every other keyword is passed to the module.
    """
    import torch

    if type(obj).__module__.startswith("executorch.") and callable(getattr(obj, "exported_program", None)):
        obj = obj.exported_program()  # an EdgeProgramManager or ExecutorchProgramManager
    obj = getattr(obj, "_orig_mod", obj)  # the module inside torch.compile's wrapper
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
            if not tensors([obj]):
                return None  # another framework's
            _check_stage(stage, "tensors", ("autograd",))
            return autograd.program_of_tensors(obj, _options(kwargs))
        if not tensors([args, kwargs]):
            return None
        obj = _module_of(obj)
    if not (stage is None or (isinstance(stage, str) and stage in STAGES)) and takes_stage(obj.forward):
        kwargs["stage"], stage = stage, None
    _check_stage(stage, "a torch module", STAGES)
    if stage in ("eager", "autograd") and (dynamic_shapes is not None or strict):
        raise OpscopeError(f"dynamic_shapes and strict are options of torch.export, which stage={stage!r} does not use; leave them out")
    refuse_lazy(obj)
    if "input_size" in kwargs and "input_size" not in input_names(obj):
        raise OpscopeError(f"input_size is an option of opscope.summary; {with_tensors(kwargs['input_size'])}")
    check_spelling(obj.forward, f"{module_name(obj)}.forward", kwargs, (*_OPTIONS, *_SHOWN))
    if not args and not kwargs and _needs_inputs(obj):
        raise InputsMissingError(module_name(obj), "opscope.capture(model, *inputs)")
    if stage == "autograd":
        return _autograd(obj, args, kwargs)
    misplaced = [name for name in kwargs if name in _SHOWN and name not in inspect.signature(obj.forward).parameters]
    if misplaced:
        raise OpscopeError(f"{misplaced[0]} only applies to autograd graphs; add stage='autograd', or leave it out")
    if stage == "eager":
        from opscope.readers.torch.eager import program_of_run

        return program_of_run(obj, args, kwargs, module_name(obj))
    if stage == "joint":
        try:
            return _joint_of_module(obj, args, kwargs, dynamic_shapes, strict)
        except OpscopeError as error:  # backward through a cache that the model changes in place (RWKV)
            if "inplace operation" not in str(error) or "use_cache" in kwargs or not takes(obj, "use_cache"):
                raise
            refused = error
        try:
            program = _joint_of_module(obj, args, {**kwargs, "use_cache": False}, dynamic_shapes, strict)
        except OpscopeError:
            raise refused from None
        return _noted(program, f"Exported {WITHOUT_CACHE}, because {str(refused).partition(';')[0]}.", frozenset(["use_cache"]))
    return _forward(obj, args, kwargs, dynamic_shapes, strict)


def _check_stage(stage: Any, subject: str, stages: tuple[str, ...]) -> None:
    if stage is not None and not (isinstance(stage, str) and stage in stages):
        choice = f"choose one of: {', '.join(stages)}" if len(stages) > 1 else f"use {stages[0]!r}"
        raise OpscopeError(f"no stage {stage!r} for {subject}; {choice}")


def _options(kwargs: dict[str, Any]) -> autograd.Options:
    unknown = [name for name in kwargs if name not in _SHOWN]
    if unknown:
        raise OpscopeError(f"no option {unknown[0]!r} for the autograd graph of tensors{suggest(unknown[0], _SHOWN)}")
    return autograd.Options(**kwargs)


def _needs_inputs(module: Any) -> bool:
    try:
        parameters = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _module_of(function: Any) -> Any:
    """A function wrapped in a module, for torch.export. Parameters of modules that the function closes over become constants."""
    import torch

    class Function(torch.nn.Module):  # type: ignore[misc]
        opscope_name = getattr(function, "__name__", type(function).__name__)
        opscope_function = staticmethod(function)

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    try:
        this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        parameters = [p for p in inspect.signature(function).parameters.values() if p.name != this.name]
        Function.forward.__signature__ = inspect.Signature([this, *parameters])  # type: ignore[attr-defined]  # names the inputs
    except (TypeError, ValueError):  # built-in functions have no signature
        pass
    return Function()


def _forward(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any, strict: bool) -> Program:
    with exported_module(module, args, kwargs, dynamic_shapes, strict) as exported:
        if exported.program is not None:
            program = _noted(export.program_of_exported(exported.program, module_name(module)), exported.note, exported.added)
            cut = cut_parameters(exported.program)
            return replace(program, attrs={**program.attrs, "notes": [*program.attrs.get("notes", ()), *cut]}) if cut else program
    from opscope.readers.torch.eager import program_of_run

    program = program_of_run(module, args, kwargs, module_name(module), exported.refusal)
    warnings.warn(one_line(program.attrs["notes"][0]), stacklevel=_opscope_frames())
    return program


def _joint_of_module(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any, strict: bool) -> Program:
    """Functions with a backward of their own are kept if torch.export can; otherwise a note says that they are not."""
    with kept_functions(keeps=True) as kept:
        try:
            return _noted(_traced_joint(module, args, kwargs, dynamic_shapes, strict, kept), kept.note(), frozenset())
        except OpscopeError as error:
            if not kept.names:
                raise
            refused = error
    with kept_functions(keeps=False) as kept:
        try:
            return _noted(_traced_joint(module, args, kwargs, dynamic_shapes, strict, kept), kept.note(), frozenset())
        except OpscopeError:
            raise refused from None


def _traced_joint(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any, strict: bool, kept: KeptFunctions) -> Program:
    with (
        gradients_on(),
        noticed(module) as checkpointed,
        exported_module(module, args, kwargs, dynamic_shapes, strict) as exported,
        same_settings(),
        same_state(module, args, kwargs),
    ):
        if exported.program is not None:
            names = sorted(set(checkpointed))
            program = _joint(exported.program, args, exported.kwargs, module_name(module), kept)
            program = _noted(program, exported.note, exported.added)
            return replace(program, attrs={**program.attrs, CHECKPOINTED: names}) if names else program
    hint = input_mistake(args)
    if hint and not runs(module, args, kwargs):
        raise OpscopeError(f"{module_name(module)}: {hint}. {exported.refusal}")
    raise OpscopeError(f"{exported.refusal} A joint graph needs torch.export; stage='autograd' uses a real run instead.")


def _noted(program: Program, note: str, passed: frozenset[str]) -> Program:
    """The program, with a note if torch took it only in another way than asked. What was passed for that alone is not shown unless it is
    used."""
    if not note:
        return program
    attrs = {**program.attrs, "notes": [note, *program.attrs.get("notes", ())]}
    main = program.main
    added = {node.id for node in main.parameters if node.role == "input" and node.attrs.get("name", node.id) in passed}
    if added := added - main.users.keys():
        main = replace(main, nodes=tuple(node for node in main if node.id not in added))
    return replace(program, attrs=attrs, graphs=MappingProxyType({**program.graphs, main.name: main}))


def _opscope_frames() -> int:
    """The `stacklevel` that makes a warning point at the user's line: the first frame outside opscope."""
    frame, level = inspect.currentframe(), 0
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "opscope":
        frame, level = frame.f_back, level + 1
    return level


def _autograd(module: Any, args: Any, kwargs: Any) -> Program:
    from opscope.readers.torch.autograd_run import RecordedOrigins, untrained_of_module

    shown = autograd.Options(**{name: kwargs.pop(name) for name in _SHOWN if name in kwargs})
    origins = RecordedOrigins(module)
    with undisturbed(module, args, kwargs):
        try:
            results = origins.run(*args, **kwargs)
        except Exception as error:  # a bug in the model; the forward graph shows where
            raise OpscopeError(f"{module_name(module)} raised {first_words(error)}; stage='eager' shows the graph up to there") from error
        program = autograd.program_of_tensors(results, shown, origins, module_name(module))
    if program is None:
        raise OpscopeError(f"{module_name(module)} returned no tensor, so there is no autograd graph; return the tensors to differentiate")
    notes = program.attrs.get("notes", [])
    if UNSEEN in notes and (untrained := untrained_of_module(module, args, kwargs)):
        return replace(program, attrs={**program.attrs, "notes": [*notes, untrained]})
    return program


def _joint(exported: Any, args: Any, kwargs: Any, name: str, kept: KeptFunctions | None = None) -> Program:
    from opscope.readers.torch.joint import program_of_joint

    return program_of_joint(exported, args, kwargs, name or export.root_class(exported.graph_module) or "joint", kept)
