"""Which operator launched each piece of the device's work, in which step, and how long the device waited for it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from opscope.profile.kineto.nesting import NONE, OPTIMIZER, Nesting, Place
from opscope.profile.kineto.trace import ANNOTATION, Trace

_STEP = "ProfilerStep#"
MICROSECONDS = 1e-6
_NO_KERNELS = "the trace is of a machine with a GPU, but has no kernels: profile with ProfilerActivity.CUDA; the times are the host's"


_PART = "of a part of a step"
_READ = "in what could be read, which is not whole steps"


class Call(NamedTuple):
    """An operator that was called; or a kernel that no operator launched, as in a CUDA graph."""

    name: str
    place: Place
    step: int
    start: float
    host: float
    """Microseconds on the host."""
    forward: int
    """Of a call in a backward function: the forward span whose gradient it computes, or NONE."""
    is_kernel: bool = False


class Launched(NamedTuple):
    """A piece of the device's work."""

    kernel: str
    call: int
    """The index of the call that launched it, or NONE."""
    seconds: float
    idle: float
    """Seconds in which the device had nothing to do before it."""
    start: float
    """In seconds."""
    stream: str


class Calls:
    """The calls of a trace in order of their start, and what they launched in order of the device's time. `vocabulary` has the operators
    of a program: of operators that nest in each other, these are the calls."""

    def __init__(self, trace: Trace, vocabulary: Set[str] = frozenset()) -> None:
        nesting = self._nesting = Nesting(trace, vocabulary)
        self.has_device = len(trace.work) > 0
        self.is_of_host = not self.has_device and trace.has_gpu
        """Whether the times of a GPU are missing, so that only the host's are known."""
        starts = _step_starts(trace, nesting)
        self.steps = max(1, len(starts))
        spans, texts = trace.spans, trace.names.texts

        def call(span: int, name: str, host: float, is_kernel: bool = False) -> Call:
            start = spans.start[span]
            step = max(0, bisect_right(starts, start) - 1)
            return Call(name, nesting.place(span), step, start, host, nesting.forward[span], is_kernel)

        operators = {operator for operator in nesting.operator if operator != NONE}
        calls = [
            call(span, texts[spans.name[span]], spans.end[span] - spans.start[span] - nesting.inside.get(span, 0.0)) for span in operators
        ]
        positions = {span: i for i, span in enumerate(operators)}
        launchers = _launchers(trace)
        streams = _stream_names(trace)
        work: list[Launched] = []
        for i, idle in _in_order(trace):
            kernel = texts[trace.work.name[i]]
            span = launchers.get(trace.work.external[i], NONE)
            position = NONE if span == NONE else positions.get(nesting.operator[span], NONE)
            if span != NONE and position == NONE:
                position = len(calls)
                calls.append(call(span, kernel, 0.0, is_kernel=True))
            work.append(
                Launched(
                    kernel,
                    position,
                    trace.work.duration[i] * MICROSECONDS,
                    idle * MICROSECONDS,
                    trace.work.start[i] * MICROSECONDS,
                    streams[trace.work.device[i], trace.work.stream[i]],
                )
            )
        self.problem = trace.problem
        self.part = ""
        """What the times are of, if not of whole steps."""
        if trace.is_cut:
            in_steps = _steps_of(work, calls)
            launching = {spans.thread[span] for span in launchers.values()}
            self._cut(_last_step(trace, starts, launchers), is_partial=any(spans.thread[span] not in launching for span in operators))
            self.problem += "" if starts else "; nothing says where a step begins, so they may be of several"
            work = [each for each, step in zip(work, in_steps, strict=True) if step < self.steps]
        elif self.is_of_host:
            self.problem = _NO_KERNELS
        order = sorted((i for i, each in enumerate(calls) if each.step < self.steps), key=lambda i: (calls[i].start, i))
        places = {before: now for now, before in enumerate(order)}
        self.calls = [calls[i] for i in order]
        self._index = {span: places[i] for span, i in positions.items() if i in places}
        self.launched = [each._replace(call=places.get(each.call, NONE)) for each in work]
        if not self.has_device and not self.is_of_host:
            self.launched = _host_work(self.calls)

    def _cut(self, last: int, is_partial: bool) -> None:
        """Leave out the step that a trace ends in, and those after it. The profiler writes the work of one host thread after that of
        another; `is_partial` if there is a thread, such as that of the backward, whose work is missing."""
        self.steps = max(1, min(last, self.steps))
        if self.is_of_host or not last or is_partial:
            self.part = _READ if self.is_of_host else _PART
        if self.is_of_host:
            self.problem += " before its kernels: the device's times are missing, and the host's are of what could be read"
        elif not last:
            self.problem += " in its first step; the times are of what could be read"
        elif is_partial:
            self.problem += "; the times are of what could be read, without the kernels that some threads launched"
        else:
            self.problem += f"; the times are of the {'step' if last == 1 else f'{last} steps'} before the cut"

    def of_span(self, span: int) -> int:
        """The call that a span is part of, or NONE."""
        return NONE if span == NONE else self._index.get(self._nesting.operator[span], NONE)


def _last_step(trace: Trace, starts: Sequence[float], launchers: Mapping[int, int]) -> int:
    """The step of what was read last: the profiler writes the host's spans first, and then the device's work in the order of its time."""
    spans, work = trace.spans, trace.work
    launched = (launchers[external] for external in reversed(work.external) if external in launchers)
    span = next(launched, len(spans) - 1)
    return max(0, bisect_right(starts, spans.start[span]) - 1) if span >= 0 else 0


def _steps_of(work: Iterable[Launched], calls: Sequence[Call]) -> list[int]:
    """The step of each piece of work; what nothing launched belongs to the step of the work before it."""
    steps, step = [], 0
    for each in work:
        step = step if each.call == NONE else calls[each.call].step
        steps.append(step)
    return steps


def _launchers(trace: Trace) -> dict[int, int]:
    """The span of each external number that launched something."""
    numbers = set(trace.work.external)
    return {external: span for span, external in enumerate(trace.spans.external) if external >= 0 and external in numbers}


def _in_order(trace: Trace) -> Iterator[tuple[int, float]]:
    """The device's work in order of its time, each with the microseconds for which its device was idle before."""
    work = trace.work
    ends: dict[int, float] = {}
    for i in sorted(range(len(work)), key=work.start.__getitem__):
        start, device = work.start[i], work.device[i]
        end = ends.get(device, start)
        ends[device] = max(end, start + work.duration[i])
        yield i, max(0.0, start - end)


def _host_work(calls: Iterable[Call]) -> list[Launched]:
    """Without a device, the operators themselves are the work."""
    return [Launched(call.name, i, call.host * MICROSECONDS, 0.0, call.start * MICROSECONDS, "host") for i, call in enumerate(calls)]


def _stream_names(trace: Trace) -> dict[tuple[int, int], str]:
    """By device and stream; the device is named only where there are several."""
    keys = set(zip(trace.work.device, trace.work.stream, strict=True))
    has_several = len({device for device, _ in keys}) > 1
    return {(device, stream): (f"device {device}, " if has_several else "") + f"stream {stream}" for device, stream in keys}


def _step_starts(trace: Trace, nesting: Nesting) -> list[float]:
    """When each step begins: by the profiler's steps, or the ends of the optimizer's, or the runs of the outermost module."""
    spans, texts = trace.spans, trace.names.texts
    steps = [i for i, kind in enumerate(spans.kind) if kind == ANNOTATION and texts[spans.name[i]].startswith(_STEP)]
    if steps:
        return sorted(spans.start[i] for i in steps)
    updates = [i for i, kind in enumerate(spans.kind) if kind == ANNOTATION and texts[spans.name[i]].startswith(f"{OPTIMIZER}step#")]
    if updates:
        return [float("-inf"), *sorted(spans.end[i] for i in _usual(trace, updates))[:-1]]
    return sorted(spans.start[i] for i in _usual(trace, nesting.runs))


def _usual(trace: Trace, spans: Sequence[int]) -> list[int]:
    """The spans with the most frequent name."""
    names = trace.spans.name
    counts = Counter(names[i] for i in spans)
    usual = max(counts, key=lambda name: counts[name], default=NONE)
    return [i for i in spans if names[i] == usual]
