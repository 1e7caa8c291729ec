"""The cost of running a graph once: floating-point operations, and bytes read and written.

Costs are counted as XLA does: a multiply-add is two operations, an elementwise operation is one per element (a tanh too), a fusion
costs what its body costs, a loop its body times the known trip count, a conditional its most expensive branch. What does not follow
from the program (a custom call, a loop of unknown length, a dimension that is not a number) is counted as `unknown`, not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import NamedTuple

from opscope.analysis.moved import Fused, Sizes, bytes_moved, fused_bytes, output_sizes, size_of, values
from opscope.analysis.mult_adds import is_product, mult_adds
from opscope.analysis.window import convolution_taps, window_size
from opscope.gc_pause import without_collecting
from opscope.ops import CATEGORIES, LOOPS, Control, category_of, facts_of, plain_name
from opscope.ops.loops import trip_count
from opscope.program import UNKNOWN_TYPE, Graph, Node, Program, TensorType, whole_number


class Cost(NamedTuple):
    """`unknown` operations are of unknown cost: `unknown_flops` of them are not in `flops`, `unknown_bytes` not in `bytes`."""

    flops: int = 0
    bytes: int = 0
    unknown: int = 0
    unknown_flops: int = 0
    unknown_bytes: int = 0

    def times(self, count: int) -> Cost:
        return self._replace(flops=self.flops * count, bytes=self.bytes * count)


FREE = Cost()
"""The cost of anything that is not an operation, and of plumbing."""
UNKNOWN = Cost(unknown=1, unknown_flops=1, unknown_bytes=1)

_NO_FLOPS = frozenset(["shape", "data", "communication", "constant", "parameter", "output"])
_ADDED_PRODUCTS = frozenset(["addmm", "baddbmm", "addmv", "gemm"])
_PLAIN_REDUCTIONS = re.compile(r"(reduce_)?(sum|prod|a?max|a?min|mean|and|or|xor|all|any)|arg_?(max|min)|cum(sum|prod|max|min)")
_CONTRACTED = (
    ("lhs_contracting_dims", re.compile(r"([\d, ]*)")),
    ("dimension_numbers", re.compile(r"[\[(]{3}\s*([\d, ]*)")),
    ("dot_dimension_numbers", re.compile(r".*?lhs_contracting_dimensions\s*=\s*\[([\d, ]*)", re.S)),
    ("contracting_dims", re.compile(r"\[?([\d, ]*)")),
)
_ANNOTATIONS = {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint"}


_Rule = Callable[[Graph, Node], int | None]


class CostModel:
    """Costs of one program. Each graph is counted once, callees before callers, without recursion."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.unknown_ops: dict[str, int] = {}
        self.unknown_flops_ops: dict[str, int] = {}
        self._graphs: dict[str, Cost] = {}
        self._fused: dict[str, Fused] = {}
        self._nodes: dict[str, list[Cost]] = {}
        self._applied: set[str] = set()
        self._run: set[str] = {program.entry}
        with without_collecting():
            self._count_graphs()

    def _count_graphs(self) -> None:
        for graph in self.program.callees_first():
            sizes = output_sizes(graph)
            costs = self._nodes[graph.name] = [self._count(graph, node, sizes) for node in graph.nodes]
            for node, cost in zip(graph.nodes, costs, strict=True):
                if cost.unknown and not any(self._graphs[called].unknown for called in node.calls if called in self._graphs):
                    self.unknown_ops[node.op] = self.unknown_ops.get(node.op, 0) + 1
                    if cost.unknown_flops:
                        self.unknown_flops_ops[node.op] = self.unknown_flops_ops.get(node.op, 0) + 1
            self._graphs[graph.name] = _sum(costs)

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
        is_fusion = facts.control == "fusion"
        bodies = [self._graphs.get(called, UNKNOWN) for called in node.calls]
        if bodies and not is_fusion and name != "sort" and name not in _APPLIED:
            self._run.update(node.calls)
            return _control_flow(node, facts.control, bodies)
        self._applied.update(node.calls)
        if bodies and name != "sort":
            times = 1 if is_fusion else _APPLIED[name](graph, node)
            inside = _sum(bodies)
            flops = None if times is None else inside.flops * times
        else:
            flops, inside = _rule_of(node.op)(graph, node), FREE
        moved = bytes_moved(sizes, node, name, self._fused_by(node) if is_fusion else None)
        return Cost(
            flops or 0,
            moved or 0,
            inside.unknown_flops + (flops is None or moved is None),
            inside.unknown_flops + (flops is None),
            int(moved is None),
        )

    def _fused_by(self, node: Node) -> Fused | None:
        """How the body of a fusion uses its operands. Cached, because several fusions may call one body."""
        called = node.calls[0] if node.calls else ""
        if called not in self._fused and called in self.program.graphs:
            self._fused[called] = fused_bytes(self.program.graphs[called])
        return self._fused.get(called)


def _control_flow(node: Node, control: Control, bodies: list[Cost]) -> Cost:
    """The cost of a call, loop or conditional, which is all in its bodies."""
    if control == "cond":
        return Cost(*map(max, zip(*bodies, strict=True)))
    once = _sum(bodies)
    if control not in LOOPS:
        return once
    trips = trip_count(node)
    return once.times(trips) if trips is not None else _sum([once, UNKNOWN])


def _sum(costs: list[Cost]) -> Cost:
    return Cost(*map(sum, zip(*costs, strict=True))) if costs else FREE


def _input_types(graph: Graph, node: Node) -> list[TensorType]:
    return [kind for ref in node.inputs for kind in values(graph, ref)]


def _elements(types: list[TensorType]) -> int | None:
    total = 0
    for kind in types:
        count = size_of(kind)[0]
        if count is None:
            return None
        total += count
    return total


@lru_cache(maxsize=4096)
def _rule_of(op: str) -> _Rule:
    """How to count the operations of a node that calls no graph; the rule returns None if they are unknown."""
    name = plain_name(op)
    if name in _RULES:
        return _RULES[name]
    if is_product(op):
        return _product
    category = CATEGORIES[category_of(op)]
    if category == "elementwise":
        return _mapped
    if category in _NO_FLOPS:
        return _nothing
    return _first_operand if _PLAIN_REDUCTIONS.fullmatch(name) else _unknown


def _dot(graph: Graph, node: Node) -> int | None:
    """Two operations for each output element and contracted element; an attribute has the contracted dimensions."""
    inputs = _input_types(graph, node)
    out = _elements(list(node.outputs))
    attrs = node.attrs
    for key, pattern in _CONTRACTED:
        match = pattern.match(str(attrs[key]).strip("{}")) if key in attrs else None
        if match and inputs and inputs[0] != UNKNOWN_TYPE and out is not None:
            dims = [number for d in match[1].split(",") if (number := whole_number(d.strip())) is not None]
            shape = inputs[0].shape
            sizes = [shape[d] for d in dims if d < len(shape)]
            return 2 * out * prod(d for d in sizes if isinstance(d, int)) if all(isinstance(d, int) for d in sizes) else None
    if len(inputs) >= 2 and (len(inputs[0].shape) == 1 or len(inputs[1].shape) == 1) and not attrs.keys() & {"dimension_numbers"}:
        return _product(graph, node)
    return None


def _product(graph: Graph, node: Node) -> int | None:
    """Two operations for each multiply-add, and one for each element that is added to the products."""
    inputs, out = _input_types(graph, node), _elements(list(node.outputs[:1]))
    count = mult_adds(node.op, [kind.shape for kind in inputs], [kind.shape for kind in node.outputs], node.attrs)
    if count is None or out is None or UNKNOWN_TYPE in inputs:
        return None
    return 2 * count + (out if plain_name(node.op) in _ADDED_PRODUCTS and len(inputs) > 2 else 0)


def _convolution(graph: Graph, node: Node) -> int | None:
    """HLO, StableHLO and JAX label the dimensions; elsewhere their order is fixed."""
    if not node.attrs.keys() & {"dim_labels", "dimension_numbers", "dim_numbers"}:
        return _product(graph, node)
    inputs = _input_types(graph, node)
    if len(inputs) < 2 or not node.outputs or UNKNOWN_TYPE in (*inputs[:2], node.outputs[0]):
        return None
    return convolution_taps(inputs[0], inputs[1], node.outputs[0], node.attrs)


def _sort(graph: Graph, node: Node) -> int | None:
    """The comparisons of a comparison sort; the cost of one comparison is left out."""
    count = _elements(_input_types(graph, node)[:1])
    return None if count is None else count * max(count - 1, 0).bit_length()


def _nothing(graph: Graph, node: Node) -> int | None:
    return 0


def _unknown(graph: Graph, node: Node) -> int | None:
    return None


def _first_operand(graph: Graph, node: Node) -> int | None:
    """One operation for each element that is reduced."""
    return _elements(_input_types(graph, node)[:1])


def _custom_call(graph: Graph, node: Node) -> int | None:
    return 0 if str(node.attrs.get("custom_call_target")) in _ANNOTATIONS else None


_RULES: dict[str, _Rule] = {
    "dot": _dot,
    "dot_general": _dot,
    "sort": _sort,
    "copy": _nothing,
    "identity": _nothing,
    "custom_call": _custom_call,
    "assert_tensor_metadata": _nothing,
    "convolution": _convolution,
    "conv_general_dilated": _convolution,
}


def _reduced(graph: Graph, node: Node) -> int | None:
    """For each result, a reduction of n elements applies its function n - 1 times."""
    inputs, out = _elements(_input_types(graph, node)[:1]), _elements(list(node.outputs[:1]))
    return inputs - out if inputs is not None and out is not None else None


def _windowed(graph: Graph, node: Node) -> int | None:
    out, window = _elements(list(node.outputs[:1])), window_size(node.attrs)
    return out * (window - 1) if out is not None and window is not None else None


def _mapped(graph: Graph, node: Node) -> int | None:
    """One operation for each element of the result."""
    return _elements(list(node.outputs[:1]))


def _scattered(graph: Graph, node: Node) -> int | None:
    return _elements(_input_types(graph, node)[-1:])


_APPLIED: dict[str, _Rule] = {
    "reduce": _reduced,
    "all_reduce": _mapped,
    "all_reduce_start": _mapped,
    "reduce_scatter": _mapped,
    "reduce_window": _windowed,
    "select_and_scatter": _windowed,
    "map": _mapped,
    "scatter": _scattered,
}
"""How many times an operation applies the function that it calls (`to_apply`)."""


def has_unknown_length(node: Node) -> bool:
    """Whether a node is a loop whose number of iterations is unknown."""
    return bool(node.calls) and facts_of(node.op).control in LOOPS and trip_count(node) is None
