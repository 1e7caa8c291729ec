"""Bytes that an operation reads and writes. One that touches a part of a big operand moves that part, not all of it.

The same holds inside a fusion, as in XLA's own analysis: a loop that reads a row of a table, or writes one, is charged the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from opscope.ops import plain_name
from opscope.program import WHOLE, Graph, Node, TensorType, ValueRef

_SLICES = frozenset(["slice", "dynamic_slice", "gather"])
_UPDATES = frozenset(["dynamic_update_slice", "scatter"])
"""Operations that change a part of their first operand, in place where they can."""


class Fused(NamedTuple):
    """What a fusion's body moves where that is less than all: by operand what it reads of it, by result what it writes."""

    read: dict[int, int]
    written: dict[int, int]


Sizes = Mapping[str, tuple[int | None, ...]]
"""By node id, the bytes of each of its outputs."""


def output_sizes(graph: Graph) -> Sizes:
    """Bytes of all values of a graph, looked up once for each node and not once for each use."""
    return {node.id: _sizes(node.outputs) for node in graph.nodes}


def bytes_moved(sizes: Sizes, node: Node, name: str, fused: Fused | None = None) -> int | None:
    """What a node reads and writes, or None where a size is not a number. `sizes` are those of its graph."""
    inputs: list[int | None] = []
    for source, index in node.inputs:
        available = sizes[source]
        inputs.append(_sum(available) if index == WHOLE else available[index] if index < len(available) else 0)
    outputs = list(sizes[node.id])
    if fused is not None:
        inputs = [fused.read.get(i, size) for i, size in enumerate(inputs)]
        outputs = [fused.written.get(i, size) for i, size in enumerate(outputs)]
    elif name in _SLICES:
        inputs[:1] = outputs
    elif name == "dynamic_update_slice" and len(inputs) > 1:
        outputs, inputs = inputs[1:2], inputs[1:]
    elif name == "scatter" and len(inputs) > 2:
        outputs = inputs[:1] = inputs[-1:]
    return _sum([*outputs, *inputs])


def fused_bytes(body: Graph) -> Fused:
    """Looks at how a fusion's body uses its parameters; bitcasts are the same bytes under another type."""
    roots = _roots(body)
    same: dict[str, str] = {each.id: each.id for each in body.parameters}
    parts: dict[str, int | None] = {}
    written: dict[int, int] = {}
    for node in body.nodes:
        name = plain_name(node.op)
        for position, (operand, _) in enumerate(node.inputs):
            parameter = same.get(operand)
            if parameter is None:
                continue
            if name == "bitcast":
                same[node.id] = parameter
                continue
            part: int | None = None
            if position == 0 and name in _SLICES:
                part = bytes_of(node.outputs)
            elif position == 0 and name in _UPDATES and node.id in roots and _only_returned(body, node):
                part = bytes_of(values(body, node.inputs[-1 if name == "scatter" else 1]))
                if part is not None:
                    written[roots[node.id]] = part
            parts[parameter] = _sum([parts.get(parameter, 0), part])
    read: dict[int, int] = {}
    if any(parts.values()):
        for index, each in enumerate(sorted(body.parameters, key=_number)):
            part, whole = parts.get(each.id), bytes_of(each.outputs)
            if part is not None and whole is not None:
                read[index] = min(part, whole)
    return Fused(read, written)


def _roots(body: Graph) -> dict[str, int]:
    """Which result each node is that is one, as it is or through bitcasts."""
    outputs = body.outputs
    if len(outputs) == 1 and plain_name(body[outputs[0][0]].op) == "tuple":
        outputs = body[outputs[0][0]].inputs
    found = {name: index for index, (name, _) in enumerate(outputs)}
    for node in reversed(body.nodes):
        if node.id in found and node.inputs and plain_name(node.op) == "bitcast":
            found[node.inputs[0][0]] = found[node.id]
    return found


def _only_returned(body: Graph, node: Node) -> bool:
    return all(plain_name(body[user].op) in ("tuple", "bitcast") for user in body.users.get(node.id, ()))


def _number(parameter: Node) -> int:
    """HLO may write parameters in any order; operands are bound by number."""
    return int(parameter.attrs.get("parameter_number", 0))


def bytes_of(types: Iterable[TensorType]) -> int | None:
    return _sum([size_of(each)[1] for each in types])


@lru_cache(maxsize=65536)
def _sizes(types: tuple[TensorType, ...]) -> tuple[int | None, ...]:
    return tuple([size_of(each)[1] for each in types])


@lru_cache(maxsize=65536)
def size_of(each: TensorType) -> tuple[int | None, int | None]:
    """Elements and bytes. Programs have few different types; a nested tuple is moved by those who look inside."""
    return each.elements, 0 if each.dtype.startswith("(") else each.bytes


def values(graph: Graph, ref: ValueRef) -> list[TensorType]:
    """The types of what an operand refers to."""
    name, index = ref
    outputs = graph[name].outputs
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
