"""The cost of running a graph once: floating-point operations, and bytes read and written.

Costs are counted as XLA does: a multiply-add is two operations, an elementwise operation is one per element (a tanh too), a fusion
costs what its body costs, a loop its body times the known trip count, a conditional its most expensive branch. What does not follow
from the program (an unknown custom call, a loop of unknown length, a dimension that is not a number) is counted as `unknown`, not guessed.
XLA itself leaves out custom calls and counts a loop's body once; `as_xla` does the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

from opscope.analysis.alike import Alike, TypeNumbers, alike_of
from opscope.analysis.flop_rules import APPLIED, AS_XLA, TRANSCENDENTAL, applied_flops, attributes_read, rule_of
from opscope.analysis.library_calls import workspace
from opscope.analysis.moved import Fused, Sizes, bytes_moved, fused_bytes, output_sizes, viewed_bytes
from opscope.gc_pause import without_collecting
from opscope.ops import LOOPS, Control, facts_of, plain_name
from opscope.ops.loops import trip_count
from opscope.program import Details, Graph, Node, NodeColumns, Program, calls_of, details_of

_MOST = 1 << 128
"""More than any machine computes: loops inside each other can state that they run a number of times that has thousands of digits."""


class Cost(NamedTuple):
    """`unknown` operations are of unknown cost: `unknown_flops` of them are not in `flops`, `unknown_bytes` not in `bytes`.
    `transcendentals` are those of the `flops` that XLA lists apart: exponentials, roots, sines."""

    flops: int = 0
    bytes: int = 0
    unknown: int = 0
    unknown_flops: int = 0
    unknown_bytes: int = 0
    transcendentals: int = 0

    def times(self, count: int) -> Cost:
        if max(self.flops, self.bytes) * count > _MOST:
            return self._replace(unknown=self.unknown + 1, unknown_flops=self.unknown_flops + 1, unknown_bytes=self.unknown_bytes + 1)
        return self._replace(flops=self.flops * count, bytes=self.bytes * count, transcendentals=self.transcendentals * count)


FREE = Cost()
"""The cost of anything that is not an operation, and of plumbing."""
UNKNOWN = Cost(unknown=1, unknown_flops=1, unknown_bytes=1)

_Alike: TypeAlias = dict[Hashable, Cost]
"""What nodes cost, by what they are like."""
_MOST_NEAR = 3
"""A node that reads more than an eighth of its graph is counted with the whole of it."""
_COMPARES = frozenset(["sort", "custom_call"])
"""Operations that call a function that is not their cost: a sort or a library's top-k calls a comparison."""


def runs_graphs(node: Node) -> bool:
    """Whether a node is a call, loop or conditional: its cost is that of the graphs that it runs."""
    if not node.calls or facts_of(node.op).control == "fusion":
        return False
    name = plain_name(node.op)
    return name not in APPLIED and name not in _COMPARES


class _Places:
    """The nodes of a graph, each with a graph that has what it reads, and the sizes there. Of columns that is a graph of the few: an index
    of all of them would take longer than counting."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.details: Sequence[Details] = details_of(graph.nodes)

    @cached_property
    def _sizes(self) -> Sizes:
        return output_sizes(self._graph)

    def at(self, i: int) -> tuple[Graph, Node, Sizes]:
        node, columns = self._graph.nodes[i], self._graph.nodes
        if not isinstance(columns, NodeColumns) or (node.calls and runs_graphs(node)):
            return self._graph, node, self._sizes
        sources = {*columns.sources[columns.starts[i] : columns.starts[i + 1]], i}
        if len(sources) > len(columns) >> _MOST_NEAR:
            return self._graph, node, self._sizes
        near = Graph(self._graph.name, tuple([columns[source] for source in sources]), attrs=self._graph.attrs)
        return near, node, output_sizes(near)


class CostModel:
    """Costs of one program. Each graph is counted once, callees before callers, without recursion."""

    def __init__(self, program: Program, as_xla: bool = False) -> None:
        self.program = program
        self.as_xla = as_xla
        self.unknown_ops: dict[str, int] = {}
        self.unknown_flops_ops: dict[str, int] = {}
        self._graphs: dict[str, Cost] = {}
        self._fused: dict[str, Fused] = {}
        self._nodes: dict[str, list[Cost]] = {}
        self._different: dict[tuple[int | None, int | None, int | None, int], Cost] = {}
        self._types = TypeNumbers()
        self._alike: _Alike = {}
        self._applied: set[str] = set()
        self._run: set[str] = {program.entry}
        with without_collecting():
            self._count_graphs()

    def _count_graphs(self) -> None:
        for graph in self.program.callees_first():
            calls = calls_of(graph.nodes)
            costs = self._nodes[graph.name] = self._costs(graph, calls)
            total = _total(costs)
            if total.unknown:
                self._note_unknown(list(graph.ops), calls, costs)
            self._graphs[graph.name] = total

    def _costs(self, graph: Graph, calls: Mapping[int, tuple[str, ...]]) -> list[Cost]:
        """The cost of each node. Those that do the same with the same types, and have the same attributes where these matter, cost the
        same."""
        known: _Alike = {} if graph.attrs.get("kind") == "autograd" else self._alike
        get, places = known.get, _Places(graph)
        costs: list[Cost] = []
        for i, alike in enumerate(alike_of(graph, self._types)):
            cost = None if i in calls else get(alike)
            costs.append(self._cost_of(known, places, i, alike, calls.get(i, ())) if cost is None else cost)
        return costs

    def _cost_of(self, known: _Alike, places: _Places, i: int, alike: Alike, calls: tuple[str, ...]) -> Cost:
        """The cost of a node that calls graphs, whose attributes matter, or that is the first of its kind."""
        op, role, _, _, _ = alike
        reads = attributes_read(op) if role == "op" else frozenset()
        is_alike = reads is not None and not reads
        key = alike if is_alike and not calls else (alike, calls, None if is_alike else places.details[i].key(reads))
        cost = known.get(key)
        if cost is None:
            graph, node, sizes = places.at(i)
            cost = self._count(graph, node, sizes)
            if not (calls and runs_graphs(node)) and (node.inputs or node.outputs):
                known[key] = cost
        return cost

    def _note_unknown(self, ops: Sequence[str], calls: Mapping[int, tuple[str, ...]], costs: Sequence[Cost]) -> None:
        different = dict(zip(map(id, costs), costs, strict=True))
        unknown = {key for key, cost in different.items() if cost.unknown}
        for i in [i for i, key in enumerate(map(id, costs)) if key in unknown]:
            cost = costs[i]
            if not any(self._graphs[called].unknown for called in calls.get(i, ()) if called in self._graphs):
                op = ops[i]
                self.unknown_ops[op] = self.unknown_ops.get(op, 0) + 1
                if cost.unknown_flops:
                    self.unknown_flops_ops[op] = self.unknown_flops_ops.get(op, 0) + 1

    def graph(self, name: str) -> Cost:
        """Cost of running a graph once."""
        return self._graphs[name]

    @property
    def total(self) -> Cost:
        """Cost of running the program once."""
        return self._graphs[self.program.entry]

    @property
    def inlined(self) -> set[str]:
        """Graphs that only run inside an operation (a fusion's body, a reducer): their values stay in registers."""
        return self._applied - self._run

    def has_unknown_length(self, graph: Graph, node: Node) -> bool:
        """Whether a node is a loop whose number of iterations is unknown."""
        return bool(node.calls) and facts_of(node.op).control in LOOPS and trip_count(self.program, graph, node) is None

    def node(self, graph: Graph, node: Node) -> Cost:
        """Cost of running one node once, with everything that it calls."""
        return self._nodes[graph.name][graph.position[node.id]]

    def nodes(self, graph: Graph) -> list[Cost]:
        """The costs of all nodes of a graph, in order."""
        return self._nodes[graph.name]

    def _count(self, graph: Graph, node: Node, sizes: Sizes) -> Cost:
        name, facts = plain_name(node.op), facts_of(node.op)
        if node.role != "op" or facts.free:
            return FREE
        if not node.calls:
            if not node.inputs and not node.outputs and not node.control:
                return UNKNOWN  # an operator of a trace: what it read and wrote was not recorded
            flops = self._flops(graph, node, name)
            part = self._scratch(node) if name == "custom_call" else viewed_bytes(graph, node)
            return self._counted(flops, bytes_moved(sizes, node, name, part), flops if name in TRANSCENDENTAL else 0)
        bodies = [self._graphs.get(called, UNKNOWN) for called in node.calls]
        if runs_graphs(node):
            self._run.update(node.calls)
            return self._control_flow(graph, node, facts.control, bodies)
        self._applied.update(node.calls)
        is_fusion = facts.control == "fusion"
        transcendentals: int | None = None
        if name not in _COMPARES:
            inside = _sum(bodies)
            flops = inside.flops if is_fusion else applied_flops(graph, node, name, [body.flops for body in bodies])
            if inside.transcendentals:
                applied = [body.transcendentals for body in bodies]
                transcendentals = inside.transcendentals if is_fusion else applied_flops(graph, node, name, applied)
        else:
            flops, inside = self._flops(graph, node, name), FREE
            transcendentals = flops if name in TRANSCENDENTAL else 0
        fused = self._fused_by(node) if is_fusion else self._scratch(node) if name == "custom_call" else None
        return self._counted(flops, bytes_moved(sizes, node, name, fused), transcendentals, inside.unknown_flops)

    def _counted(self, flops: int | None, moved: int | None, transcendentals: int | None, unknown: int = 0) -> Cost:
        """The cost of an operation in which `unknown` others are. Layers repeat, so programs have few different ones."""
        key = (flops, moved, transcendentals, unknown)
        cost = self._different.get(key)
        if cost is None:
            unknown_flops = unknown + (flops is None)
            any_unknown = unknown + (flops is None or moved is None)
            cost = Cost(flops or 0, moved or 0, any_unknown, unknown_flops, int(moved is None), transcendentals or 0)
            self._different[key] = cost
        return cost

    def _flops(self, graph: Graph, node: Node, name: str) -> int | None:
        rule = AS_XLA.get(name) if self.as_xla else None
        return (rule or rule_of(node.op))(graph, node)

    def _scratch(self, node: Node) -> Fused | None:
        """The results of a library's routine that it only works in: XLA counts them."""
        scratch = None if self.as_xla else workspace(node)
        return None if scratch is None else Fused({}, {scratch: 0})

    def _control_flow(self, graph: Graph, node: Node, control: Control, bodies: list[Cost]) -> Cost:
        """The cost of a call, loop or conditional, which is all in its bodies."""
        if control == "cond":
            most = Cost(*map(max, zip(*bodies, strict=True)))
            if self.as_xla:  # it has transcendentals apart from FLOPs, each as the most of any branch
                most = most._replace(flops=max([body.flops - body.transcendentals for body in bodies], default=0) + most.transcendentals)
            return most
        once = _sum(bodies)
        if control not in LOOPS or self.as_xla:
            return once
        trips = trip_count(self.program, graph, node)
        return once.times(trips) if trips is not None else _sum([once, UNKNOWN])

    def _fused_by(self, node: Node) -> Fused | None:
        """How the body of a fusion uses its operands. Cached, because several fusions may call one body."""
        called = node.calls[0] if node.calls else ""
        if called not in self._fused and called in self.program.graphs:
            self._fused[called] = fused_bytes(self.program.graphs[called])
        return self._fused.get(called)


def _sum(costs: list[Cost]) -> Cost:
    return Cost(*map(sum, zip(*costs, strict=True))) if costs else FREE


def _total(costs: list[Cost]) -> Cost:
    """The sum over a whole graph, which has few different costs."""
    different = dict(zip(map(id, costs), costs, strict=True))
    return _sum([Cost(*[amount * count for amount in different[key]]) for key, count in Counter(map(id, costs)).items()])
