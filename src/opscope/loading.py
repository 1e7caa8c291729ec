"""From what a person names to Programs: a file, a folder, standard input, or `module:callable` with a live object behind it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar

from opscope.analysis.enrich import with_groupings
from opscope.analysis.summary import Summary
from opscope.demo import source_path
from opscope.errors import OpscopeError, SourceError, in_source
from opscope.naming import find_module, listed
from opscope.program import Program
from opscope.readers import Progress, capture_object, read
from opscope.readers.source import Source
from opscope.recording.model import NOTHING_RECORDED, Recording
from opscope.recording.sources import is_recording_source, open_passes, open_recording, split_at

Shown = TypeVar("Shown", Program, Recording, Program | Recording)

_OBJECT = re.compile(r"([A-Za-z_][\w.]*):([A-Za-z_][\w.]*)")


def load(source: str | PathLike[str], *, module: str | None = None, format: str | None = None, progress: Progress | None = None) -> Program:
    """The program of a source, or the one of a module by the module's name or the program's own.

    A source with several modules is refused with their names, unless `module` names one: `load_all` gives all of them. A recording, and a
    directory of a compiler's dumps, is refused too: `open_recording` gives it, and `run.opscope@12` is the program after one of its passes.
    """
    name = fspath(source)
    if not split_at(name)[1] and is_recording_source(name, format):
        raise SourceError(f"is a recording; use opscope.open_recording, or name one of its passes: {name}@12", name)
    return only_program(name, load_all(name, module=module, format=format, progress=progress))


def capture(obj: Any, *args: Any, **options: Any) -> Program:
    """A live object as a Program, with what analysis can say about it: the clusters of a quantized model are a grouping."""
    return with_groupings(capture_object(obj, *args, **options))


def as_shown(x: Any, *inputs: Any) -> list[Program | Recording]:
    """What `save` and `show` take: Programs and Recordings, one or several, a Summary, or anything that `capture` takes."""
    if isinstance(x, Summary):
        x = x.program
    several = list(x) if isinstance(x, (list, tuple)) else [x]
    if several and not inputs and all(isinstance(each, (Program, Recording)) for each in several):
        return several
    return [capture(x, *inputs)]


def load_all(
    source: str | PathLike[str], *, module: str | None = None, format: str | None = None, progress: Progress | None = None
) -> list[Program]:
    """Every program of a source, in its order, or the one of a module. Of a recording, what each module became in the end."""
    name = fspath(source)
    modules = _by_module(name, format, progress)
    programs = [with_groupings(program) for _, program in modules]
    if module is None:
        return programs
    names = [program.name for program in programs]
    with in_source(name):
        return [programs[find_module(module, names if names.count(module) == 1 else [name for name, _ in modules])]]


def only_program(source: str, programs: Sequence[Shown]) -> Shown:
    """The one program, or recording, of a source."""
    if len(programs) == 1:
        return programs[0]
    names = listed([program.name for program in programs])
    raise SourceError(f"has {len(programs)} modules; choose one with --module NAME (in Python module=NAME): {names}", source)


def _by_module(name: str, format: str | None, progress: Progress | None) -> list[tuple[str, Program]]:
    """Programs, each with the name of what was compiled: in a recording that is not always the program's own."""
    found = _OBJECT.fullmatch(name)
    if found and not source_path(name).exists():
        return _named(_programs_of(name, _resolve(name, found[1], found[2])))
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
    """What each module of a recording became in the end."""
    last = {snapshot.module: snapshot for snapshot in recording}
    if not last:
        raise SourceError(NOTHING_RECORDED, recording.name)
    return [(snapshot.module or snapshot.program.name, snapshot.program) for snapshot in last.values()]


def _resolve(name: str, module_name: str, attribute: str) -> Any:
    """The object behind `module:callable`, looked for in the current folder first, as `python -m` does."""
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and module_name.startswith(error.name):
            raise SourceError(f"no module named {error.name!r} here, and no file of that name either", name) from None
        raise SourceError(f"importing {module_name} failed: {error}", name) from error
    except Exception as error:
        raise SourceError(f"importing {module_name} failed: {type(error).__name__}: {error}", name) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise SourceError(f"{getattr(found, '__name__', found)} has no {part!r}", name)
        found = getattr(found, part)
    return found


def _programs_of(name: str, found: Any) -> list[Program]:
    """A function or class that needs no arguments is called for what it makes: a model, a model with its inputs, a Program."""
    if (inspect.isroutine(found) or inspect.isclass(found)) and _needs_nothing(found):
        try:
            found = found()
        except Exception as error:
            raise SourceError(f"raised {type(error).__name__}: {error}", name) from error
    if isinstance(found, Program):
        return [found]
    if isinstance(found, list) and found and all(isinstance(each, Program) for each in found):
        return found
    obj, *inputs = found if type(found) is tuple and found else (found,)
    with in_source(name):
        return [_captured(obj, inputs)]


def _captured(obj: Any, inputs: list[Any]) -> Program:
    """`(model, x)` is ours; `(model, (x,))`, as torch.export takes it, is what is meant where the model cannot take a tuple."""
    try:
        return capture(obj, *inputs)
    except OpscopeError as error:
        if len(inputs) != 1 or type(inputs[0]) is not tuple:
            raise
        try:
            return capture(obj, *inputs[0])
        except OpscopeError:
            raise error from None


def _needs_nothing(found: Any) -> bool:
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters)
