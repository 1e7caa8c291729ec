"""The layers of a captured torch program, as far as its graph shows them: the rows of a measured run, without running anything.

A group is a call of a module. Its inputs and outputs are the values that cross its boundary, its parameters are nodes, and multiply-adds
follow from shapes. A forward graph does not show what autograd would save, so that stays open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from opscope.analysis.mult_adds import kernel_of, mult_adds
from opscope.program import DIRECTION_ATTR, WHOLE, Graph, Node, Path, Program, TensorType, ValueRef, whole_number
from opscope.readers.torch.measure import Layer, Measured

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
        if node.role in ("op", "output") and node.attrs.get(DIRECTION_ATTR) != "backward":
            layers.operation(graph, node)
    for node in graph.parameters:
        layers.parameter(node)
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
        self.classes = program.attrs["modules"]
        self.computes = program.main.attrs.get("kind") != "autograd"
        """Whether nodes have all their operands. Autograd functions do not: only their outputs are known."""
        self.calls = [_Call.of(Layer("", program.name, 0, -1))]
        self.number: dict[Path, int] = {(): 0}

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
        label, _, cls = title.rpartition(": ")
        name, at, repeat = label.rpartition("@")
        name = name if at else label
        outer = self.calls[around].layer.path
        inside = f"{outer}.{name}" if outer else name
        path = inside if inside in self.classes or name not in self.classes else name
        return Layer(path, cls, depth, around, repeat=(whole_number(repeat) or 0) if at else 0)

    def operation(self, graph: Graph, node: Node) -> None:
        call = self.at(node.scope)
        shapes: list[tuple[int | str, ...]] = []
        for name, index in node.inputs:
            source = graph[name]
            shapes += [kind.shape for _, kind in _values(source, index)]
            if _is_parameter(source):
                if source.scope != node.scope:
                    call.shared[name] = _elements(source)
            elif source.role not in ("buffer", "constant", "gradient") and source.op != _ACCUMULATE:
                self._cross(source, index, node.scope)
                if node.op == "output":
                    self.calls[0].outputs.update(_values(source, index))
        if node.role == "op":
            self._count(call, node, shapes)

    def _count(self, call: _Call, node: Node, shapes: list[tuple[int | str, ...]]) -> None:
        count = None
        if node.calls:
            count = self._count_called(node)
        elif self.computes:
            count = mult_adds(node.op, shapes, [kind.shape for kind in node.outputs], node.attrs)
        layer = call.layer
        layer.flops = None if count is None or layer.flops is None else layer.flops + 2 * count
        kernel = kernel_of(node.op, shapes, node.attrs)
        if kernel:
            call.kernels.add(kernel)

    def _count_called(self, node: Node) -> int | None:
        """The multiply-adds of called graphs, for those that run once. How often others run, or which branch, is unknown; without
        products it does not matter."""
        total = 0
        for name in node.calls:
            for inner in self.program[name]:
                operands = [kind.shape for source, index in inner.inputs for _, kind in _values(self.program[name][source], index)]
                count = mult_adds(inner.op, operands, [kind.shape for kind in inner.outputs], inner.attrs) if inner.role == "op" else 0
                if count is None or inner.calls or (count and not node.op.startswith("wrap")):
                    return None
                total += count
        return total

    def _cross(self, source: Node, index: int, into: Path) -> None:
        """Record a value as an output of the groups around its source and an input of those around its user, except common groups."""
        out_of = source.scope
        common = 0
        while common < min(len(out_of), len(into)) and out_of[common] == into[common]:
            common += 1
        for depth in range(common + 1, len(into) + 1):
            self.at(into[:depth]).inputs.update(_values(source, index))
        for depth in range(common + 1, len(out_of) + 1):
            self.at(out_of[:depth]).outputs.update(_values(source, index))

    def parameter(self, node: Node) -> None:
        if node.role == "input":
            self.calls[0].inputs.update(_values(node, WHOLE))
        if not _is_parameter(node):
            return
        layer = self.at(node.scope).layer
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
        )  # fmt: skip


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
