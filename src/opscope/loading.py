"""From a source's name to Programs: a file, a directory, standard input, or `module:callable` for a live object."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from opscope.analysis.clusters import with_clusters
from opscope.analysis.devices import device_of
from opscope.analysis.roofline import with_estimates
from opscope.demo import source_path
from opscope.errors import InputsMissingError, OpscopeError, SourceError, in_source
from opscope.measuring import measured
from opscope.naming import WHOLE_SOURCE, Part, checks_keywords, find_module, listed, suggest
from opscope.program import Program
from opscope.readers import Progress, capture_object, find_reader, read
from opscope.readers.source import Source
from opscope.readers.timed import Timed
from opscope.recording.model import NOTHING_RECORDED, Recording
from opscope.recording.pass_costs import estimate_for
from opscope.recording.sources import is_recording_source, open_passes, open_recording, split_at

Shown = TypeVar("Shown", Program, Recording, Program | Recording)

_OBJECT = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")
_MOST_ENTRIES = 24
_MOST_NESTED = 4
"""How much is looked at to find what is in a directory."""
_MODULE = "_module"
"""Of a program that was read: the name of its module, by which it can be chosen."""


@checks_keywords
def load(
    source: str | PathLike[str],
    *,
    module: str | None = None,
    format: str | None = None,
    profile: str | PathLike[str] | None = None,
    device: str | None = None,
    stage: str | None = None,
    inside: str | None = None,
    progress: Progress | None = None,
) -> Program:
    """The program of a source. `module` chooses one of several, by the name of the module or of its program. `profile` is a file with
    measured times, which become metrics of the program. So do the times at best on a `device` ("h200", or a JSON file with its rates).
    `stage` is that of a model which a `module:callable` names; `inside` is the module of the model to take ("layers.0.self_attn").

    A source with several modules needs `module`; `load_all` returns all of them. Recordings and directories of compiler dumps are opened
    by `open_recording`; `run.opscope@12` is the program after one of the passes.
    """
    name = fspath(source)
    if not split_at(name)[1] and is_recording_source(name, format):
        raise SourceError(f"is a recording; use opscope.open_recording, or name one of its passes: {name}@12", name)
    programs = load_all(name, module=module, format=format, profile=profile, device=device, stage=stage, inside=inside, progress=progress)
    return only_program(name, programs)


def capture(obj: Any, *args: Any, **options: Any) -> Program:
    """A live object as a Program, with the groupings that analysis finds, such as the clusters of a quantized model. `inside` is the
    module of it to take: "layers.0.self_attn"."""
    part = Part(inside=options.pop("inside", None))
    program = with_clusters(capture_object(obj, *args, **options))
    _refuse_uncalled(obj, program, part)
    return _taken(program, part)


def as_shown(x: Any, *inputs: Any, inside: str | None = None) -> list[Program | Recording]:
    """The argument of `save` and `show` as a list: Programs, Recordings, a Diff, a Summary, or anything that `capture` accepts; only what
    is in the module `inside`."""
    from opscope.analysis.summary import Summary
    from opscope.recording.comparison import comparison_of
    from opscope.recording.diff import Diff

    if isinstance(x, Summary):
        x = x.program
    if isinstance(x, Diff):
        x = comparison_of(x)
    several = list(x) if isinstance(x, (list, tuple)) else [x]
    if several and all(isinstance(item, (Program, Recording)) for item in several):
        if inputs:
            kind = type(several[0]).__name__
            raise OpscopeError(f"a {kind} takes no inputs; pass view options by name, such as depth=3")
        return [_taken_if_program(item, inside) for item in several]
    return [capture(x, *inputs, inside=inside)]


def _taken_if_program(item: Program | Recording, inside: str | None) -> Program | Recording:
    if isinstance(item, Program):
        return _taken(item, Part(inside=inside))
    if inside is not None:
        raise OpscopeError("inside takes a module of a program; name one of the passes: recording[12].program")
    return item


@checks_keywords
def load_all(
    source: str | PathLike[str],
    *,
    module: str | None = None,
    format: str | None = None,
    profile: str | PathLike[str] | None = None,
    device: str | None = None,
    measure: bool = False,
    stage: str | None = None,
    inside: str | None = None,
    progress: Progress | None = None,
) -> list[Program]:
    """Every program of a source, in order, or only that of a module. For a recording, the final program of each module. With `measure`,
    the model that a `module:callable` names runs, and its nodes have measured times. `stage` and `inside` are as in `load`."""
    part = Part(stage, inside)
    chosen_device = None if device is None else device_of(device)
    if measure:
        programs = [_measured(fspath(source), profile, part).program]
    else:
        programs = read_programs(source, module, format, part, progress)
        if profile is not None:
            programs = [timed.program for timed in _timed_with(programs, profile)]
    return programs if chosen_device is None else [with_estimates(program, chosen_device) for program in programs]


def load_timed(
    source: str,
    *,
    module: str | None = None,
    format: str | None = None,
    profile: str | None = None,
    measure: bool = False,
    part: Part = WHOLE_SOURCE,
    progress: Progress | None = None,
) -> list[Timed]:
    """Like `load_all`, with the times of each program: from `profile`, or from the source if it is a profile itself."""
    if measure:
        return [_measured(source, profile, part)]
    if profile is not None:
        return _timed_with(read_programs(source, module, format, part, progress), profile)
    reader = _profile_reader(source, format)
    if reader:
        from opscope.readers.profiles import TIMED

        _refuse_stage(source, part)
        with in_source(source):
            timed = [one._replace(program=_taken(one.program, part)) for one in TIMED[reader](Source(source), progress)]
            return timed if module is None else [timed[find_module(module, [one.program.name for one in timed])]]
    return [Timed(program, None) for program in read_programs(source, module, format, part, progress)]


def _timed_with(programs: Sequence[Program], profile: str | PathLike[str]) -> list[Timed]:
    from opscope.readers.profiles import timed_with

    return timed_with(programs, profile)


def is_profile(source: str, format: str | None = None) -> bool:
    """Whether a source has times by itself."""
    return bool(_profile_reader(source, format))


def _profile_reader(source: str, format: str | None) -> str:
    """The reader of a source that is a profile; empty if it is something else."""
    if split_at(source)[1] or not source_path(source).exists() or is_recording_source(source, format):
        return ""
    from opscope.readers.profiles import TIMED

    opened = Source(source)
    reader = "" if opened.is_directory else find_reader(opened, format).name
    return reader if reader in TIMED else ""


def _taken(program: Program, part: Part) -> Program:
    if part.inside is None:
        return program
    from opscope.analysis.inside import inside

    return inside(program, part.inside)


def _refuse_uncalled(model: Any, program: Program, part: Part) -> None:
    """A program has only the modules that were called; a torch module knows the others. Of modules with several names, a program has one,
    and none of TorchScript."""
    torch = sys.modules.get("torch")
    if part.inside is None or torch is None or not isinstance(model, torch.nn.Module):
        return
    from opscope.analysis.inside import refuse_without_nodes

    modules = list(model.named_modules(remove_duplicate=False))
    counts = Counter(id(module) for _, module in modules)
    names = [name for name, module in modules if counts[id(module)] == 1 and not isinstance(module, torch.jit.ScriptModule)]
    refuse_without_nodes(program, part.inside, names)


def _refuse_stage(source: str, part: Part) -> None:
    if part.stage is not None:
        raise SourceError(f"is a file, which has one stage; leave out stage {part.stage!r}, or name the model itself: model:make", source)


def _measured(name: str, profile: str | PathLike[str] | None, part: Part) -> Timed:
    """Run the model that a `module:callable` names."""
    match = _OBJECT.fullmatch(name)
    if profile is not None:
        raise SourceError("has times from a profile or is measured, not both; leave one of them out", name)
    if match is None or source_path(name).exists():
        raise SourceError("is a file, and only a model can be measured; name a function that returns it and its inputs: model:make", name)
    obj, *inputs = _model(name, _resolve(name, match[1], match[2]))
    with in_source(name):
        timed = measured(obj, tuple(inputs), {}, part.stage or "forward")
        return timed._replace(program=_taken(timed.program, part))


def read_programs(
    source: str | PathLike[str], module: str | None, format: str | None, part: Part, progress: Progress | None
) -> list[Program]:
    """The programs of a source, or only that of a module, without times."""
    name = fspath(source)
    modules = _by_module(name, format, part, progress)
    programs = [with_clusters(program) for _, program in modules]
    for (own, _), program in zip(modules, programs, strict=True):
        vars(program)[_MODULE] = own
    with in_source(name):
        if module is not None:
            names = [program.name for program in programs]
            programs = [programs[find_module(module, names if names.count(module) == 1 else [name for name, _ in modules])]]
        return [_taken(program, part) for program in programs]


def sources_in(source: str) -> list[str]:
    """What is in a directory that is not a source itself, such as one of several profiles of a run: its directories first. Empty for
    anything else, and if that would be too much to open at once."""
    path = source_path(source)
    for _ in range(_MOST_NESTED):
        if not _is_plain_directory(path):
            return []
        entries = sorted(
            (entry for entry in path.iterdir() if not entry.name.startswith(".")), key=lambda entry: (entry.is_file(), entry.name)
        )
        if len(entries) > _MOST_ENTRIES:
            return []
        found = [str(entry) for entry in entries if _is_source(entry)]
        if found or [entry.is_dir() for entry in entries] != [True]:
            return found
        path = entries[0]
    return []


def _is_plain_directory(path: Path) -> bool:
    return path.is_dir() and not is_recording_source(path) and Source(str(path)).is_directory


def _is_source(path: Path) -> bool:
    if path.is_dir():
        return not _is_plain_directory(path)
    try:
        return path.is_file() and (is_recording_source(path) or bool(find_reader(Source(str(path)))))  # no pipe, which would never end
    except OpscopeError:
        return False


def load_recording(
    source: str,
    *,
    module: str | None = None,
    format: str | None = None,
    device: str | None = None,
    part: Part = WHOLE_SOURCE,
    whole: bool,
    diff: bool,
    progress: Progress | None = None,
) -> Recording | None:
    """The recording to show: all passes (`whole`), or one of them (run.opscope@12) with its `diff`. Otherwise None."""
    base, which = split_at(source)
    if not (which and diff) and not (whole and not which and is_recording_source(source, format)):
        return None
    if part != WHOLE_SOURCE:
        raise SourceError(f"is a recording, of which a stage or a module cannot be taken; name one of its passes: {base}@12", source)
    chosen_device = None if device is None else device_of(device)
    recording = open_recording(base, progress, format=format)
    if chosen_device is not None:
        recording = estimate_for(recording, chosen_device)
    if which:
        return recording.only(recording.snapshot(which, module).index)
    return recording if module is None else recording.of_module(module)


def only_program(source: str, programs: Sequence[Shown]) -> Shown:
    """The only program, or recording, of a source."""
    if len(programs) == 1:
        return programs[0]
    names = [program.name for program in programs]
    if len(set(names)) < len(names):  # the names of the files of a dump are different
        names = [vars(program).get(_MODULE, program.name) for program in programs]
    raise SourceError(several_modules(names), source)


def several_modules(names: Sequence[str]) -> str:
    return f"has {len(names)} modules; choose one with --module NAME (in Python module=NAME): {listed(names)}"


def _by_module(name: str, format: str | None, part: Part, progress: Progress | None) -> list[tuple[str, Program]]:
    """Programs, each with the name of its module: in a recording, the program may have another name."""
    match = _OBJECT.fullmatch(name)
    if match and not source_path(name).exists():
        return _named(_programs_of(name, _resolve(name, match[1], match[2]), part))
    _refuse_stage(name, part)
    base, which = split_at(name)
    if which:
        snapshot = open_passes(base, progress, format=format).snapshot(which)
        return [(snapshot.module, snapshot.program)]
    if is_recording_source(name, format):
        return _last_programs(open_recording(name, progress, format=format))
    return _named(read(Source(name), format, progress))


def _named(programs: list[Program]) -> list[tuple[str, Program]]:
    return [(program.name, program) for program in programs]


def _last_programs(recording: Recording) -> list[tuple[str, Program]]:
    """The final program of each module of a recording."""
    last = {snapshot.module: snapshot for snapshot in recording}
    if not last:
        raise SourceError(NOTHING_RECORDED, recording.name)
    return [(snapshot.module or snapshot.program.name, snapshot.program) for snapshot in last.values()]


def _resolve(name: str, module_name: str, attribute: str) -> Any:
    """The object that `module:callable` (or `module.py:callable`) names. The current directory is searched first, as with `python -m`."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    if Path(module_name).is_file():
        module_name = module_name.removesuffix(".py")
    try:
        obj: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and module_name.startswith(error.name):
            raise SourceError(f"there is neither a module {error.name!r} here nor a file of that name; check the spelling", name) from None
        raise SourceError(f"importing {module_name} failed: {error}", name) from error
    except Exception as error:
        raise SourceError(f"importing {module_name} failed: {type(error).__name__}: {error}", name) from error
    for part in attribute.split("."):
        if not hasattr(obj, part):
            public = [candidate for candidate in dir(obj) if not candidate.startswith("_")]
            raise SourceError(f"{getattr(obj, '__name__', obj)} has no {part!r}{suggest(part, public)}", name)
        obj = getattr(obj, part)
    return obj


def _model(name: str, target: Any) -> tuple[Any, ...]:
    """An object and its inputs. A function or class that needs no arguments is called, and returns a model, a model with its inputs, or
    a Program."""
    if (inspect.isroutine(target) or inspect.isclass(target)) and _needs_no_arguments(target):
        try:
            target = target()
        except Exception as error:
            raise SourceError(f"raised {type(error).__name__}: {error}", name) from error
    return target if type(target) is tuple and target else (target,)


def _programs_of(name: str, target: Any, part: Part) -> list[Program]:
    """The programs of an object."""
    obj, *inputs = _model(name, target)
    programs = obj if isinstance(obj, list) else [obj]
    if not inputs and programs and all(isinstance(item, Program) for item in programs):
        if part.stage is not None:
            raise SourceError(f"returns a Program, which has one stage; leave out stage {part.stage!r}", name)
        return programs
    with in_source(name):
        program = _captured(obj, inputs, part)
        _refuse_uncalled(obj, program, part)
        return [program]


def _captured(obj: Any, inputs: list[Any], part: Part) -> Program:
    """Capture a model with its inputs: `(model, x)`. If the model cannot take a tuple, `(model, (x,))` as in torch.export works too."""
    options = {} if part.stage is None else {"stage": part.stage}
    try:
        return capture(obj, *inputs, **options)
    except InputsMissingError as error:
        raise OpscopeError(f"{error.name} needs its inputs; name a function that returns them with it, as (model, *inputs)") from error
    except OpscopeError as error:
        if len(inputs) != 1 or type(inputs[0]) is not tuple:
            raise
        try:
            return capture(obj, *inputs[0], **options)
        except OpscopeError:
            raise error from None


def _needs_no_arguments(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters)
