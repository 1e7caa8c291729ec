"""Profiles of JAX and TensorFlow (`.xplane.pb`): the modules that ran, with their measured times on the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

from opscope.errors import OpscopeError, SourceError, in_source
from opscope.gc_pause import without_collecting
from opscope.naming import listed
from opscope.profile.model import Profile
from opscope.profile.place import HOST_TIME, Times, place, with_times
from opscope.profile.schedule import executed_graphs
from opscope.profile.xplane import is_xplane, read_xplane
from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.hlo_proto import hlo_proto, program_of
from opscope.readers.source import Source
from opscope.readers.timed import LEAST_SHARE, PROFILES, Timed


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    return Verdict(0.97, "has a profile's planes") if is_xplane(source.head) else Verdict(0, "not a profile")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    return [timed.program for timed in timed_programs(source)]


def read_profile(path: str | PathLike[str] | Source) -> Profile:
    """The profile in a file, or in the directory that `jax.profiler.trace` writes."""
    source = path if isinstance(path, Source) else Source(str(path))
    with in_source(source.name):
        if not source.is_directory and not source.size:
            raise SourceError("is empty; write or download it again")
        if source.is_directory or not is_xplane(source.head):
            raise SourceError(f"is not a profile; expected {PROFILES}")
        with without_collecting():
            return read_xplane(source.read_bytes())


def timed_programs(source: Source, progress: Progress | None = None) -> list[Timed]:
    """The modules of a profile that ran while it was taken, the heaviest first; all of them, without times, if none did."""
    profile = read_profile(source)
    ran = [number for number in profile.heaviest() if profile.modules[number].hlo]
    numbers = ran or [number for number, module in profile.modules.items() if module.hlo]
    if not numbers:
        raise SourceError(
            "has no module; the profiler embeds them unless it is told not to. Open the program, with --profile for the times"
        )
    repeated = Counter(profile.modules[number].name for number in numbers)
    timed = []
    for number in numbers:
        program = _program(profile, number)
        if repeated[program.name] > 1:
            program = replace(program, name=f"{program.name}({number})")
        timed.append(_timed(program, program, profile, number) if number in ran else Timed(program, None))
    return _told(timed, profile)


def _told(timed: list[Timed], profile: Profile) -> list[Timed]:
    """The programs, with what is to be said about a profile that could be read in part, or has no events."""
    has_times = any(one.times for one in timed)
    if profile.problem:
        note = f"{profile.problem}; {'the times are of what' if has_times else 'no times'} could be read"
    elif not has_times:
        note = "the profile has no events of these modules: nothing ran while it was taken"
    else:
        return timed
    return [one._replace(program=_noted(one.program, note)) for one in timed]


def timed_with(programs: Sequence[Program], path: str | PathLike[str] | Source) -> list[Timed]:
    """Programs from elsewhere, with the times of a profile. Raises an error that says why if the profile is of none of them."""
    profile = read_profile(path)
    timed = [_matched(program, profile) for program in programs]
    if any(one.times for one in timed):
        return _told(timed, profile)
    with in_source(path.name if isinstance(path, Source) else str(path)):
        names = listed([profile.modules[number].name for number in profile.heaviest()])
        shown = listed([program.name for program in programs])
        if not names and profile.problem:
            raise OpscopeError(f"has no times that could be read: {profile.problem}; take or download it again")
        if not names:
            raise OpscopeError("has no events of an XLA module; profile a step that runs compiled code")
        raise OpscopeError(
            f"is a profile of another program: it has {names}, and less than half of the instructions that ran are in "
            f"{'what was opened under that name' if shown == names else shown}; open the module that ran, after optimization"
        )


def _matched(program: Program, profile: Profile) -> Timed:
    """A program with the times of the module of the profile that it is."""
    ids = {node.id for graph in program for node in graph}
    for number in profile.heaviest():
        module = profile.modules[number]
        ran = _program(profile, number) if module.hlo else program
        names = _instructions(ran) if module.hlo else {event.op for event in profile.of_module(number) if event.op}
        if names and len(names & ids) >= LEAST_SHARE * len(names):
            return _timed(program, ran, profile, number)
    return Timed(program, None)


def _instructions(program: Program) -> set[str]:
    return {node.id for graph in executed_graphs(program) for node in graph if node.role == "op"}


def _program(profile: Profile, number: int) -> Program:
    return program_of(hlo_proto(profile.modules[number].hlo)["hlo_module"])


def _timed(program: Program, ran: Program, profile: Profile, number: int) -> Timed:
    """Place the events on the module that ran, and take the times to the program that is shown."""
    times = place(ran, profile.of_module(number))
    if ran is not program:
        names = _instructions(ran)
        if missing := len(names - {node.id for graph in program for node in graph}):
            another = f"the profile is of another compilation: the program does not have {missing:,} of its {len(names):,} instructions"
            program = _noted(program, f"{another}, and others may only have the same name")
        _move(times, program)
    program = with_times(program, times)
    host = [event for event in profile.host if event.program == number]
    if host:
        host_times = place(program, sorted(host, key=lambda event: event.start))
        program = with_times(program, host_times, HOST_TIME) if host_times.seconds else program
    return Timed(program, times)


def _noted(program: Program, note: str) -> Program:
    return replace(program, attrs={**program.attrs, "notes": (*program.attrs.get("notes", ()), note)})


def _move(times: Times, program: Program) -> None:
    """Take the times to the nodes of another program: of the same name and graph, or else of the same name. The others are unplaced."""
    named = {node.id: (graph.name, node.id) for graph in reversed(executed_graphs(program)) for node in graph}
    times.step = [piece._replace(node=named.get(piece.node[1]) if piece.node else None) for piece in times.step]
    for node in list(times.seconds):
        graph = program.graphs.get(node[0])
        if graph is not None and node[1] in graph:
            continue
        seconds, kernels = times.seconds.pop(node), times.kernels.pop(node)
        if node[1] in named:
            times.seconds[named[node[1]]], times.kernels[named[node[1]]] = seconds, kernels
            continue
        for name, (spent, count) in kernels.items():
            total, before = times.unplaced.get(name, (0.0, 0))
            times.unplaced[name] = (total + spent, before + count)
