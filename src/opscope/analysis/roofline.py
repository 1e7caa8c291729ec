"""How long a program takes at best on a device: each node needs the time of its arithmetic or of its memory traffic, whichever is longer.

An estimate: it leaves out launches, caches, and everything that keeps a real kernel from the peak rates. A loop takes as long as its
body times its iterations, a conditional as long as its slowest branch.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from opscope.analysis.cost import FREE, CostModel, runs_graphs
from opscope.analysis.cost_metrics import with_costs
from opscope.analysis.devices import Device, device_from
from opscope.analysis.library_calls import call_target, is_product
from opscope.analysis.needed import Needed, needed_by
from opscope.errors import OpscopeError
from opscope.ops import LOOPS, facts_of
from opscope.ops.loops import trip_count
from opscope.ops.table import name_of
from opscope.program import Graph, Metric, Node, Program

ESTIMATED_TIME = "estimated time"
ESTIMATED_FOR = "estimated_for"
"""The program's attribute with the rates of the device that its times are estimated for."""
_Work: TypeAlias = "Counter[tuple[str, bool]]"
"""FLOPs by the type of the products' operands, and whether XLA computes them."""
_VECTOR = ("", False)
"""The kind of work that is not a product."""
_LOOP_KERNEL = re.compile(r"(?:triton_(?:poi|per|red|for)|cpp)_fused_")
"""A kernel that Inductor generated from loops: of elements or of a reduction, not of products. Its arithmetic is unknown, and taken to be
cheap beside its memory traffic."""
_AUTOCAST = ("bfloat16", "float16")
"""Products of 32-bit numbers with such a result are computed in it: PyTorch's autocast converts the operands, unseen in the graph."""
_XLA_DIALECTS = ("", "stablehlo", "mhlo", "chlo")


def estimated_for(attrs: Mapping[str, Any]) -> Device | None:
    """The device that the times of a program or recording are estimated for; None also if a file has something else in its place."""
    try:
        return device_from("device", attrs[ESTIMATED_FOR])
    except (KeyError, OpscopeError):
        return None


def with_estimates(program: Program, device: Device) -> Program:
    """The program with its costs, and the seconds that its nodes take at best on a device."""
    return Roofline(with_costs(program), device).on_nodes()


class Roofline:
    """Estimated seconds by graph and node. Each graph is estimated once, callees before callers."""

    def __init__(self, program: Program, device: Device) -> None:
        self.program, self.device = program, device
        self.seconds: dict[str, dict[str, float]] = {}
        self.costs = CostModel(program)
        self._work: dict[str, _Work] = {}
        inlined = self.costs.inlined
        self._needed: dict[str, Needed] = {name: needed for name in inlined if (needed := needed_by(program.graphs[name])) is not None}
        for graph in program.callees_first():
            self._work[graph.name] = Counter()
            self.seconds[graph.name] = {}
            for node, cost in zip(graph.nodes, self.costs.nodes(graph), strict=True):
                if cost is FREE:
                    continue
                work = self._work_of(graph, node, self._computed(graph, node, cost.flops))
                self._work[graph.name].update(work)
                if runs_graphs(node):
                    seconds = self._run(graph, node)
                    is_known = bool(seconds) or not cost.unknown
                else:
                    seconds = self._step(work, self._moved(node, cost.bytes))
                    is_known = not cost.unknown or self.is_by_bytes(graph, node)
                if is_known and seconds is not None and graph.name not in inlined:
                    self.seconds[graph.name][node.id] = seconds

    def on_nodes(self) -> Program:
        """The program with the estimated seconds of each node. A node of unknown cost has none, and a call has those of what is known of
        the graphs that it runs."""
        program = self.program.with_columns({Metric(ESTIMATED_TIME, "s", "sum", "estimated"): self.seconds})
        return replace(program, attrs={**program.attrs, ESTIMATED_FOR: self.device.to_dict()})

    def is_by_bytes(self, graph: Graph, node: Node) -> bool:
        """Whether the FLOPs of a node are unknown, and its time is that of its bytes."""
        cost = self.costs.node(graph, node)
        return bool(cost.unknown_flops and not cost.unknown_bytes and _LOOP_KERNEL.match(node.op))

    def is_memory_bound(self, graph: Graph, node: Node) -> bool:
        """Whether moving the node's bytes takes longer than its arithmetic."""
        cost = self.costs.node(graph, node)
        return self._moved(node, cost.bytes) / self.device.bandwidth > self._arithmetic(self._work_of(graph, node, cost.flops))

    def _moved(self, node: Node, moved: int) -> int:
        """The bytes that a node reads and writes at least."""
        saved = [self._needed[name].saved for name in node.calls if name in self._needed] if self._needed and node.calls else []
        return moved - sum(saved)

    def _computed(self, graph: Graph, node: Node, flops: int) -> int:
        """The FLOPs of a node at least, of those elements that the fusion around it needs."""
        needed = self._needed.get(graph.name)
        return flops if needed is None else round(flops * needed.shares.get(node.id, 1.0))

    def _work_of(self, graph: Graph, node: Node, flops: int) -> _Work:
        """FLOPs by the type of their products; a fusion does what its body does."""
        if facts_of(node.op).control == "fusion":
            return sum((self._work.get(name, Counter()) for name in node.calls), Counter())
        if not flops or not node.inputs or not _computes_products(node):
            return Counter({_VECTOR: flops})
        source, index = node.inputs[0]
        outputs = graph[source].outputs
        dtype = outputs[max(index, 0)].dtype if outputs else ""
        is_xla = name_of(node.op).dialect in _XLA_DIALECTS
        if not is_xla and dtype == "float32" and node.outputs and node.outputs[0].dtype in _AUTOCAST:
            dtype = node.outputs[0].dtype
        return Counter({(dtype, is_xla): flops})

    def _step(self, work: _Work, moved: int) -> float:
        return max(self._arithmetic(work), moved / self.device.bandwidth)

    def _arithmetic(self, work: _Work) -> float:
        """Seconds. A device that does not say how fast it is at something is taken to be fast enough."""
        seconds = 0.0
        for kind, flops in work.items():
            rate = self.device.vector if kind == _VECTOR else self.device.product_rate(*kind)
            seconds += flops / rate if rate else 0.0
        return seconds

    def _run(self, graph: Graph, node: Node) -> float | None:
        bodies = [sum(self.seconds.get(name, {}).values()) for name in node.calls]
        control = facts_of(node.op).control
        if control == "cond":
            return max(bodies)
        count = trip_count(self.program, graph, node) if control in LOOPS else 1
        return None if count is None else sum(bodies) * count


def _computes_products(node: Node) -> bool:
    """Whether a node's arithmetic is products, which a device computes faster than the rest; library calls compute nothing else."""
    return is_product(node) or bool(call_target(node))
