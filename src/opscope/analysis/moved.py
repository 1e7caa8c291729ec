"""Bytes that an operation reads and writes. An operation that touches part of a large operand moves only that part.

The same holds inside a fusion, as in XLA's own analysis: a loop that reads or writes one row of a table is charged for the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from opscope.ops import plain_name
from opscope.program import OPERAND_SHAPES_ATTR, WHOLE, Graph, Node, TensorType, ValueRef, whole_number

SLICES = frozenset(["slice", "dynamic_slice", "gather"])
UPDATES = frozenset(["dynamic_update_slice", "scatter"])
"""Operations that change a part of their first operand, in place if possible."""
_PARTIAL = SLICES | UPDATES


_GENERATED = ("extern_kernels.", "Tensor.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.")
"""How operators are called in code that Inductor generates, where operands are views. Attributes of others are not looked at: of HLO, they
are parsed when they are asked for."""


class Fused(NamedTuple):
    """Bytes that a fusion's body moves, where that is less than the whole value: read, by operand, and written, by result."""

    read: dict[int, int]
    written: dict[int, int]


Sizes = Mapping[str, tuple[int | None, ...]]
"""By node id, the bytes of each of its outputs."""


def output_sizes(graph: Graph) -> Sizes:
    """Bytes of all values of a graph, looked up once per node instead of once per use."""
    types = graph.types
    sizes = {id(each): _sizes(each) for each in {id(each): each for each in types}.values()}
    return dict(zip(graph.ids, map(sizes.__getitem__, map(id, types)), strict=True))


def bytes_moved(sizes: Sizes, node: Node, name: str, fused: Fused | None = None) -> int | None:
    """Bytes that a node reads and writes, or None if a size is not a number. `sizes` are those of its graph."""
    inputs: list[int | None] = []
    for source, index in node.inputs:
        available = sizes[source]
        inputs.append(_sum(available) if index == WHOLE else available[index] if index < len(available) else 0)
    if fused is None and name not in _PARTIAL:
        inputs += sizes[node.id]
        return None if None in inputs else sum(inputs)  # type: ignore[arg-type]
    outputs = list(sizes[node.id])
    if fused is not None:
        inputs = [fused.read.get(i, size) for i, size in enumerate(inputs)]
        outputs = [fused.written.get(i, size) for i, size in enumerate(outputs)]
    elif name in SLICES:
        inputs[:1] = outputs
    elif name == "dynamic_update_slice" and len(inputs) > 1:
        outputs, inputs = inputs[1:2], inputs[1:]
    elif name == "scatter" and len(inputs) > 2:
        outputs = inputs[:1] = inputs[-1:]
    return _sum([*outputs, *inputs])


def operand_views(node: Node) -> list[tuple[int | str, ...]] | None:
    """The shapes of a node's operands, if they are views of its inputs; none of them if they are unknown."""
    views = node.attrs.get(OPERAND_SHAPES_ATTR)
    if not isinstance(views, list | tuple) or not all(isinstance(shape, list | tuple) for shape in views):
        return None
    if not all(isinstance(size, int | str) for shape in views for size in shape):  # a file can have anything in its place
        return None
    return [tuple(shape) for shape in views]


def is_generated(op: str) -> bool:
    """Whether it is an operator in code that Inductor generates, whose operands may be views."""
    return op.startswith(_GENERATED)


def viewed_bytes(graph: Graph, node: Node) -> Fused | None:
    """What an operation reads whose operands are views of its inputs: a view may be a part of a buffer."""
    views = operand_views(node) if is_generated(node.op) else None
    if not views or len(views) != len(node.inputs):
        return None
    read = {}
    for i, (ref, shape) in enumerate(zip(node.inputs, views, strict=True)):
        types = values(graph, ref)
        part, whole = bytes_of([TensorType(kind.dtype, shape) for kind in types]), bytes_of(types)
        if len(types) == 1 and part is not None and whole is not None and part < whole:
            read[i] = part
    return Fused(read, {}) if read else None


def fused_bytes(body: Graph) -> Fused:
    """How a fusion's body uses its parameters. A bitcast is the same bytes under another type."""
    roots = _roots(body)
    same: dict[str, str] = {parameter.id: parameter.id for parameter in body.parameters}
    parts: dict[str, int | None] = {}
    written: dict[int, int] = {}
    for node in body.nodes:
        for position, (operand, _) in enumerate(node.inputs):
            parameter = same.get(operand)
            if parameter is None:
                continue
            name = plain_name(node.op)
            if name == "bitcast":
                same[node.id] = parameter
                continue
            part: int | None = None
            if position == 0 and name in SLICES:
                part = bytes_of(node.outputs)
            elif position == 0 and name in UPDATES and node.id in roots and _only_returned(body, node):
                part = bytes_of(values(body, node.inputs[-1 if name == "scatter" else 1]))
                if part is not None:
                    written[roots[node.id]] = part
            before = parts.get(parameter, 0)
            parts[parameter] = None if before is None or part is None else before + part
    read: dict[int, int] = {}
    if any(parts.values()):
        for index, operand_node in enumerate(by_number(body.parameters)):
            part, whole = parts.get(operand_node.id), bytes_of(operand_node.outputs)
            if part is not None and whole is not None:
                read[index] = min(part, whole)
    return Fused(read, written)


def _roots(body: Graph) -> dict[str, int]:
    """Result indices of the nodes that are results, directly or through bitcasts."""
    outputs = body.outputs
    if len(outputs) == 1 and plain_name(body[outputs[0][0]].op) == "tuple":
        outputs = body[outputs[0][0]].inputs
    indices = {name: index for index, (name, _) in enumerate(outputs)}
    for node in reversed(body.nodes):
        if node.id in indices and node.inputs and plain_name(node.op) == "bitcast":
            indices[node.inputs[0][0]] = indices[node.id]
    return indices


def _only_returned(body: Graph, node: Node) -> bool:
    return all(plain_name(body[user].op) in ("tuple", "bitcast") for user in body.users.get(node.id, ()))


def by_number(parameters: Iterable[Node]) -> list[Node]:
    return sorted(parameters, key=parameter_number)


def parameter_number(parameter: Node) -> int:
    """A parameter's number: HLO may list parameters in any order, and operands are bound by number."""
    return whole_number(parameter.attrs.get("parameter_number")) or 0


def bytes_of(types: Iterable[TensorType]) -> int | None:
    return _sum([size_of(kind)[1] for kind in types])


@lru_cache(maxsize=65536)
def _sizes(types: tuple[TensorType, ...]) -> tuple[int | None, ...]:
    return tuple([size_of(kind)[1] for kind in types])


@lru_cache(maxsize=65536)
def size_of(kind: TensorType) -> tuple[int | None, int | None]:
    """Elements and bytes. Cached, because programs have few different types.

    A nested tuple is counted where its elements are used, and a gradient that nobody wants, torch's None, is nothing.
    """
    return (0, 0) if kind.dtype.startswith("(") else (kind.elements, kind.bytes)


def values(graph: Graph, ref: ValueRef) -> list[TensorType]:
    """The types that an operand refers to."""
    name, index = ref
    outputs = graph.types_of(name)
    if index == WHOLE:
        return list(outputs)
    return [outputs[index]] if index < len(outputs) else []


def _sum(sizes: Iterable[int | None]) -> int | None:
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total
