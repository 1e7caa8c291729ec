"""What the iterations of a loop save for backward: each writes its part of a stack, which the backward loop reads."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import NamedTuple

from opscope.memory.aliases import updated_in_place
from opscope.ops import facts_of, plain_name
from opscope.ops.facts import LOOPS
from opscope.program import WHOLE, Frame, Graph, Node, NodeKey, Program, TensorType

_MOVES = frozenset(["copy", "transpose", "reshape", "bitcast", "convert", "broadcast", "broadcast_in_dim", "get_tuple_element"])
_TAKES_A_PART = frozenset(["slice", "dynamic_slice"])


class Stack(NamedTuple):
    value: tuple[str, str]
    """The graph and the name of the stack, as the loop returns it."""
    loop: NodeKey
    part: NodeKey
    """What computes the part of an iteration."""
    parts: int
    update: NodeKey
    """What writes the part: it may compute it in the same step."""


def written_in(program: Program, stack: Stack) -> Node:
    """What computes the part of an iteration last, inside of fusions too: it may be in the step that writes it."""
    _, written = _written(program, stack)
    if written is not None and not written.is_argument:
        return written
    part = program[stack.part[0]][stack.part[1]]
    if facts_of(part.op).control != "fusion" or len(part.outputs) != 1:
        return part
    bodies = [program[name] for name in part.calls]
    roots = [_unmoved(body, body[body.outputs[0][0]]) for body in bodies if body.outputs]
    return next((root for root in roots if not root.is_argument), part)


def line_in(program: Program, stack: Stack) -> Sequence[Frame]:
    """The lines of what computes the part of an iteration. What a compiler added in a fusion has none of its own."""
    part = program[stack.part[0]][stack.part[1]]
    inner = (node for name in part.calls for node in reversed(program[name].nodes))
    return next((node.source for node in (written_in(program, stack), part, *inner) if node.source), ())


def computed_in_update(program: Program, stack: Stack) -> Node | None:
    """What the step that writes a part computes; None if it writes another node's value as it is, or a slice of it."""
    inside, written = _written(program, stack)
    return None if inside is None or written is None or _unmoved(inside, written, _MOVES | _TAKES_A_PART).is_argument else written


def _written(program: Program, stack: Stack) -> tuple[Graph | None, Node | None]:
    """What the fusion that updates a stack writes, and the graph that it is in: a node, or an argument of the fusion."""
    update = program[stack.update[0]][stack.update[1]]
    for inside in (program[name] for name in update.calls if facts_of(update.op).control == "fusion"):
        for node in inside:
            if plain_name(node.op) == "dynamic_update_slice" and len(node.inputs) > 1:
                return inside, _unmoved(inside, inside[node.inputs[1][0]])
    return None, None


def stacks(program: Program, nodes: Mapping[NodeKey, Node]) -> Iterator[Stack]:
    """The stacks that the loops among these nodes fill."""
    for (graph, _), loop in nodes.items():
        if facts_of(loop.op).control not in LOOPS:
            continue
        for name in loop.calls:
            body = program[name]
            if len(body.outputs) == 1 and plain_name(body[body.outputs[0][0]].op) == "tuple":
                yield from _filled(program, graph, loop, body)


def _filled(program: Program, graph: str, loop: Node, body: Graph) -> Iterator[Stack]:
    returned = body[body.outputs[0][0]].inputs
    if len(returned) != len(loop.outputs):
        return
    for output, (name, _) in enumerate(returned):
        type_ = loop.outputs[output]
        part = _part(program, body, body[name])
        if part is not None and not part.is_argument and type_.shape and isinstance(type_.shape[0], int) and type_.shape[0] > 1:
            yield Stack((graph, f"{loop.id}{{{output}}}"), (graph, loop.id), (body.name, part.id), type_.shape[0], (body.name, name))


def _part(program: Program, body: Graph, update: Node) -> Node | None:
    """What an update of a stack writes, past what only moves it; None for another node. An update that computes what it writes has several
    operands, of which the largest is meant."""
    if plain_name(update.op).endswith("_done") and update.inputs:  # it runs beside others
        update = body[update.inputs[0][0]]
    if not _updates(program, update):
        return None
    arrays = [(type_.elements or 0, name) for name, index in update.inputs[1:] if (type_ := _type(body[name], index)) and type_.shape]
    if not arrays:
        return None
    return _unmoved(body, body[max(arrays, key=lambda each: each[0])[1]])


def _unmoved(graph: Graph, node: Node, moves: Container[str] = _MOVES) -> Node:
    """What a node moves, past all that only moves it. A damaged file may have a cycle of moves."""
    for _ in range(len(graph)):
        if plain_name(node.op) not in moves or not node.inputs:
            break
        node = graph[node.inputs[0][0]]
    return node


def _updates(program: Program, node: Node) -> bool:
    """Whether a node writes a part of its first operand, itself or in the graphs that it calls."""
    name = plain_name(node.op)
    if facts_of(node.op).control == "fusion":
        return any((0, 0) in updated_in_place(program[each]) for each in node.calls)
    if name == "async_start":
        last = [program[each].nodes[-1] for each in node.calls if program[each].nodes]
        return any(_updates(program, each) for each in last if plain_name(each.op) != "async_start")
    return name == "dynamic_update_slice"


def _type(node: Node, index: int) -> TensorType | None:
    """The type of what an input refers to: of an element of an argument that is a tuple, too."""
    number = 0 if index == WHOLE else index
    return node.outputs[number] if number < len(node.outputs) else None
