"""The layers of a program, as far as its graph shows them: the rows of a measured run, without running anything.

A group is a call of a module. Its inputs and outputs are the values that cross its boundary, its parameters are nodes, and multiply-adds
follow from shapes. A forward graph does not show what autograd would save, so that stays open. Where a source has no groups, as many ONNX
models, each operation is a layer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from opscope.analysis.flop_rules import multiply_adds
from opscope.analysis.mult_adds import kernel_of
from opscope.ops import LOOPS, facts_of, plain_name
from opscope.ops.loops import trip_count
from opscope.program import (
    BACKWARD,
    DIRECTION_ATTR,
    RECOMPUTED,
    WHOLE,
    Graph,
    Node,
    Path,
    Program,
    TensorType,
    ValueRef,
    whole_number,
)
from opscope.readers.torch.measure import Layer, Measured

_MOST_NAMED = 4
_ACCUMULATE = "AccumulateGrad"
"""What an autograd graph has in place of a parameter."""


def has_modules(program: Program) -> bool:
    """Whether a program was captured from torch modules and traced into them: then its groups are their calls."""
    modules = program.attrs.get("modules")
    return bool(modules) and isinstance(modules, Mapping) and not any("module" in node.attrs for node in program.main if node.role == "op")


def layers_of(program: Program) -> Measured:
    """One layer for every group of the entry, callers first, and the totals."""
    graph = program.main
    layers = _Layers(program)
    for node in graph.nodes:
        if node.role in ("op", "output") and node.attrs.get(DIRECTION_ATTR) not in (RECOMPUTED, BACKWARD):
            layers.operation(graph, node)
    for name, index in graph.outputs:
        layers.result(graph[name], index)
    for node in graph.parameters:
        layers.parameter(graph, node)
    return layers.measured(program)


class _Call(NamedTuple):
    """A layer, and what is being collected for it."""

    layer: Layer
    inputs: dict[ValueRef, TensorType]
    outputs: dict[ValueRef, TensorType]
    shared: dict[str, int]
    kernels: set[tuple[int, ...]]

    @classmethod
    def of(cls, layer: Layer) -> _Call:
        return cls(layer, {}, {}, {}, set())


class _Layers:
    def __init__(self, program: Program) -> None:
        self.program = program
        modules = program.attrs.get("modules")
        self.classes: Mapping[str, str] = modules if isinstance(modules, Mapping) else {}
        scopes = {node.scope for node in program.main if node.role == "op"}
        self.has_groups = any(scopes)
        self.skipped = int(bool(scopes) and all(scope[:1] == (program.name,) for scope in scopes))
        """JAX names the whole function too; that is the model itself."""
        self.computes = program.main.attrs.get("kind") != "autograd"
        """Whether nodes have all their operands. Autograd functions do not: only their outputs are known."""
        self.calls = [_Call.of(Layer("", program.name, 0, -1))]
        self.number: dict[Path, int] = {(): 0}
        self.uncounted: Counter[str] = Counter()
        """Operations whose multiply-adds the graph does not determine."""

    def scope(self, node: Node) -> Path:
        """The layer that a node belongs to."""
        if self.has_groups or node.role != "op":
            return node.scope[self.skipped :]
        return (f"{node.id}: {node.op}",)

    def _owner(self, graph: Graph, parameter: Node) -> Path:
        """The layer of a parameter: where the source puts it, or else the innermost that all of its users are in."""
        if parameter.scope or self.classes:
            return self.scope(parameter)
        used = [self.scope(graph[user]) for user in graph.users.get(parameter.id, ()) if graph[user].role == "op"]
        shortest = min(used, key=len, default=())
        return shortest[: next((depth for depth in range(len(shortest)) if len({path[depth] for path in used}) > 1), len(shortest))]

    def at(self, scope: Path) -> _Call:
        """The call for a scope, created with its enclosing calls if needed."""
        depth = len(scope)
        while scope[:depth] not in self.number:
            depth -= 1
        for inner in range(depth + 1, len(scope) + 1):
            around = self.number[scope[: inner - 1]]
            self.number[scope[:inner]] = len(self.calls)
            self.calls.append(_Call.of(self._layer(scope[inner - 1], around, inner)))
        return self.calls[self.number[scope]]

    def _layer(self, title: str, around: int, depth: int) -> Layer:
        """ "mlp@1: MLP" inside "layers.3" is the second call of "layers.3.mlp"."""
        label, colon, cls = title.rpartition(": ")
        label, cls = (label, cls) if colon else (title, "")
        name, at, repeat = label.rpartition("@")
        name = name if at else label
        outer = self.calls[around].layer.path
        inside = f"{outer}.{name}" if outer else name
        path = inside if inside in self.classes or name not in self.classes else name
        return Layer(path, cls, depth, around, repeat=(whole_number(repeat) or 0) if at else 0)

    def operation(self, graph: Graph, node: Node) -> None:
        scope = self.scope(node)
        call = self.at(scope)
        shapes: list[tuple[int | str, ...]] = []
        for name, index in node.inputs:
            source = graph[name]
            shapes += [kind.shape for _, kind in _values(source, index)]
            if _is_parameter(source):
                if self._owner(graph, source) != scope:
                    call.shared[name] = _elements(source)
            elif source.role not in ("buffer", "constant", "gradient") and source.op != _ACCUMULATE:
                self._cross(source, index, scope)
                if node.op == "output":
                    self.calls[0].outputs.update(_values(source, index))
        if node.role == "op":
            self._count(call, graph, node, shapes)

    def _count(self, call: _Call, graph: Graph, node: Node, shapes: list[tuple[int | str, ...]]) -> None:
        count = None
        if node.calls:
            count = self._count_called(graph, node)
        elif self.computes:
            count = multiply_adds(graph, node)
        if count is None and self.computes:
            self.uncounted[node.op] += 1
        layer = call.layer
        layer.flops = None if count is None or layer.flops is None else layer.flops + 2 * count
        kernel = kernel_of(node.op, shapes, node.attrs)
        if kernel:
            call.kernels.add(kernel)

    @cached_property
    def _products(self) -> dict[str, int | None]:
        """The multiply-adds of each graph that is called, with those that it calls."""
        counts: dict[str, int | None] = {}
        for graph in self.program.callees_first():
            if graph.name == self.program.entry:
                continue
            total: int | None = 0
            for node in graph:
                count = 0 if node.role != "op" else self._times(graph, node, counts) if node.calls else multiply_adds(graph, node)
                total = None if total is None or count is None else total + count
            counts[graph.name] = total
        return counts

    def _count_called(self, graph: Graph, node: Node) -> int | None:
        return self._times(graph, node, self._products)

    def _times(self, graph: Graph, node: Node, counts: Mapping[str, int | None]) -> int | None:
        """The multiply-adds of the graphs that a node calls, as often as it runs them: a loop of unknown length makes them unknown, and so
        do branches and operations that run a graph in a way of their own, unless it has no products."""
        called = [counts.get(name) for name in node.calls]
        known = [count for count in called if count is not None]
        control = facts_of(node.op).control
        if len(known) < len(called):
            return None
        if control in LOOPS and any(known):
            trips = trip_count(self.program, graph, node)
            return None if trips is None else trips * sum(known)
        runs_once = control in ("call", "fusion") or plain_name(node.op) == "shard_map" or node.op.startswith("wrap")
        return sum(known) if runs_once or not any(known) else None

    def result(self, source: Node, index: int) -> None:
        """A value that the program returns leaves every group around its source."""
        self.calls[0].outputs.update(_values(source, index))
        if source.role == "op":
            self._cross(source, index, ())

    def _cross(self, source: Node, index: int, into: Path) -> None:
        """Record a value as an output of the groups around its source and an input of those around its user, except common groups."""
        out_of = self.scope(source)
        common = 0
        while common < min(len(out_of), len(into)) and out_of[common] == into[common]:
            common += 1
        for depth in range(common + 1, len(into) + 1):
            self.at(into[:depth]).inputs.update(_values(source, index))
        for depth in range(common + 1, len(out_of) + 1):
            self.at(out_of[:depth]).outputs.update(_values(source, index))

    def parameter(self, graph: Graph, node: Node) -> None:
        if node.role == "input":
            self.calls[0].inputs.update(_values(node, WHOLE))
        if not _is_parameter(node):
            return
        layer = self.at(self._owner(graph, node)).layer
        elements = _elements(node)
        layer.own_parameters += elements
        layer.own_trainable += elements if node.attrs.get("trainable", True) else 0

    def measured(self, program: Program) -> Measured:
        for call in reversed(self.calls):
            layer = call.layer
            layer.inputs = [("", kind) for kind in call.inputs.values()] if self.computes else []
            layer.outputs = [("", kind) for kind in call.outputs.values()]
            layer.shared_parameters = sum(call.shared.values())
            layer.kernel = next(iter(call.kernels)) if len(call.kernels) == 1 else ()
            if layer.parent >= 0:
                caller = self.calls[layer.parent].layer
                caller.flops = None if layer.flops is None or caller.flops is None else caller.flops + layer.flops
        layers = [call.layer for call in self.calls]
        return Measured(
            program.name, layers, True,
            parameters=sum(layer.own_parameters for layer in layers),
            trainable=sum(layer.own_trainable for layer in layers),
            parameter_bytes=_bytes(filter(_is_parameter, program.main)),
            buffer_bytes=_bytes(node for node in program.main if node.role == "buffer"),
            input_bytes=_bytes(node for node in program.main if node.role == "input") if self.computes else None,
            saved_bytes=None,
            flops=layers[0].flops,
            note="; ".join([*self._missing(), *map(str, program.attrs.get("notes", ()))]),
        )  # fmt: skip

    def _missing(self) -> list[str]:
        """What the table does not count."""
        count = self.uncounted.total()
        ops = ", ".join(list(self.uncounted)[:_MOST_NAMED]) + (", …" if len(self.uncounted) > _MOST_NAMED else "")
        return (
            [f"multiply-adds are unknown: the graph does not determine those of {count:,} operation{'s' * (count != 1)} ({ops})"]
            if count
            else []
        )


def _values(source: Node, index: int) -> Iterator[tuple[ValueRef, TensorType]]:
    """The tensors behind a value reference."""
    for position, kind in enumerate(source.outputs):
        if index in (WHOLE, position) and not kind.dtype.startswith("("):
            yield (source.id, position), kind


def _elements(node: Node) -> int:
    return sum(kind.elements or 0 for kind in node.outputs)


def _is_parameter(node: Node) -> bool:
    """Whether a node is a model parameter. In an autograd graph, only leaves with a name are."""
    return node.role == "parameter" and node.op != "leaf"


def _bytes(nodes: Iterable[Node]) -> int:
    return sum(kind.bytes or 0 for node in nodes for kind in node.outputs)
