"""How long XLA's passes took: from the metadata in a dump, or from a profile that was taken while XLA compiled.

For GPUs, `--xla_dump_module_metadata` writes `module_0022.metadata.textproto`, which names the text that each pass wrote:

    pass_metadata {
      pass_id: 402
      pass_name: "sanitize-constant-names"
      dump_filenames: "/dump/module_0022.jit_step.0093.pre-scheduling-copy-insertion.after_sanitize-constant-names.before_pipeline-end.txt"
      start_timestamp_usec: 1794944839983962
      end_timestamp_usec: 1794944839985377
    }

In a profile, a run of a pipeline is an event `simplification (jit_step)`, and its passes are the events directly inside. A text belongs to
the pass of its name that is followed by the one that its file name says. What stays ambiguous has no seconds.

Both include the time to check the program and to write the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from opscope.errors import SourceError
from opscope.protobuf.xplane import XPLANE, about_line, line_events
from opscope.recording.dumps.own_files import own_files
from opscope.recording.model import Recording

METADATA_FILE = re.compile(r"module_\d+\.metadata\.textproto")
SECONDS_REMARK = "the seconds of a pass include checking the program and writing its text"
_FIELD = re.compile(r'\s*(dump_filenames|start_timestamp_usec|end_timestamp_usec|pass_name): "?([^"]*?)"?\s*$')
_SUFFIX = re.compile(r"\.txt(\.gz)?$")
_PIPELINE = re.compile(r"(.+) \((.+)\)", re.S)
_CHECK = "RunInvariantCheckers"
PIPELINE_START, PIPELINE_END = "pipeline-start", "pipeline-end"
_NOT_IN_NAMES = re.compile(r"[/\\\[\] ]")
"""What XLA replaces by _ in the names of files."""


class TextName(NamedTuple):
    """What the file name of a text says: the pass that wrote it, where it ran, and the pass that ran next."""

    module: str
    pipeline: str
    name: str
    next: str


class _Run(NamedTuple):
    """One run of a pipeline: its passes in order, each with its seconds."""

    pipeline: str
    start: int
    passes: list[tuple[str, float]]


def metadata_seconds(directory: Path) -> dict[str, float]:
    """The seconds of the pass that wrote each text, by file name. XLA writes the metadata before the last pipelines run."""
    seconds: dict[str, float] = {}
    for path in own_files(directory):
        if METADATA_FILE.fullmatch(path.name):
            with path.open(encoding="utf-8", errors="replace") as lines:
                for fields in _blocks(lines):
                    start, end = (_number(fields.get(f"{each}_timestamp_usec")) for each in ("start", "end"))
                    if start and end and end >= start and fields.get("pass_name") != [PIPELINE_START]:
                        texts = [name for name in fields.get("dump_filenames", ()) if _SUFFIX.search(name)]
                        seconds |= dict.fromkeys((name.rpartition("/")[2] for name in texts), (end - start) / 1e6)
    return seconds


def _blocks(lines: Iterable[str]) -> Iterator[dict[str, list[str]]]:
    fields: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("pass_metadata"):
            fields = {}
        elif line.startswith("}"):
            yield fields
            fields = {}
        elif match := _FIELD.match(line):
            fields.setdefault(match[1], []).append(match[2])


def _number(texts: list[str] | None) -> int:
    return int(texts[0]) if texts and texts[0].isdecimal() else 0


def with_profile(recording: Recording, data: bytes, texts: dict[int, TextName]) -> Recording:
    """The recording with the seconds that a profile (.xplane.pb) says. `texts`: by snapshot, what its file name says."""
    seconds = _profile_seconds(data, texts)
    if not seconds:
        modules = ", ".join(sorted({each.module for each in texts.values()})) or "XLA"
        raise SourceError(f"has no passes of {modules}; take the profile while XLA compiles, and dump the passes of that same compilation")
    snapshots = [
        replace(snapshot, seconds=seconds.get(snapshot.index, snapshot.seconds)) if snapshot.index in texts else snapshot
        for snapshot in recording
    ]
    return Recording(recording.name, snapshots, recording.attrs, recording.file)


def _profile_seconds(data: bytes, texts: dict[int, TextName]) -> dict[int, float]:
    runs: dict[tuple[str, str], list[_Run]] = defaultdict(list)
    modules = {each.module for each in texts.values()}
    for module, run in _runs(data, modules):
        runs[module, run.pipeline].append(run)
    written: dict[tuple[str, str], list[list[int]]] = defaultdict(list)
    for index in sorted(texts):
        text = texts[index]
        same = written[text.module, text.pipeline]
        if text.name == PIPELINE_START:
            same.append([])
        elif same:
            same[-1].append(index)
    seconds: dict[int, float] = {}
    for key, groups in written.items():
        if len(groups) == len(runs[key]):
            for group, run in zip(groups, sorted(runs[key], key=lambda run: run.start), strict=True):
                seconds |= _of_run(group, run, texts)
    return seconds


def _of_run(group: list[int], run: _Run, texts: dict[int, TextName]) -> dict[int, float]:
    """The seconds of the texts of one run of a pipeline. If a pass ran more often than it wrote, and always before the same one, it is
    not known which run wrote."""
    names = [name for name, _ in run.passes]
    timed: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (name, seconds), following in zip(run.passes, [*names, PIPELINE_END][1:], strict=True):
        timed[name, following].append(seconds)
    wrote: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index in group:
        wrote[texts[index].name, texts[index].next].append(index)
    return {
        index: seconds
        for key, indexes in wrote.items()
        if len(indexes) == len(timed[key])
        for index, seconds in zip(indexes, timed[key], strict=True)
    }


def _runs(data: bytes, modules: set[str]) -> Iterator[tuple[str, _Run]]:
    """The runs of pipelines on these modules."""
    for plane in XPLANE.decode("XSpace", data).get("planes", []):
        names = {entry.get("key", 0): entry.get("value", {}).get("name", "") for entry in plane.get("event_metadata", ())}
        pipelines = {
            key: (match[2], _as_in_files(match[1]))
            for key, name in names.items()
            if (match := _PIPELINE.fullmatch(name)) and match[2] in modules
        }
        for line in plane.get("lines", ()) if pipelines else ():
            first = about_line(line).get("timestamp_ns", 0) * 1000
            open_events: list[tuple[int, _Run | None]] = []
            for event in sorted(line_events(line), key=lambda event: (event.offset, -event.duration)):
                while open_events and open_events[-1][0] <= event.offset:
                    open_events.pop()
                around = open_events[-1][1] if open_events else None
                run = None
                if event.metadata in pipelines:
                    module, pipeline = pipelines[event.metadata]
                    run = _Run(pipeline, first + event.offset, [])
                    yield module, run
                elif around is not None and event.duration and names.get(event.metadata, "") not in ("", _CHECK):
                    around.passes.append((_as_in_files(names[event.metadata]), event.duration / 1e12))
                open_events.append((event.offset + event.duration, run))


def _as_in_files(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name)
