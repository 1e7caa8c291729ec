"""The times of nodes, from the calls that were put on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opscope.profile.kineto.calls import MICROSECONDS, Call, Calls, Launched
from opscope.profile.kineto.nesting import NONE
from opscope.profile.lane import Piece, typical
from opscope.profile.place import BACKWARD_TIME, HOST_TIME, IDLE_TIME, Times, add_work, with_times
from opscope.program import BACKWARD, FORWARD, Metric, NodeKey, Program

Placement = Mapping[int, tuple[int, NodeKey]]
"""Of the calls that belong to a node, by their index: the program, by its index, and the node."""

_FORWARD_TIME = Metric("forward time", "s", "sum", "measured")


def timed_by_calls(programs: Sequence[Program], calls: Calls, placement: Placement) -> list[tuple[Program, Times]]:
    """The programs with time on the device and on the host, and the time in which the device had nothing to do. What belongs to no node
    is reported with the program that took the most time."""
    all_times = [Times(calls.steps) for _ in programs]
    columns: list[dict[Metric, dict[NodeKey, float]]] = [{} for _ in programs]
    phases: dict[str, float] = {}
    outside = []
    for work in calls.launched:
        phase = FORWARD if work.call == NONE else calls.calls[work.call].place.phase
        phases[phase] = phases.get(phase, 0.0) + work.seconds
        place = placement.get(work.call)
        if place is None:
            outside.append(work)
            continue
        number, node = place
        add_work(all_times[number], node, work.kernel, work.seconds)
        _add(columns[number], BACKWARD_TIME if phase == BACKWARD else _FORWARD_TIME, node, work.seconds)
        if work.idle:
            _add(columns[number], IDLE_TIME, node, work.idle)
    heaviest = max(all_times, key=lambda times: times.placed_seconds)
    heaviest.phases = phases
    heaviest.idle = sum(work.idle for work in calls.launched)
    for work in outside:
        add_work(heaviest, None, _described(None if work.call == NONE else calls.calls[work.call], work.kernel), work.seconds)
    step = _typical_step(calls)
    for number, times in enumerate(all_times):
        nodes = {i: node for i, (of, node) in placement.items() if of == number}
        times.step = [Piece(work.kernel, nodes.get(work.call), work.stream, work.start, work.seconds) for work in step]
    for i, (number, node) in placement.items():
        _add(columns[number], HOST_TIME, node, calls.calls[i].host * MICROSECONDS)
    return [
        (_measured(program, times, metrics, calls), times) for program, times, metrics in zip(programs, all_times, columns, strict=True)
    ]


def _typical_step(calls: Calls) -> list[Launched]:
    """The work of a step; what nothing launched belongs to the step of the work before it."""
    steps: list[list[Launched]] = [[] for _ in range(calls.steps)]
    current = 0
    for work in calls.launched:
        current = current if work.call == NONE else calls.calls[work.call].step
        steps[current].append(work)
    ran = [step for step in steps if step]
    lengths = [max(work.start + work.seconds for work in step) - step[0].start for step in ran]
    return ran[typical(lengths)] if ran else []


def _add(columns: dict[Metric, dict[NodeKey, float]], metric: Metric, node: NodeKey, seconds: float) -> None:
    column = columns.setdefault(metric, {})
    column[node] = column.get(node, 0.0) + seconds


def _measured(program: Program, times: Times, columns: Mapping[Metric, Mapping[NodeKey, float]], calls: Calls) -> Program:
    if calls.is_of_host:
        return program.with_columns({HOST_TIME: _columns(columns.get(HOST_TIME, {}), calls.steps)})
    program = with_times(program, times)
    if not calls.has_device:  # the host is the device
        return program
    in_backward, in_forward = columns.get(BACKWARD_TIME, {}), columns.get(_FORWARD_TIME, {})
    is_told_apart = in_backward.keys().isdisjoint(in_forward)
    metrics = (HOST_TIME, IDLE_TIME, *(() if is_told_apart else (BACKWARD_TIME,)))
    return program.with_columns({metric: _columns(columns[metric], calls.steps) for metric in metrics if metric in columns})


def _columns(values: Mapping[NodeKey, float], steps: int) -> dict[str, dict[str, float]]:
    """By graph, for one step."""
    columns: dict[str, dict[str, float]] = {}
    for (graph, node), seconds in values.items():
        columns.setdefault(graph, {})[node] = seconds / steps
    return columns


def _described(call: Call | None, kernel: str) -> str:
    """A kernel without a node, with what launched it."""
    return kernel if call is None or call.name == kernel else f"{call.place.phase}, {call.name}: {kernel}"
