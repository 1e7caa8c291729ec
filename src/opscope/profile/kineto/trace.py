"""A trace in memory: spans of the host and work of the device, as columns. A trace of a gigabyte has millions of events."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Mapping
from functools import lru_cache
from io import BufferedIOBase
from typing import Any

from opscope.profile.kineto.stream import CALLS, DEVICE, HOST, EventStream
from opscope.profile.model import MOST_SECONDS
from opscope.program import Frame

OP, ANNOTATION, MODULE, FRAME = range(4)
"""What a span of the host is: an operator, a named region, the call of an nn.Module, or a Python function."""

_KINDS = dict(zip(HOST, (OP, ANNOTATION, FRAME), strict=True))
_LARGEST = 2**62
_MOST_MICROSECONDS = MOST_SECONDS * 1e6
_MODULE = "nn.Module: "
_FRAME = re.compile(r"(?P<file>[^<>()]+)\((?P<line>\d+)\): (?P<function>.+)")


class Names:
    """Texts by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number


class Spans:
    """What the host did: operators, regions, modules and functions, with their threads. Times are in microseconds."""

    def __init__(self) -> None:
        self.kind = array("b")
        self.name = array("q")
        self.thread = array("q")
        self.start = array("d")
        self.end = array("d")
        self.external = array("q")
        """The profiler's number of the span, or −1."""
        self.sequence = array("q")
        """The number by which autograd relates forward and backward, or −1."""
        self.is_backward = array("b")
        """Whether the sequence number is that of a backward function."""

    def __len__(self) -> int:
        return len(self.kind)


class Work:
    """What the device did: kernels, copies and fills."""

    def __init__(self) -> None:
        self.name = array("q")
        self.start = array("d")
        self.duration = array("d")
        self.external = array("q")
        """The number of the span that launched it, or −1."""
        self.stream = array("q")
        self.device = array("q")

    def __len__(self) -> int:
        return len(self.name)


class Trace:
    """What one run of the profiler wrote."""

    def __init__(self) -> None:
        self.names = Names()
        self.threads = Names()
        self.spans = Spans()
        self.work = Work()
        self.problem = ""
        """Why the trace is not complete; empty if it is."""
        self.is_cut = False
        """Whether the end of it is missing."""
        self.has_gpu = False
        """Whether it is of a machine with a GPU."""
        self.events = 0


def read_trace(stream: BufferedIOBase, took: Callable[[int], None] | None = None) -> Trace:
    """Read a trace. `took` is called with the number of bytes of each piece."""
    trace = Trace()
    launches: dict[int, int] = {}
    orphans: dict[int, int] = {}
    events = EventStream(stream, took)
    add_span = _SpanAdder(trace).add
    count = 0
    for category, name, process, thread, start, duration, args in events:
        count += 1
        try:
            if category in _KINDS:
                add_span(_KINDS[category], str(name), process, thread, float(start), float(duration), args)
            elif category in DEVICE:
                _add_work(trace, str(name), float(start), float(duration), args, orphans)
            elif category in CALLS and "External id" in args and "correlation" in args:
                launches[_number(args, "correlation")] = _number(args, "External id")
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):  # an event without what every event has
            trace.problem = "the trace has damaged events; the times are of what could be read"
    for index, correlation in orphans.items():
        trace.work.external[index] = launches.get(correlation, -1)
    trace.events = count + events.others
    trace.problem = events.problem or trace.problem
    trace.is_cut, trace.has_gpu = bool(events.problem), events.has_gpu
    return trace


class _SpanAdder:
    """Adds spans of the host. Millions of them have a few names and threads."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._named: dict[tuple[int, str], tuple[int, int]] = {}
        """The kind and the number of a name; −1: not of interest."""
        self._threads: dict[tuple[Any, Any], int] = {}

    def add(self, kind: int, name: str, process: Any, thread: Any, start: float, duration: float, args: Mapping[str, Any]) -> None:
        named = self._named.get((kind, name)) or self._name(kind, name)
        if named[1] < 0:
            return
        _check_times(start, duration)
        sequence, external, is_backward = _number(args, "Sequence number"), _number(args, "External id"), bool(args.get("Fwd thread id"))
        number = self._threads.get((process, thread))
        if number is None:
            _check_whole(process, thread)
            number = self._threads[process, thread] = self._trace.threads.number(f"{process}/{thread}")
        spans = self._trace.spans
        spans.name.append(named[1])
        spans.thread.append(number)
        spans.start.append(start)
        spans.end.append(start + duration)
        spans.external.append(external)
        spans.sequence.append(sequence)
        spans.is_backward.append(is_backward)
        spans.kind.append(named[0])

    def _name(self, kind: int, name: str) -> tuple[int, int]:
        key = kind, name
        number = 0
        if kind == FRAME:
            if name.startswith(_MODULE):
                kind, name = MODULE, name[len(_MODULE) :]
            elif frame_of(name) is None:
                number = -1
        named = self._named[key] = kind, number or self._trace.names.number(name)
        return named


def _add_work(trace: Trace, name: str, start: float, duration: float, args: Mapping[str, Any], orphans: dict[int, int]) -> None:
    _check_times(start, duration)
    external, stream, device = _number(args, "External id"), _number(args, "stream"), _number(args, "device")
    work = trace.work
    if external < 0 and "correlation" in args:
        orphans[len(work)] = _number(args, "correlation")
    work.name.append(trace.names.number(name))
    work.start.append(start)
    work.duration.append(duration)
    work.external.append(external)
    work.stream.append(stream)
    work.device.append(device)


def _check_times(start: float, duration: float) -> None:
    """In microseconds."""
    if not (abs(start) <= _MOST_MICROSECONDS and 0 <= duration <= _MOST_MICROSECONDS):
        raise ValueError


def _number(args: Mapping[str, Any], name: str) -> int:
    """A number that fits into a column, or −1."""
    if name not in args:
        return -1
    number = int(args[name])
    _check_whole(number)
    return number


def _check_whole(*numbers: object) -> None:
    """Larger ones fit into no column, and can be chosen so that all of them have one hash."""
    if any(isinstance(number, int) and abs(number) > _LARGEST for number in numbers):
        raise ValueError


@lru_cache(1 << 14)
def frame_of(name: str) -> Frame | None:
    """The function of a Python event, unless it is of torch or of Python itself: `t.py(21): forward`."""
    match = _FRAME.fullmatch(name)
    if match is None or "/torch/" in f"/{match['file']}":
        return None
    top = match["file"].removesuffix(".py").partition("/")[0]
    return None if top in sys.stdlib_module_names else Frame(match["file"], int(match["line"]), match["function"])
