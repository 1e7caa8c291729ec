"""What a program costs, row by row: measured time, FLOPs and bytes of each node, kernel, operation, module or source line, per step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from opscope.analysis.cost import CostModel
from opscope.analysis.cost_metrics import BYTES, FLOPS, with_costs
from opscope.analysis.count_notes import count_notes
from opscope.analysis.devices import Device
from opscope.analysis.info import notes_of
from opscope.analysis.roofline import ESTIMATED_TIME, Roofline
from opscope.errors import OpscopeError
from opscope.naming import suggest
from opscope.ops.loops import trip_count
from opscope.profile.place import HOST_TIME, PART_ATTR, Times
from opscope.profile.schedule import executed_graphs, runs_its_graphs
from opscope.program import Graph, Node, NodeKey, Program

PERS = ("node", "kernel", "op", "module", "source")
TIME = "time"
_NOWHERE = "(none)"
"""The module or source line of what has none."""


@dataclass
class CostRow:
    """A row of the table. `seconds`, `flops` and `bytes` are of one step; None is unknown."""

    name: str
    graph: str = ""
    op: str = ""
    module: str = ""
    source: str = ""
    limit: str = ""
    """What limits a node on the device that it is estimated for: "memory" or "arithmetic"."""
    nodes: int = 0
    calls: float = 0
    amounts: dict[str, float] = field(default_factory=dict)
    share: float = 0.0
    cumulative: float = 0.0

    @property
    def at_best(self) -> float | None:
        """The estimated share of the measured time: how near a row is to the limits of the device."""
        measured, estimated = self.amounts.get(TIME), self.amounts.get(ESTIMATED_TIME)
        return estimated / measured if measured and estimated is not None else None

    def add(self, amounts: dict[str, float], calls: float) -> None:
        self.nodes += 1
        self.calls += calls
        for name, amount in amounts.items():
            self.amounts[name] = self.amounts.get(name, 0.0) + amount


@dataclass
class Costs:
    """The rows, the heaviest first, and how much of the device's time they explain."""

    program: str
    by: str
    per: str
    unit: str
    rows: list[CostRow]
    times: Times | None
    missing: int = 0
    """Operations whose amount is unknown."""
    from_bytes: int = 0
    """Operations of unknown FLOPs, whose time is estimated from their bytes alone."""
    unjudged: float = 0.0
    """Measured seconds of a step on operations without an estimated time, if times are estimated."""
    device: Device | None = None
    """The device that times are estimated for."""
    notes: tuple[str, ...] = ()
    part: str = ""
    """What measured amounts are of, if not of one step."""
    of_what: str = "per step"
    """What the amounts are of that rows are ranked by."""

    @property
    def total(self) -> float:
        return sum(row.amounts.get(self.by, 0.0) for row in self.rows)

    @property
    def other_units(self) -> dict[str, str]:
        """What rows have besides the amount that they are ranked by, with its unit."""
        units = {FLOPS.name: FLOPS.unit, BYTES.name: BYTES.unit, ESTIMATED_TIME: "s"}
        return {name: unit for name, unit in units.items() if name != self.by and any(name in row.amounts for row in self.rows)}

    def to_json(self) -> dict[str, Any]:
        rows = [self._row(row) for row in self.rows]
        data: dict[str, Any] = {"program": self.program, "by": self.by, "per": self.per, "rows": rows, "unknown": self.missing}
        if self.device is not None:
            data |= {"device": self.device.title, "estimated_from_bytes": self.from_bytes, "unjudged_seconds": self.unjudged}
        if self.times is not None:
            data["profile"] = self._profile(self.times, bool(self.part))
        if self.part:
            data["partial"] = True
        if self.notes:
            data["notes"] = list(self.notes)
        return data

    def _row(self, row: CostRow) -> dict[str, Any]:
        keys: dict[str, Any] = {self.per: row.name}
        if self.per == "node":
            keys |= {"graph": row.graph, "op": row.op, "module": row.module, "source": row.source}
            if self.device is not None:
                keys["limit"] = row.limit
        else:
            keys["nodes"] = row.nodes
        amounts = {"seconds": row.amounts.get(TIME), "flops": row.amounts.get(FLOPS.name), "bytes": row.amounts.get(BYTES.name)}
        if self.device is not None:
            amounts["estimated_seconds"] = row.amounts.get(ESTIMATED_TIME)
        if self.by not in (TIME, FLOPS.name, BYTES.name, ESTIMATED_TIME):
            amounts[self.by] = row.amounts.get(self.by)
        return {**keys, "calls": row.calls, **amounts, "share": row.share, "cumulative_share": row.cumulative}

    @staticmethod
    def _profile(times: Times, is_partial: bool) -> dict[str, Any]:
        """Per step. A part of a step has a part of each phase, or none of it."""
        steps = max(times.steps, 1)
        heaviest = sorted(times.unplaced.items(), key=lambda item: -item[1][0])
        phases = {} if is_partial else {phase: seconds / steps for phase, seconds in times.phases.items()}
        return {
            "device_seconds": times.device_seconds / steps,
            "attributed_seconds": times.placed_seconds / steps,
            **({"phases": phases, "idle_seconds": times.idle / steps} if phases else {}),
            "steps": 0 if is_partial else times.steps,
            "unattributed": [{"kernel": name, "seconds": seconds / steps, "count": count / steps} for name, (seconds, count) in heaviest],
        }


def costs_of(program: Program, times: Times | None = None, by: str | None = None, per: str = "node", device: Device | None = None) -> Costs:
    """The costs of a program, with estimated times if a device is given. `by` is "time" (measured, or else estimated), "flops", "bytes" or
    any metric of the program; by default it is the first of these that there is."""
    without = HOST_TIME.name if HOST_TIME.name in program.metrics else FLOPS.name
    by = by or (TIME if times is not None or device is not None else without)
    program = with_costs(program)
    roofline = None if device is None else Roofline(program, device)
    if roofline is not None:
        program = roofline.on_nodes()
        by = ESTIMATED_TIME if by == TIME and times is None else by
    if by == TIME and times is None:
        raise OpscopeError(
            "has no measured times; name a profile with --profile FILE, estimate with --device NAME, or rank --by flops or --by bytes"
        )
    units = {metric.name: metric.unit for metric in (FLOPS, BYTES, *program.metrics.values()) if not metric.ratio}
    if by != TIME and by not in units:
        names = [TIME, *(name for name, metric in program.metrics.items() if not metric.ratio)]
        raise OpscopeError(f"has no metric {by!r} that adds up{suggest(by, names)}")
    if per == "kernel":
        if times is None or by != TIME:
            raise OpscopeError("has kernels only in a profile, ranked --by time; add --profile FILE, or use --per node")
        rows = _kernels(times)
        missing, from_bytes, unjudged = 0, 0, 0.0
    else:
        rows, missing, from_bytes, unjudged = _nodes(program, times, by, per, roofline)
        if roofline is not None and per == "node":
            _add_limits(roofline, rows)
    rows = sorted((row for row in rows if by in row.amounts), key=lambda row: -row.amounts[by])
    total = sum(row.amounts[by] for row in rows)
    if by == TIME and times is not None:
        total = times.device_seconds / max(times.steps, 1)
    reached = 0.0
    for row in rows:
        row.share = row.amounts[by] / total if total else 0.0
        reached += row.share
        row.cumulative = reached
    is_measured = by == TIME or (by in program.metrics and program.metrics[by].origin == "measured")
    part = str(program.attrs.get(PART_ATTR, ""))
    of_what = (part if is_measured else "") or "per step"
    unit = "s" if by == TIME else units[by]
    notes = notes_of(program) + (count_notes(program) if by == FLOPS.name else ())
    return Costs(program.name, by, per, unit, rows, times, missing, from_bytes, unjudged, device, notes, part, of_what)


def _kernels(times: Times) -> list[CostRow]:
    steps = max(times.steps, 1)
    rows: dict[str, CostRow] = {}
    for kernels in (*times.kernels.values(), times.unplaced):
        for name, (seconds, count) in kernels.items():
            rows.setdefault(name, CostRow(name)).add({TIME: seconds / steps}, count / steps)
    return list(rows.values())


def _add_limits(roofline: Roofline, rows: list[CostRow]) -> None:
    for row in rows:
        if ESTIMATED_TIME in row.amounts:
            graph = roofline.program.graphs[row.graph]
            row.limit = "memory" if roofline.is_memory_bound(graph, graph[row.name]) else "arithmetic"


def _nodes(program: Program, times: Times | None, by: str, per: str, roofline: Roofline | None) -> tuple[list[CostRow], int, int, float]:
    """The rows, how many operations have no number for what they are ranked by, how many are estimated from their bytes alone, and the
    measured seconds of those that have no estimate."""
    names = [FLOPS.name, BYTES.name, *([] if roofline is None else [ESTIMATED_TIME])]
    names += [by] if by not in (TIME, *names) else []
    key = _KEYS[per]
    rows: dict[Any, CostRow] = {}
    unknown = _unknown(program, by)
    missing, from_bytes, unjudged = 0, 0, 0.0
    for graph, node, runs, is_listed_inside in _executed(program, times):
        node_key = (graph.name, node.id)
        columns = {} if is_listed_inside else {name: graph.metrics[name] for name in names if name in graph.metrics}
        amounts = {name: column[node.id] * runs for name, column in columns.items() if node.id in column}
        if times is not None and node_key in times.seconds:
            amounts[TIME] = times.seconds[node_key] / max(times.steps, 1)
        missing += node_key in unknown and not is_listed_inside
        from_bytes += roofline is not None and ESTIMATED_TIME in amounts and roofline.is_by_bytes(graph, node)
        if not amounts:
            continue
        unjudged += amounts.get(TIME, 0.0) if roofline is not None and ESTIMATED_TIME not in amounts else 0.0
        name = key(node)
        row = rows.setdefault(node_key if per == "node" else name, CostRow(name, graph.name, node.op, _module(node), _source(node)))
        row.add(amounts, runs)
    return list(rows.values()), missing, from_bytes, unjudged


def _unknown(program: Program, by: str) -> set[NodeKey]:
    """The operations whose FLOPs or bytes cannot be told from the program, or whose time cannot be estimated for that reason."""
    which = {FLOPS.name: "unknown_flops", BYTES.name: "unknown_bytes", ESTIMATED_TIME: "unknown"}.get(by)
    if which is None:
        return set()
    model = CostModel(program)
    return {
        (graph.name, node.id)
        for graph in executed_graphs(program)
        for node, cost in zip(graph.nodes, model.nodes(graph), strict=True)
        if getattr(cost, which) and not (by == ESTIMATED_TIME and node.id in graph.metrics.get(ESTIMATED_TIME, ()))
    }


def _executed(program: Program, times: Times | None) -> Iterator[tuple[Graph, Node, float, bool]]:
    """The nodes that run: how often in a step, and whether what they call is listed by itself. A loop is its body's nodes, if it is known
    how often they run; a conditional is its branches' nodes, if it was measured."""
    runs: dict[str, float] = {program.entry: 1.0}
    for graph in executed_graphs(program):
        if graph.name not in runs:
            continue
        for node in graph:
            if not runs_its_graphs(node):
                yield graph, node, runs[graph.name], False
                continue
            count = None if node.op == "conditional" else trip_count(program, graph, node) if node.op == "while" else 1
            if count is not None:
                inside = {name: runs.get(name, 0.0) + runs[graph.name] * count for name in node.calls}
            elif times is not None:
                inside = {name: _measured_runs(program.graphs[name], times) for name in node.calls}
            else:
                inside = {}
            runs.update(inside)
            yield graph, node, runs[graph.name], bool(inside)


def _measured_runs(graph: Graph, times: Times) -> float:
    return max((times.calls((graph.name, node.id)) for node in graph), default=0) / max(times.steps, 1)


def _module(node: Node) -> str:
    return "/".join(node.scope)


def _source(node: Node) -> str:
    return str(node.source[0]) if node.source else ""


_KEYS: dict[str, Callable[[Node], str]] = {
    "node": lambda node: node.id,
    "op": lambda node: node.op,
    "module": lambda node: _module(node) or _NOWHERE,
    "source": lambda node: _source(node) or _NOWHERE,
}
