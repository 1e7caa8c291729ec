"""Profiles that name nodes: what ONNX Runtime and TensorRT write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opscope.errors import OpscopeError, about_data
from opscope.profile.node_table import seconds as seconds_of
from opscope.profile.place import Times, add_work
from opscope.profile.schedule import executed_graphs
from opscope.program import NodeKey, Program
from opscope.program.metric import number

_KERNEL = "_kernel_time"
"""How ONNX Runtime ends the name of the event that is the run of a node; others are its fences."""
_PARTS = re.compile(r"(?:(?!\.\.\.)[^\s,+()\[\]{}])+")
"""The names in that of a layer: `a + PWN(b)`, `{ForeignNode[a...b]}`."""
_MYELIN = re.compile(r"_myl\d+_\d+$")
"""How names end that TensorRT's compiler Myelin gives to its kernels; they have `_` for `.`, too."""


class Run(NamedTuple):
    """One run of a node."""

    node: str
    seconds: float
    kernel: str = ""
    op: str = ""
    parts: tuple[str, ...] = ()
    """The nodes that were fused into it, if `node` is not one itself."""


@dataclass
class NodeTimes:
    steps: int
    """How often the program ran."""
    runs: list[Run] = field(default_factory=list)


def is_onnxruntime(head: bytes) -> bool:
    """Whether a file begins like a profile of ONNX Runtime: a list of events, the first of which loads a model."""
    return head.lstrip().startswith(b"[") and b'"cat"' in head and (b"model_loading" in head or b'"Session"' in head)


def read_onnxruntime(data: bytes) -> NodeTimes:
    try:
        events = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise OpscopeError(f"is not complete JSON: {error}; call end_profiling() before you read the profile") from None
    if not isinstance(events, list):
        raise OpscopeError("is not a profile of ONNX Runtime, which is a list of events")
    events = [event for event in events if isinstance(event, dict)]
    nodes = [event for event in events if event.get("cat") == "Node" and str(event.get("name", "")).endswith(_KERNEL)]
    steps = sum(1 for event in events if event.get("name") == "model_run")
    if not nodes:
        raise OpscopeError("has no run of a node; call the session's run() before end_profiling()")
    return NodeTimes(max(steps, 1), list(_runs(nodes)))


def _runs(events: list[dict[str, Any]]) -> Iterable[Run]:
    """The runs of nodes. What runs inside another node, such as the body of a loop, is part of that node's time."""
    ends: dict[tuple[Any, Any], float] = {}
    for event in sorted(events, key=lambda event: (_microseconds(event, "ts"), -_microseconds(event, "dur"))):
        start, duration = _microseconds(event, "ts"), _microseconds(event, "dur")
        thread = (event.get("pid"), event.get("tid"))
        if start < ends.get(thread, start):
            continue
        ends[thread] = start + duration
        args = event.get("args")
        details: Mapping[str, Any] = args if isinstance(args, dict) else {}
        op = str(details.get("op_name", ""))
        yield Run(str(event["name"]).removesuffix(_KERNEL), duration * 1e-6, f"{op} ({details.get('provider', 'unknown provider')})", op)


def _microseconds(event: Mapping[str, Any], key: str) -> float:
    try:
        microseconds = number(event.get(key))
        seconds_of(microseconds * 1e-6)
        return microseconds
    except ValueError as error:
        raise OpscopeError(f"has an event {str(event.get('name'))[:60]!r} whose {key!r} {error}") from None


def is_tensorrt(head: bytes) -> bool:
    """Whether a file begins like the layer times that trtexec exports: a list, with the number of runs first."""
    return re.match(rb'\s*\[\s*\{\s*"count"\s*:', head) is not None and b'"averageMs"' in head


def read_tensorrt(data: bytes) -> NodeTimes:
    """A layer is named after the nodes that were fused into it, as trtexec's exportJSONProfile writes it: `/conv/Conv + /relu/Relu`."""
    try:
        entries = json.loads(data)
        runs = int(entries[0]["count"])
        layers = [(str(layer["name"]), seconds_of(number(layer["averageMs"]) * runs * 1e-3)) for layer in entries[1:]]
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError) as error:
        raise OpscopeError(f"is not complete as layer times of TensorRT: {about_data(error)}") from None
    return NodeTimes(max(runs, 1), [Run(name, seconds, parts=_parts(name)) for name, seconds in layers])


def _parts(layer: str) -> tuple[str, ...]:
    return tuple(_MYELIN.sub("", part) for part in _PARTS.findall(layer))


def place_named(program: Program, measured: NodeTimes) -> Times:
    """The times of the nodes that a profile names.

    ONNX Runtime names a node without a name by its operation and its position before optimization. These are placed only if the program
    has all of them: in an optimized model, another node may have that position.
    """
    places: dict[str, NodeKey] = {node.id: (graph.name, node.id) for graph in executed_graphs(program)[::-1] for node in graph}
    by_position = {run.node for run in measured.runs if run.op and re.fullmatch(rf"{re.escape(run.op)}_\d+", run.node)}
    if not by_position <= places.keys():
        places = {name: node for name, node in places.items() if name not in by_position}
    if any(run.parts for run in measured.runs):
        places = {**{name.replace(".", "_"): node for name, node in reversed(places.items())}, **places}
    times = Times(measured.steps)
    for run in measured.runs:
        node = next((places[name] for name in (run.node, *run.parts) if name in places), None)
        name = run.kernel or run.node
        add_work(times, node, f"{run.node}: {name}" if node is None and run.kernel else name, run.seconds)
    return times
