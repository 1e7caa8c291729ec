"""Puts the events of a profile on the nodes of a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from opscope.profile.align import align
from opscope.profile.lane import Piece, typical, with_lane
from opscope.profile.model import PICOSECONDS, Event
from opscope.profile.schedule import COLLECTIVE, COPY, LIBRARY, MEMSET, SORT, Labels, Schedule, executed_graphs, runs_its_graphs
from opscope.program import Metric, NodeKey, Program

DEVICE_TIME = Metric("device time", "s", "sum", "measured")
"""Seconds of one run of a node on the device, with everything that it calls."""
HOST_TIME = Metric("host time", "s", "sum", "measured")
BACKWARD_TIME = Metric("backward time", "s", "sum", "measured")
"""The part of a node's time on the device that is spent on its gradients, if the program has no backward nodes of its own."""
IDLE_TIME = Metric("device idle", "s", "sum", "measured")
"""Seconds in which the device had nothing to do before a node's kernels."""

PART_ATTR = "opscope.part"
"""Of a program whose measured times are not of whole steps, because its profile is truncated: what they are of."""

_MOST_ALIGNED = 1 << 22
"""Nodes and events, counted for each run with other kernels than all before. The kernels of further ones are placed by their names only."""
_LEAST_SHARE = 0.1
"""The share of kernels that run once in a run, if no event names its instruction."""


@dataclass
class Times:
    """Where the time of a module's runs went. Numbers are totals over all runs."""

    steps: int
    """How often the module ran."""
    seconds: dict[NodeKey, float] = field(default_factory=dict)
    """Time of each node itself, without the graphs that it calls."""
    kernels: dict[NodeKey, dict[str, tuple[float, int]]] = field(default_factory=dict)
    """The kernels of each node: seconds and count."""
    unplaced: dict[str, tuple[float, int]] = field(default_factory=dict)
    """Kernels that belong to no node: seconds and count."""
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds of forward, backward and update, if the profile tells them apart."""
    step: Sequence[Piece] = ()
    """What the device did in a typical step, in order."""
    idle: float = 0.0
    """Seconds in which the device had nothing to do between two kernels, if the profile shows it."""

    def calls(self, node: NodeKey) -> int:
        """How often a node ran. A library call launches several kernels, each once."""
        return max((count for _, count in self.kernels.get(node, {}).values()), default=0)

    @property
    def placed_seconds(self) -> float:
        return sum(self.seconds.values())

    @property
    def device_seconds(self) -> float:
        return self.placed_seconds + sum(seconds for seconds, _ in self.unplaced.values())


def place(program: Program, events: Sequence[Event]) -> Times:
    """The times of a program's nodes, from the device's events of its module in order."""
    nodes = {node.id: (graph.name, node.id) for graph in reversed(executed_graphs(program)) for node in graph}
    runs = _runs(events, nodes, program.entry)
    times = Times(len(runs))
    labels = Labels(program)
    aligned: dict[tuple[str, ...], list[NodeKey | None]] = {}

    aligning = 0

    def places(run: Sequence[Event]) -> list[NodeKey | None]:
        nonlocal aligning
        if all(event.op in nodes for event in run):
            return [nodes[event.op] for event in run]
        key = tuple(event.op if event.op in nodes else event.name for event in run)
        if key not in aligned:
            aligning += len(nodes) + len(run)
            if aligning > _MOST_ALIGNED:
                return [nodes.get(event.op) for event in run]
            aligned[key] = align_run(program, labels, run, nodes)
        return aligned[key]

    for run in runs:
        _add(times, run, places(run))
    if runs:
        lengths = [max(event.start + event.duration for event in run) - min(event.start for event in run) for run in runs]
        step = runs[typical(lengths)]
        times.step = [
            Piece(event.name, node, event.stream, event.start * PICOSECONDS, event.duration * PICOSECONDS)
            for event, node in zip(step, places(step), strict=True)
        ]
    return times


def with_times(program: Program, times: Times, metric: Metric = DEVICE_TIME) -> Program:
    """The program with its times as a metric: seconds of one run of each node, with everything that it calls."""
    graphs = executed_graphs(program)
    totals = dict(times.seconds)
    callers = Counter(name for graph in graphs for node in graph if runs_its_graphs(node) for name in dict.fromkeys(node.calls))
    for graph in reversed(graphs):  # callees have their totals before their callers ask for them
        for node in graph:
            if runs_its_graphs(node):
                inside = sum(
                    totals.get((name, inner.id), 0.0) / callers[name]
                    for name in dict.fromkeys(node.calls)
                    for inner in program.graphs[name]
                )
                if inside:
                    totals[graph.name, node.id] = totals.get((graph.name, node.id), 0.0) + inside
    columns: dict[str, dict[str, float]] = {}
    for graph in graphs:
        is_entry = graph.name == program.entry
        runs = times.steps if is_entry else max((times.calls((graph.name, node.id)) for node in graph), default=1)
        values = {node.id: totals[graph.name, node.id] / max(runs, 1) for node in graph if (graph.name, node.id) in totals}
        if values:
            columns[graph.name] = values
    program = program.with_columns({metric: columns})
    return with_lane(program, times.step) if metric == DEVICE_TIME else program


def align_run(program: Program, labels: Labels, run: Sequence[Event], nodes: Mapping[str, NodeKey]) -> list[NodeKey | None]:
    """The node of each event of one run. An event that names its instruction has it; the others are aligned with the schedule."""
    kernels = [_label(labels, event, nodes) for event in run]
    launches = Schedule(program, labels, Counter(kernels), {event.name for event in run}).launches
    fixed = {event.op for event in run if event.op in nodes}
    expected = [f"= {launch.node[1]}" if launch.node[1] in fixed else launch.label for launch in launches]
    placed: list[NodeKey | None] = [None if at is None else launches[at].node for at in align(kernels, expected)]
    for i, event in enumerate(run):
        if event.op in nodes:
            placed[i] = nodes[event.op]
    _place_helpers(kernels, placed, labels)
    return placed


def _label(labels: Labels, event: Event, nodes: Mapping[str, NodeKey]) -> str:
    return f"= {event.op}" if event.op in nodes else labels.of_kernel(event.name)


def _place_helpers(kernels: Sequence[str], placed: list[NodeKey | None], labels: Labels) -> None:
    """Place what a launch brings along: a library call reduces its partial results afterwards, a sort has many rounds, and memory is set or
    copied before it is used."""
    before: NodeKey | None = None
    for i, kernel in enumerate(kernels):
        has_several = kernel in (LIBRARY, COLLECTIVE) or kernel.startswith(SORT)
        if placed[i] is None and before is not None and has_several and labels.of_node(before) == kernel:
            placed[i] = before
        before = placed[i]
    after: NodeKey | None = None
    for i in range(len(kernels) - 1, -1, -1):
        if placed[i] is None and after is not None:
            label = labels.of_node(after)
            if (
                kernels[i] == MEMSET
                or (label == LIBRARY and kernels[i] in (LIBRARY, COPY))
                or (label.startswith(SORT) and kernels[i] == COPY)
            ):
                placed[i] = after
        after = placed[i]


def _runs(events: Sequence[Event], nodes: Mapping[str, NodeKey], entry: str) -> list[list[Event]]:
    """The events of each run of the module: by the id of the run, or from one occurrence of the first launch to the next."""
    if not events:
        return []
    if all(event.run for event in events):
        by_run: dict[int, list[Event]] = {}
        for event in events:
            by_run.setdefault(event.run, []).append(event)
        return list(by_run.values())

    def key(event: Event) -> tuple[str, str, int]:
        return event.op, event.name, event.captured

    counts = Counter(map(key, events))
    outside_loops = dict.fromkeys(key(event) for event in events if event.captured or nodes.get(event.op, ("",))[0] == entry)
    if outside_loops:
        usual = Counter(counts[each] for each in outside_loops).most_common(1)[0][0]
    else:  # kernels that equal fusions share occur several times in a run, and those that are not shared once
        spread = Counter(counts.values())
        usual = min(count for count, keys in spread.items() if keys >= _LEAST_SHARE * len(counts))
    first = next(each for each in outside_loops or counts if counts[each] == usual)
    starts = [i for i, event in enumerate(events) if key(event) == first]
    bounds = [0, *starts[1:], len(events)]
    return [list(events[start:stop]) for start, stop in pairwise(bounds)]


def _add(times: Times, run: Sequence[Event], places: Iterable[NodeKey | None]) -> None:
    for event, node in zip(run, places, strict=True):
        add_work(times, node, event.name, event.duration * PICOSECONDS)


def add_work(times: Times, node: NodeKey | None, kernel: str, seconds: float) -> None:
    """Count the run of a kernel, on its node if it has one."""
    kernels = times.unplaced if node is None else times.kernels.setdefault(node, {})
    before, count = kernels.get(kernel, (0.0, 0))
    kernels[kernel] = (before + seconds, count + 1)
    if node is not None:
        times.seconds[node] = times.seconds.get(node, 0.0) + seconds
