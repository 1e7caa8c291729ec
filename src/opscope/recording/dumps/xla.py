"""A directory written with `--xla_dump_to` as a recording: modules, pipelines and passes in order.

    module_0022.jit_step.0011.simplification.after_algsimp.before_simplify-sorts.txt

Files are read in several processes. A text that repeats (because a pass only started, or changed nothing) is read once.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from opscope.errors import SourceError
from opscope.plugin import Progress
from opscope.program import Program
from opscope.recording.dumps.cache import cached
from opscope.recording.dumps.lazy_programs import PassFile, is_closed, lazy_recording
from opscope.recording.dumps.workers import packed_in_order
from opscope.recording.dumps.xla_seconds import METADATA_FILE, PIPELINE_START, SECONDS_REMARK, TextName, metadata_seconds, with_profile
from opscope.recording.model import Recording
from opscope.recording.store.store import StoreWriter

_STEP = re.compile(r"(?P<module>module_\d+\..+?)\.(?P<step>\d{4,})\.(?P<pipeline>.+?)\.after_(?P<after>.+?)(?:\.before_(?P<before>.+))?")
_BEFORE = re.compile(r"(?P<module>module_\d+\..+?)\.before_optimizations")
AFTER = re.compile(r"(?P<module>module_\d+\.[^.]+(?:\.\d+)*)\.(?P<target>.*?)_?after_optimizations(?:_before_buffer_assignment)?")
_TEXT = re.compile(r"\.txt(\.gz)?$")
_FIRST, _LAST = -1, 1 << 60
_TAIL = 16
_WORTH_CACHING = 8 << 20
"""A dump with this many bytes of text takes seconds to read."""
_ATTRS = {"producer": "XLA", "ids": "names"}

_OTHER_KINDS = (
    (re.compile(r"buffer-assignment|live-range|memory-usage"), "XLA's memory report"),
    (re.compile(r"\.ll$|\.o$|\.ptx$|\.s$|obj-file"), "generated code"),
    (re.compile(r"thunk_"), "XLA's list of thunks"),
    (re.compile(r"fusion_dump|_fusion\.(html|pyz)$"), "XLA's fusion report"),
    (re.compile(r"autotun"), "XLA's autotuning"),
    (re.compile(r"debug_options$|\.textproto$"), "compile options"),
    (re.compile(r"\.pb(\.gz)?$"), "binary HLO; dump as text with xla_dump_hlo_as_text"),
    (re.compile(r"\.(html|dot|svg)$"), "a picture"),
    (re.compile(r"\.mlir$"), "MLIR; open it separately"),
)


class Step(NamedTuple):
    """One text of the dump, as its file name describes it."""

    path: Path
    module: str
    number: int
    pipeline: str
    name: str
    next: str = ""
    """The pass that XLA runs next."""


def find_steps(directory: Path) -> tuple[list[Step], list[str]]:
    """The texts in the order in which XLA wrote them, and the other files, each with the reason why it is skipped."""
    steps: list[Step] = []
    skipped: list[str] = []
    for path in sorted(directory.iterdir()):
        step = _step(path) if path.is_file() else None
        if step is not None:
            steps.append(step)
        elif not METADATA_FILE.fullmatch(path.name):
            skipped.append(f"{path.name}: {_reason_to_skip(path)}")
    steps.sort(key=lambda step: (step.module, step.number))
    return steps, skipped


def _step(path: Path) -> Step | None:
    if not _TEXT.search(path.name):
        return None
    name = _TEXT.sub("", path.name)
    match = _STEP.fullmatch(name)
    if match:
        return Step(path, match["module"], int(match["step"]), match["pipeline"], match["after"], match["before"] or "")
    match = _BEFORE.fullmatch(name)
    if match:
        return Step(path, match["module"], _FIRST, "", "before optimizations")
    match = AFTER.fullmatch(name)
    if match:
        return Step(path, match["module"], _LAST, "", "after optimizations")
    return None


def _reason_to_skip(path: Path) -> str:
    if path.is_dir():
        return "a directory"
    if not path.is_file():
        return "not a regular file"
    for kind, what in _OTHER_KINDS:
        if kind.search(path.name):
            return what
    return "not one of the numbered passes" if path.name.startswith("module_") else "not named like an XLA dump"


def pipelines(steps: list[Step]) -> list[tuple[str, ...]]:
    """For each step of one module, the pipelines that it is part of, outermost first.

    A pipeline runs from its `pipeline-start` to its last step; pipelines that start and end in between are nested in it.
    """
    runs: list[list[int]] = []
    open_run: dict[str, int] = {}
    run_of: list[int] = []
    for i, step in enumerate(steps):
        run = open_run.get(step.pipeline)
        if run is None or step.name == PIPELINE_START:
            run = open_run[step.pipeline] = len(runs)
            runs.append([i, i])
        runs[run][1] = i
        run_of.append(run)
    paths: list[tuple[str, ...]] = []
    stack: list[int] = []
    for i, step in enumerate(steps):
        while stack and runs[stack[-1]][1] < i:
            stack.pop()
        run = run_of[i]
        if run not in stack and step.pipeline:
            stack.append(run)
        inside = stack[: stack.index(run) + 1] if run in stack else []
        paths.append(tuple(steps[runs[r][0]].pipeline for r in inside))
    return paths


def read_dump(directory: str | Path, progress: Progress | None = None, path: str | Path | None = None, jobs: int = 0) -> Recording:
    """Read a dump as a recording: in a file at `path`, or else in the cache if it is large, or else in memory."""
    directory = Path(directory)
    steps, skipped = find_steps(directory)
    if not steps:
        hint = (
            "only binary HLO; dump text with xla_dump_hlo_as_text"
            if any(".pb:" in s for s in skipped)
            else "no texts of XLA passes; dump them with xla_dump_hlo_pass_re=.*"
        )
        raise SourceError(f"contains {hint}", str(directory))
    files = [step.path for step in steps]
    if path is None and sum(each.stat().st_size for each in files) >= _WORTH_CACHING:
        recording = cached(directory, directory.iterdir(), lambda part: _write(part, directory, steps, skipped, progress, jobs))
        if recording is not None:
            return _named(recording, str(directory))
    return _named(_write(path, directory, steps, skipped, progress, jobs).recording(), str(directory if path is None else path))


def _named(recording: Recording, name: str) -> Recording:
    recording.name = name
    return recording


def _write(
    path: str | Path | None, directory: Path, steps: list[Step], skipped: list[str], progress: Progress | None, jobs: int
) -> StoreWriter:
    """Write the texts as snapshots. A text that cannot be read is skipped, with the reason."""
    writer = StoreWriter(path, attrs={**_ATTRS, "source": directory.name})
    placed = _placed(steps)
    digests = [_digest(step.path) for step, _ in placed]
    fresh = list(dict.fromkeys(digests))
    of_digest = dict(zip(reversed(digests), reversed([step.path for step, _ in placed]), strict=True))
    results = packed_in_order([of_digest[digest] for digest in fresh], progress, jobs)
    contents: dict[bytes, Any] = {}
    seconds = metadata_seconds(directory)
    remarks = [SECONDS_REMARK] if seconds else []
    for (step, where), digest in zip(placed, digests, strict=True):
        if digest not in contents:
            contents[digest] = next(results)
        program = contents[digest]
        if isinstance(program, str):
            skipped.append(f"{step.path.name}: {program}")
            continue
        file = step.path.name
        index = writer.add(program, step.name, pipeline=where, module=step.module, seconds=seconds.get(file), attrs={"file": file})
        contents[digest] = writer.content_of(index)
    writer.set(skipped=skipped)
    if all(step.number in (_FIRST, _LAST) for step in steps):
        remarks.append("the dump has no program between passes; xla_dump_hlo_pass_re=.* writes one after every pass")
    if remarks:
        writer.set(remarks=remarks)
    writer.close()
    return writer


def open_dump(directory: Path) -> Recording | None:
    """The passes of a dump, each text read on first use, so that node counts stay unknown.

    None if a text looks truncated: it would be skipped, and the passes after it would get other numbers.
    """
    steps, skipped = find_steps(directory)
    if not steps or not all(_looks_whole(step.path) for step in steps):
        return None
    files = [PassFile(step.path, step.name, where, step.module) for step, where in _placed(steps)]
    return lazy_recording(directory, files, _read_one, {**_ATTRS, "skipped": skipped})


def _read_one(path: Path) -> Program:
    from opscope.readers.hlo import read
    from opscope.readers.source import Source

    programs = read(Source(path))
    if len(programs) != 1:
        raise SourceError(f"contains {len(programs)} modules; a pass of a dump has one", str(path))
    return programs[0]


def _looks_whole(path: Path) -> bool:
    """Whether a text ends like a module. A compressed text counts as not whole, because checking it means decompressing it."""
    if path.suffix == ".gz" or path.stat().st_size < _TAIL:
        return False
    with path.open("rb") as stream:
        return stream.read(_TAIL).startswith(b"HloModule") and is_closed(path)


def _placed(steps: list[Step]) -> list[tuple[Step, tuple[str, ...]]]:
    """The steps by module, each with its pipelines."""
    by_module: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        by_module[step.module].append(step)
    for module, numbered in by_module.items():
        by_module[module] = _attributed(numbered)
    return [(step, where) for module in by_module.values() for step, where in zip(module, pipelines(module), strict=True)]


def _attributed(steps: list[Step]) -> list[Step]:
    """The steps of a module. When a pass starts a pipeline of its own, what differs by then is the work of the pass, and named after it."""
    done = {(step.pipeline, step.name) for step in steps}
    attributed = steps[:1]
    for last, step in pairwise(steps):
        by_pass = step.name == PIPELINE_START and last.next not in ("", step.pipeline) and (last.pipeline, last.next) in done
        attributed.append(step._replace(name=f"{last.next}, up to {step.pipeline}") if by_pass else step)
    return attributed


def timed_by_profile(recording: Recording, data: bytes) -> Recording:
    """The recording with the seconds of its passes, from a profile (.xplane.pb) that was taken while XLA compiled it."""
    texts: dict[int, TextName] = {}
    for snapshot in recording:
        step = _step(Path(str(snapshot.attrs.get("file", ""))))
        if step is not None and step.pipeline:
            texts[snapshot.index] = TextName(step.module.partition(".")[2], step.pipeline, step.name, step.next)
    return with_profile(recording, data, texts)


def _digest(path: Path) -> bytes:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha1").digest()


def is_dump(directory: Path, names: Iterable[str] | None = None) -> bool:
    """Whether a directory contains texts of XLA passes."""
    names = (path.name for path in directory.iterdir()) if names is None else names
    texts = (_TEXT.sub("", name) for name in names if _TEXT.search(name))
    return any(_STEP.fullmatch(text) or _BEFORE.fullmatch(text) or AFTER.fullmatch(text) for text in texts)
