"""What the values of a loop are: constants, what is carried from one iteration to the next, and stacks that are read or written by slices.

JAX says so for a scan. A while of HLO or StableHLO only has slots; what each of them is follows from its body: a slot that the body passes
on unchanged is a constant, or a stacked input if only slices of it are read; one that the body updates by a slice is a stacked output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from opscope.analysis.moved import SLICES, UPDATES, by_number, values
from opscope.ops import LOOPS, facts_of, plain_name
from opscope.ops.loops import constants_of, origin_of, trip_count
from opscope.program import WHOLE, Graph, Node, Program, TensorType, ValueRef, whole_number

Slot = Literal["constant", "carried value", "stacked input", "stacked output"]

_PASSES_ON = frozenset(["get_tuple_element", "copy", "tuple", "return", "output"])


class Loop(NamedTuple):
    """A loop: where it is, how often it runs, and of each kind of value how many it has, with their types."""

    graph: str
    node: str
    trips: int | None
    types: dict[Slot, list[TensorType]]

    def bytes(self, slot: Slot) -> int:
        return sum(kind.bytes or 0 for kind in self.types.get(slot, ()))


def loops_of(program: Program) -> list[Loop]:
    """All loops of a program, callers first."""
    loops = []
    for graph in reversed(program.callees_first()):
        for node in graph.calling:
            if facts_of(node.op).control in LOOPS:
                loops.append(Loop(graph.name, node.id, trip_count(program, graph, node), _slots(program, graph, node)))
    return loops


def _slots(program: Program, graph: Graph, node: Node) -> dict[Slot, list[TensorType]]:
    constants, carried = whole_number(node.attrs.get("num_consts")), whole_number(node.attrs.get("num_carry"))
    types: dict[Slot, list[TensorType]] = {}
    if constants is not None and carried is not None:
        operands = [kind for ref in node.inputs for kind in values(graph, ref)]
        types["constant"] = operands[:constants]
        types["carried value"] = operands[constants : constants + carried]
        types["stacked input"] = operands[constants + carried :]
        types["stacked output"] = list(node.outputs[carried:])
        return types
    body = body_of(program, node)
    if body is None:
        return types
    first = constants_of(node, "cond_nconsts") + constants_of(node, "body_nconsts")
    types["constant"] = [kind for ref in node.inputs[:first] for kind in values(graph, ref)]
    for slot, kind in zip(slots_of_body(program, body, constants_of(node, "body_nconsts")), node.outputs, strict=False):
        types.setdefault(slot, []).append(kind)
    return types


def body_of(program: Program, node: Node) -> Graph | None:
    """The graph whose results are the values of the next iteration."""
    for name in node.calls:
        graph = program.graphs.get(name)
        if graph is not None and len(results_of(graph)) == len(node.outputs):
            return graph
    return None


def results_of(graph: Graph) -> Sequence[ValueRef]:
    """The values that a graph returns. A computation of HLO returns several as one tuple."""
    outputs = graph.outputs
    if len(outputs) == 1 and plain_name(graph[outputs[0][0]].op) == "tuple":
        return graph[outputs[0][0]].inputs
    return outputs


def slots_of_body(program: Program, body: Graph, constants: int) -> list[Slot]:
    """What each value is that the body of a while returns for the next iteration; `constants` come before them."""
    parameters = {parameter.id: number for number, parameter in enumerate(body.parameters[constants:])}
    is_tuple = len(parameters) == 1 and len(results_of(body)) > 1
    readers: dict[int, list[tuple[Node, int]]] = {}
    for node in body:
        if plain_name(node.op) in _PASSES_ON:
            continue
        for operand, ref in enumerate(node.inputs):
            slot = _slot(body, ref, parameters, is_tuple)
            if slot is not None:
                readers.setdefault(slot, []).append((node, operand))
    slots: list[Slot] = []
    for number, ref in enumerate(results_of(body)):
        origin, _ = origin_of(body, ref)
        if _slot(body, ref, parameters, is_tuple) == number:
            read = readers.get(number, [])
            slots.append("stacked input" if read and all(_reads_slice(program, *each) for each in read) else "constant")
        elif _updates_slice(program, origin) and origin.inputs and _slot(body, origin.inputs[0], parameters, is_tuple) == number:
            slots.append("stacked output")
        else:
            slots.append("carried value")
    return slots


def _called(program: Program, node: Node) -> Graph | None:
    return program.graphs.get(node.calls[0]) if len(node.calls) == 1 else None


def _reads_slice(program: Program, node: Node, operand: int) -> bool:
    """Whether an operation, or the graph that it calls or fuses, reads only a slice of an operand."""
    called = _called(program, node)
    if called is None:
        return operand == 0 and plain_name(node.op) in SLICES
    parameters = by_number(called.parameters)
    if operand >= len(parameters):
        return False
    users = [called[user] for user in called.users.get(parameters[operand].id, ())]
    return bool(users) and all(plain_name(user.op) in SLICES and user.inputs[0][0] == parameters[operand].id for user in users)


def _updates_slice(program: Program, node: Node) -> bool:
    """Whether an operation, or the graph that it calls or fuses, returns an operand with a slice updated."""
    called = _called(program, node)
    if called is None:
        return plain_name(node.op) in UPDATES
    return any(plain_name(origin_of(called, ref)[0].op) in UPDATES for ref in results_of(called))


def _slot(body: Graph, ref: ValueRef, parameters: Mapping[str, int], is_tuple: bool) -> int | None:
    """Which slot of the loop a value is, if it is one as it comes in."""
    node, index = origin_of(body, ref)
    if node.id not in parameters or index == WHOLE:
        return None
    return index if is_tuple else parameters[node.id]
