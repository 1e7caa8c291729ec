"""From a source's name to what the server shows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from opscope.comparing import load_comparison
from opscope.errors import OpscopeError
from opscope.loading import load_all, load_recording, only_program, sources_in
from opscope.memory.read_from import remember_source
from opscope.naming import WHOLE_SOURCE, Part
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.comparison import Side, compare
from opscope.recording.model import Recording
from opscope.recording.sources import split_at
from opscope.serve.recordings import ServedComparison, ServedRecording
from opscope.serve.sources import Served

Reading = Callable[[str], AbstractContextManager[Progress]]
"""What is shown while a source is read."""


@contextmanager
def quietly(what: str) -> Iterator[Progress]:
    yield lambda done: None


def open_source(
    source: str,
    *,
    module: str | None = None,
    format: str | None = None,
    part: Part = WHOLE_SOURCE,
    profile: str | None = None,
    device: str | None = None,
    measure: bool = False,
    diff: bool = False,
    reading: Reading = quietly,
) -> list[Served]:
    """Read a source now, so that its errors are reported at once, and again whenever its file changes. Of a directory that is not a source
    itself, what is in it."""
    inside = sources_in(source) if format is None and Path(source).is_dir() else []
    if inside:
        options: dict[str, Any] = {"module": module, "part": part, "profile": profile, "device": device, "diff": diff, "reading": reading}
        return [one for each in inside for one in open_source(each, **options)]
    path = Path(source) if Path(source).is_file() else None
    short = Path(source).name or source
    title = f"reading {source}"

    def read_recording() -> Recording | None:
        with reading(title) as report:
            recording = load_recording(
                source, module=module, format=format, device=device, part=part, whole=profile is None, diff=diff, progress=report
            )
        if recording is not None:
            remember_source(source, recording)
        return recording

    def read_programs(name: str | None) -> list[Program]:
        with reading(title) as report:
            programs = load_all(
                source,
                module=name,
                format=format,
                profile=profile,
                device=device,
                measure=measure,
                stage=part.stage,
                inside=part.inside,
                progress=report,
            )
        remember_source(source, *programs)
        return programs

    recording = read_recording()
    if recording is not None:
        return [ServedRecording(short, partial(_reopened, read_recording), recording, path)]
    programs = read_programs(module)

    def reread(name: str) -> Program:
        return only_program(source, read_programs(module if len(programs) == 1 else name))

    named = [(short if len(programs) == 1 else f"{short}: {program.name}", program) for program in programs]
    return [Served(name, partial(reread, program.name), path, program) for name, program in named]


def open_comparison(
    a: str,
    b: str,
    *,
    module: str | None = None,
    format: str | None = None,
    part: Part = WHOLE_SOURCE,
    profiles: Sequence[str] = (),
    device: str | None = None,
    reading: Reading = quietly,
) -> Served:
    """Two sources as one recording, read again whenever one of their files changes."""

    def read() -> Recording:
        with reading(f"reading {a} and {b}") as report:
            return load_comparison(a, b, module=module, format=format, part=part, profiles=profiles, device=device, progress=report)

    recording = read()
    files = [path for path in (Path(split_at(source)[0]) for source in (a, b, *profiles)) if path.is_file()]
    return ServedComparison(recording.name, read, recording, files)


def compare_served(a: Served, b: Served, pass_: int | None = None) -> Served:
    """Two programs that are already served. Of a recording it is the last one, or for `a` that after a pass."""

    def side(one: Served, after: int | None) -> Side:
        if after is None or not isinstance(one, ServedRecording):
            return Side(one.name, one.program())
        if after >= len(one.recording):
            raise OpscopeError(f"{one.name}: has no pass {after} any more; reload the page")
        return Side(f"{one.name}@{one.recording[after].index}", one.program_after(after))

    def read() -> Recording:
        return compare(side(a, pass_), side(b, None))

    recording = read()
    return ServedComparison(recording.name, read, recording, [path for path in (a.path, b.path) if path is not None])


def _reopened(read: Callable[[], Recording | None]) -> Recording:
    """The recording, after its file changed."""
    recording = read()
    if recording is None:
        raise OpscopeError("the file is no longer a recording; write one there, or start `opscope view` again")
    return recording
