"""Reads `.xplane.pb`, the file of JAX's and TensorFlow's profiler: planes (a device, the host) with lines (a stream, a thread) of events.

The plane /host:metadata has the modules that ran, as HloProtos. On a GPU every kernel says which instruction launched it, unless it was
captured into a CUDA graph. A CPU has its operations on the lines of its threads, and a TPU on a line of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from opscope.errors import SourceError
from opscope.profile.model import Event, Module, Profile
from opscope.protobuf.wire import Message, whole_fields
from opscope.protobuf.xplane import XPLANE, RawEvent, about_line, changing_stats, line_events, stat_bytes

_WANTED = ("hlo_op", "hlo_module", "program_id", "run_id", "cuda_graph_node_id", "name")
_METADATA_PLANE = "/host:metadata"
_NUMBERED = re.compile(r"(.*)\(([0-9]{1,20})\)")
"""`jit_step(18572)`: a module's name and its id."""
_PATTERNS = ("*.xplane.pb", "plugins/profile/*/*.xplane.pb", "profile/plugins/profile/*/*.xplane.pb")
_BEGINNING = re.compile(
    rb"\n(?:[\x80-\xff]{0,4}[\x00-\x7f])(?:\x08[\x80-\xff]{0,9}[\x00-\x7f])?\x12.(/(?:host|device):[ -~]*|Task Environment)", re.S
)


def is_xplane(head: bytes) -> bool:
    """Whether a file begins with a plane."""
    return _BEGINNING.match(head) is not None


def trace_in(directory: Path) -> Path | None:
    """The newest trace in the directory that `jax.profiler.trace` writes, or None if there is none."""
    files = [file for pattern in _PATTERNS for file in directory.glob(pattern)]
    if not files:
        return None
    newest = max(files, key=lambda file: file.parent.name).parent
    hosts = sorted(file for file in files if file.parent == newest)
    if len(hosts) > 1:
        names = ", ".join(file.name for file in hosts[:4])
        raise SourceError(f"has profiles of {len(hosts)} hosts; name one of the files in {newest.name}: {names}", str(directory))
    return hosts[0]


def read_xplane(data: bytes) -> Profile:
    """The profile in a file. Of one that is truncated, the planes that are whole, and of the last one its whole fields."""
    whole, rest = whole_fields(data)
    planes: list[Message] = XPLANE.decode("XSpace", data[:whole]).get("planes", [])
    if rest:
        end, _ = whole_fields(rest)
        planes.append(XPLANE.decode("XPlane", rest[:end]))
    if not planes:
        raise SourceError("has no planes; expected a .xplane.pb file, as jax.profiler.trace writes it")
    profile = Profile(_modules(planes), problem="the profile is truncated" if whole < len(data) else "")
    devices = [plane for plane in planes if plane.get("name", "").startswith("/device:") and plane.get("lines")]
    for plane in devices:
        is_tpu = ":TPU:" in plane["name"]
        profile.device += _tpu_events(plane, profile) if is_tpu else _events(plane, profile, is_nested=False)
        profile.device_name = profile.device_name or _device_name(plane)
    for plane in planes:
        if plane.get("name") == "/host:CPU":
            events = _events(plane, profile, is_nested=True)
            if profile.device:
                profile.host += events
            else:
                profile.device += events
                profile.device_name = profile.device_name or "CPU"
    return profile


def modules_in(data: bytes) -> dict[int, Module]:
    """The modules in a file, without their events."""
    return _modules(XPLANE.decode("XSpace", data).get("planes", []))


def _modules(planes: Iterable[Message]) -> dict[int, Module]:
    modules: dict[int, Module] = {}
    for plane in planes:
        if plane.get("name") != _METADATA_PLANE:
            continue
        for entry in plane.get("event_metadata", ()):
            match = _NUMBERED.fullmatch(entry.get("value", {}).get("name", ""))
            protos = [stat["bytes_value"] for stat in entry.get("value", {}).get("stats", ()) if "bytes_value" in stat]
            if match and protos:
                modules[int(match[2])] = Module(match[1], protos[0])
    return modules


def _device_name(plane: Message) -> str:
    names = _stat_names(plane)
    texts = {names.get(stat.get("metadata_id", 0)): stat.get("str_value", "") for stat in plane.get("stats", ())}
    return texts.get("gpu_device_name") or texts.get("device_type_string") or ""


def _stat_names(plane: Message) -> dict[int, str]:
    return {entry.get("key", 0): entry.get("value", {}).get("name", "") for entry in plane.get("stat_metadata", ())}


def _event_metadata(plane: Message) -> dict[int, Message]:
    return {entry.get("key", 0): entry.get("value", {}) for entry in plane.get("event_metadata", ())}


_MOST_DECODED = 100_000
_NOTHING: Message = {}


class _About(NamedTuple):
    """What the stats of an event say; a number is 0 if they do not."""

    op: str
    module: str
    program: int
    run: int
    captured: int
    is_known: bool
    """Whether they name an instruction or a module."""


class _Stats:
    """The stats of a plane that opscope reads, by name."""

    def __init__(self, plane: Message) -> None:
        self.names = _stat_names(plane)
        self.wanted = {number: name for number, name in self.names.items() if name in _WANTED}
        self._changing = changing_stats(self.wanted)
        self._known: dict[bytes, _About] = {}
        """By the bytes of an event's stats: an instruction has the same in each step."""
        self._decoded: dict[bytes, tuple[str, object]] = {}

    def of(self, raw: RawEvent) -> _About:
        changing = self._changing.match(raw.stats)
        stats = raw.stats[changing.end() :] if changing else raw.stats
        return self._known.get(stats) or self._read(stats)

    def _read(self, stats: bytes) -> _About:
        values = dict([self._decoded.get(stat) or self._decode(stat) for stat in stat_bytes(stats)])
        op, module = str(values.get("hlo_op", "")), str(values.get("hlo_module", ""))
        program, run, captured = [_number(values.get(name)) for name in ("program_id", "run_id", "cuda_graph_node_id")]
        about = _About(op, module, program, run, captured, "hlo_op" in values or "hlo_module" in values)
        if len(self._known) < _MOST_DECODED:
            self._known[stats] = about
        return about

    def _decode(self, stat: bytes) -> tuple[str, object]:
        """The name and the value of a stat; no name if it is not wanted. A text may be in the table of names."""
        message = XPLANE.decode("XStat", stat)
        number = message.pop("metadata_id", 0)
        name, value = "", None
        for key, each in message.items():
            name, value = self.wanted.get(number, ""), self.names.get(each, "") if key == "ref_value" else each
        if len(self._decoded) < _MOST_DECODED:
            self._decoded[stat] = name, value
        return name, value


def _events(plane: Message, profile: Profile, *, is_nested: bool) -> list[Event]:
    """The events of a plane that belong to an instruction or a module. `is_nested`: an event has the events that it caused inside."""
    stats, metadata = _Stats(plane), _event_metadata(plane)
    if not stats.wanted.keys() & {number for number, name in stats.names.items() if name in ("hlo_op", "hlo_module", "program_id")}:
        return []
    programs: dict[str, int] = {}
    events: list[Event] = []
    for line in plane.get("lines", ()):
        described = about_line(line)
        first, stream = described.get("timestamp_ns", 0) * 1000, str(described.get("name", ""))
        own: list[Event] = []
        for raw in line_events(line):
            about = stats.of(raw)
            if not about.is_known:
                continue
            program = about.program
            if program not in profile.modules:
                program = _program_named(about.module, program, programs, profile)
            name = metadata.get(raw.metadata, _NOTHING).get("name", "")
            own.append(Event(name, about.op, first + raw.offset, raw.duration, program, about.run, about.captured, stream))
        events += _own_times(own) if is_nested else own
    return events


def _program_named(name: str, program: int, programs: dict[str, int], profile: Profile) -> int:
    """The id of a module that the profile names but does not contain."""
    if not program:
        program = programs.setdefault(name, -1 - len(programs))
    profile.modules.setdefault(program, Module(name))
    return program


def _number(value: object) -> int:
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else 0


def _own_times(events: list[Event]) -> list[Event]:
    """The events of a thread, each without the time of those inside it."""
    ordered = sorted(events, key=lambda event: (event.start, -event.duration))
    inside = [0] * len(ordered)
    opened: list[int] = []
    for i, event in enumerate(ordered):
        while opened and ordered[opened[-1]].start + ordered[opened[-1]].duration <= event.start:
            opened.pop()
        if opened:
            outer = ordered[opened[-1]]
            inside[opened[-1]] += min(event.duration, outer.start + outer.duration - event.start)
        opened.append(i)
    return [event._replace(duration=max(event.duration - time, 0)) for event, time in zip(ordered, inside, strict=True)]


def _tpu_events(plane: Message, profile: Profile) -> list[Event]:
    """A TPU has the runs of modules on one line and their operations on another."""
    metadata, stats = _event_metadata(plane), _Stats(plane)
    lines = {about_line(line).get("name", ""): line for line in plane.get("lines", ())}
    runs: list[tuple[int, int, int]] = []
    if "XLA Modules" in lines:
        first = about_line(lines["XLA Modules"]).get("timestamp_ns", 0) * 1000
        for number, raw in enumerate(line_events(lines["XLA Modules"]), 1):
            match = _NUMBERED.fullmatch(metadata.get(raw.metadata, {}).get("name", ""))
            program = int(match[2]) if match else 0
            if match:
                profile.modules.setdefault(program, Module(match[1]))
            runs.append((first + raw.offset, program, number))
    runs.sort()
    starts = [run[0] for run in runs]
    events: list[Event] = []
    if "XLA Ops" in lines:
        line = lines["XLA Ops"]
        first = about_line(line).get("timestamp_ns", 0) * 1000
        for raw in line_events(line):
            at = bisect_right(starts, first + raw.offset) - 1
            _, program, run = runs[at] if at >= 0 else (0, 0, 0)
            about = metadata.get(raw.metadata, {})
            name = (about.get("display_name") or about.get("name", "")).partition(" = ")[0].lstrip("%")
            events.append(Event(name, name, first + raw.offset, raw.duration, program, run, stats.of(raw).captured, "XLA Ops"))
    return _own_times(events)
