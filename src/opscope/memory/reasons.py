"""Why a buffer is alive, in words, and what it is for: from the program that it is a value of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from opscope.analysis.directions import directions
from opscope.analysis.enrich import is_enriched
from opscope.analysis.gradients import with_backward_links
from opscope.analysis.halves import with_halves
from opscope.analysis.library_calls import has_product, is_product
from opscope.memory.generated import copied_argument, launch_name, module_of_argument, saved_for
from opscope.memory.model import Buffer, Kind
from opscope.memory.order import is_half, running_order
from opscope.memory.stacks import Stack, line_in, stacks, written_in
from opscope.ops import facts_of, plain_name
from opscope.ops.facts import LOOPS
from opscope.program import (
    BACKWARD,
    BACKWARD_OF,
    FORWARD,
    RECOMPUTED,
    UPDATE,
    WHOLE,
    Frame,
    Graph,
    Node,
    NodeKey,
    Program,
    TensorType,
    ValueRef,
)
from opscope.recording.dumps.inductor_code import GENERATED_BY

_BYTES = frozenset(["s8", "u8"])
_TRUTH = frozenset(["pred", "bool", "i1"])
INSTALLED = "/site-packages/"
"""In the path of files that are not the user's own."""
_REARRANGING = frozenset(["copy", "transpose", "reshape", "bitcast", "convert", "t"])
_MOST_NAMED = 2
"""A backward node can have more forward nodes; two of them say enough."""
_MOST_VIEWS = 64


_OPTIMIZER_STATE = re.compile(r"opt(im(izer)?)?_?state|exp_avg|momentum_buffer|\]\.(mu|nu|trace)\b", re.IGNORECASE)
"""In the name of an argument: what people call it, what optax calls its parts, and what torch.optim does."""


Place: TypeAlias = tuple[Graph, Node]


class Reasons:
    """What a program says about its buffers. Ids of instructions are unique in a compiled module of XLA, so a name is enough there; the
    halves of a step that torch.compile generated use the same names, so a node is named with its graph."""

    def __init__(self, program: Program) -> None:
        self.program = program if is_enriched(program) else with_backward_links(with_halves(program))
        self._is_generated = GENERATED_BY in program.attrs

    @cached_property
    def _places(self) -> Mapping[str, Place]:
        return {node.id: (graph, node) for graph in self.program for node in graph}

    def _place(self, node: str, graph: str) -> Place | None:
        if graph in self.program and node in self.program[graph]:
            return self.program[graph], self.program[graph][node]
        return self._places.get(node)

    @cached_property
    def direction(self) -> Mapping[NodeKey, str]:
        marks = directions(self.program, graphs=[graph.name for graph in running_order(self.program).graphs])
        marks |= {node.op: [node.op] * len(self.program[node.op]) for node in self.program.main if is_half(node)}
        return {
            (graph.name, node.id): mark
            for graph in map(self.program.__getitem__, marks)
            for node, mark in zip(graph, marks[graph.name], strict=True)
        }

    @cached_property
    def _loops(self) -> Mapping[str, str]:
        """By the name of a loop's body or condition, the loop."""
        return {name: node.id for graph in self.program for node in graph if facts_of(node.op).control in LOOPS for name in node.calls}

    @cached_property
    def _returned(self) -> Mapping[str, frozenset[str]]:
        """By the name of a graph, the nodes whose values it returns."""
        return {graph.name: frozenset(name for name, _ in graph.outputs) for graph in self.program}

    @cached_property
    def _stacks(self) -> Mapping[tuple[str, str], Stack]:
        """By graph and name, the results of loops that hold a part of each iteration."""
        loops = {(graph.name, node.id): node for graph in self.program for node in graph if facts_of(node.op).control in LOOPS}
        return {stack.value: stack for stack in stacks(self.program, loops)}

    def explained(self, buffer: Buffer, last_use: str, used_in: str = "") -> Buffer:
        """The buffer with its place in the program, what it is for, and why it is alive until `last_use` (the end, if empty), a node of
        the graph `used_in`."""
        place = self._place(buffer.node, buffer.graph)
        if place is None:
            return buffer._replace(why=buffer.why or _used_last(last_use))
        graph, node = place
        kind, why = self._kind_and_why(buffer, graph, node, self._reader(graph, self._place(last_use, used_in)))
        stack = self._stacks.get((graph.name, buffer.name)) if kind == "saved" else None
        frames = (line_in(self.program, stack) if stack else ()) or own_frames(self.program, node)  # a loop has one for all of its results
        part = written_in(self.program, stack).id if stack else ""
        if part and last_use:
            why = f"saved for backward: {last_use} needs {part} of each iteration of {node.id}"
        return buffer._replace(
            graph=graph.name,
            kind=kind,
            type=_type_of(node, buffer.output),
            why=why,
            scope=node.scope or (module_of_argument(node) if self._is_generated else ()),
            source=str(next((frame for frame in frames if INSTALLED not in frame.file), frames[0])) if frames else "",
            part=part,
        )

    def _reader(self, graph: Graph, user: Place | None) -> Place | None:
        """What reads a value last. At the step where a called graph starts, that is the node that runs it: the value is passed to the
        graph, or an earlier graph of the same node (a branch, a loop's condition) returned it."""
        if user is None or not user[1].is_argument or user[0].name == graph.name:
            return user
        callers = self.program.callers.get(user[0].name, ())
        return self._place(callers[0][1], callers[0][0]) if callers else user

    def _kind_and_why(self, buffer: Buffer, graph: Graph, node: Node, user: Place | None) -> tuple[Kind, str]:
        if node.is_argument and buffer.kind in ("parameter", "input") and graph is self.program.main:
            reason = self._optimizer_state(graph, node)
            return ("optimizer state", f"{buffer.why}; {reason}") if reason else (buffer.kind, buffer.why)
        if buffer.kind == "temporary" and buffer.why:  # in the memory of an argument that is not needed any more
            kind, why = self._kind_and_why(buffer._replace(why=""), graph, node, user)
            return kind, f"{why}; {buffer.why}"
        if buffer.why or buffer.kind not in ("temporary", "output"):
            return buffer.kind, buffer.why or buffer.kind
        if buffer.kind == "output":
            return buffer.kind, "output"
        type_ = _type_of(node, buffer.output)
        if type_ is None:
            return "temporary", "pointers to the elements of a tuple"
        if plain_name(node.op) == "custom_call" and type_.dtype in _BYTES and buffer.output.strip("{}0"):
            return "workspace", f"workspace of {node.id}"
        loop = self._loops.get(graph.name, "")
        if loop and type_.dtype in _TRUTH and not type_.shape and node.id in self._returned[graph.name]:
            return "temporary", f"says whether {loop} goes on"
        if user is None:
            return "temporary", _used_last("")
        if user[1] is node and facts_of(node.op).control not in LOOPS and not self._is_read(graph, node, _number(buffer.output)):
            return "temporary", "nothing reads it"
        kind, why = self._of_halves(graph, node, _number(buffer.output), *user)
        loop = self._carrying_loop(graph, node, *user) if kind == "temporary" else ""
        return (kind, f"carried by {loop}") if loop else (kind, why)

    def _is_read(self, graph: Graph, node: Node, output: int) -> bool:
        """Whether something reads one of a node's results, or the graph returns it."""
        read = (ref for user in graph.users.get(node.id, ()) for ref in graph[user].inputs)
        returned = graph.outputs if node.id in self._returned[graph.name] else ()
        return any(name == node.id and index in (output, WHOLE) for name, index in (*read, *returned))

    def _optimizer_state(self, graph: Graph, node: Node) -> str:
        """Why an argument is a state of the optimizer; empty if it is not, or nothing says so. Weights are also read by the model itself,
        and a number that only the update reads may be a setting."""
        readers = {self.direction.get((graph.name, user), "") for user in graph.users.get(node.id, ())}
        names = (node.id, *(str(node.attrs.get(key, "")) for key in ("path", "op_name")))
        if FORWARD not in readers and any(map(_OPTIMIZER_STATE.search, names)):
            return "optimizer state, by its name"
        is_array = any(type_.shape for type_ in node.outputs)
        return "optimizer state: only the update reads it" if readers == {UPDATE} and is_array else ""

    def _carrying_loop(self, graph: Graph, node: Node, user_graph: Graph, user: Node) -> str:
        """The loop that keeps a value: the value is an argument of its body, goes from one iteration to the next, or starts the loop."""
        if node.is_argument and graph.name in self._loops:
            return self._loops[graph.name]
        if facts_of(user.op).control in LOOPS:
            return user.id
        is_root = user.id in self._returned[user_graph.name]
        return self._loops.get(user_graph.name, "") if is_root and user_graph.name == graph.name else ""

    def _of_halves(self, graph: Graph, node: Node, output: int, user_graph: Graph, user: Node) -> tuple[Kind, str]:
        """What a value is for in a training step."""
        made_in = self.direction.get((graph.name, node.id), "")
        used_in = self.direction.get((user_graph.name, user.id), "")
        if made_in == FORWARD and used_in in (RECOMPUTED, BACKWARD):
            argument = self._copied(graph, node)
            if argument and self._is_generated:  # a checkpoint around its module makes the copy again
                return "saved", f"saved for backward: a copy of {argument}, which {self._named(user)} needs"
            if argument:
                return "temporary", f"a copy of {argument}: {self._named(user)} needs it"
            if all(graph[name].role == "constant" for name, _ in node.inputs) and not node.is_argument:
                return "temporary", f"filled with constants: {self._named(user)} needs it"
            if self._is_generated:
                return "saved", f"saved for backward: {saved_for(node, output, user)}"
            user = self._backward_reader(graph, node, user_graph, user)
            forward = self._differentiated(user, graph, node, output)
            reason = f"{user.id} needs it for the gradient of {' and '.join(forward)}" if forward else f"{user.id} needs it"
            return "saved", f"saved for backward: {reason}"
        if made_in == BACKWARD and used_in == UPDATE:
            return "gradient", f"gradient: the update in {user.id} needs it"
        return "temporary", self._read_last(graph, node, user_graph, user)

    def _read_last(self, graph: Graph, node: Node, user_graph: Graph, user: Node) -> str:
        """Who reads a value last. PyTorch frees what a derivative reads and makes when it returns: then the last node of the derivative
        need not be a reader."""
        if graph is user_graph and node.op.startswith("aten."):
            last = max(self._readers(graph, node, user), default=-1)
            if last < 0 or graph.nodes[last] is not user:
                return f"{_used_last(graph.nodes[last].id) if last >= 0 else 'not read'}; kept until its derivative returns"
        return _used_last(self._named(user))

    def _named(self, node: Node) -> str:
        return launch_name(node) if self._is_generated else node.id

    def _copied(self, graph: Graph, node: Node) -> str:
        """The argument of the program that a value is a copy of, in another layout or type; empty if it is computed."""
        if self._is_generated:
            return copied_argument(graph, node, self.program.main)
        while graph is self.program.main and not node.is_argument:
            inputs = {name for name, _ in node.inputs}
            if len(inputs) != 1 or not self._only_rearranges(node):
                return ""
            node = graph[inputs.pop()]
        return node.id if node.is_argument and graph is self.program.main else ""

    def _only_rearranges(self, node: Node) -> bool:
        if facts_of(node.op).control == "fusion":
            bodies = [self.program[name] for name in node.calls]
            return all(inner.is_argument or self._only_rearranges(inner) for body in bodies for inner in body)
        return _only_moves(node) or plain_name(node.op) in _REARRANGING

    def _backward_reader(self, graph: Graph, node: Node, user_graph: Graph, user: Node) -> Node:
        """The last node up to `user` that reads a value, or a view of it, in the backward half. PyTorch frees what is saved when the
        derivative returns, so the last node of the derivative need not be the one that reads it."""
        if graph is not user_graph:
            return user
        backward = (at for at in self._readers(graph, node, user) if self._is_backward(graph, at))
        last = max(backward, default=-1)
        return graph.nodes[last] if last >= 0 else user

    def _is_backward(self, graph: Graph, at: int) -> bool:
        return self.direction.get((graph.name, graph.nodes[at].id)) in (RECOMPUTED, BACKWARD)

    def _readers(self, graph: Graph, node: Node, user: Node) -> Iterator[int]:
        """The positions up to `user` of what reads a value, or a view of it, and is not a view itself."""
        end = graph.position[user.id]
        waiting, seen = [node.id], {node.id}
        for name in waiting:  # grows while it is walked
            for each in graph.users.get(name, ()):
                at = graph.position[each]
                if each in seen or at > end:
                    continue
                seen.add(each)
                if _passes_on(graph.nodes[at]) and len(waiting) < _MOST_VIEWS:
                    waiting.append(each)
                else:
                    yield at

    def _differentiated(self, reader: Node, graph: Graph, node: Node, output: int) -> list[str]:
        """The forward nodes that read a value and whose gradient a backward node computes from it; none if that cannot be decided. Layers
        without names share their evidence, so links alone may lead to another layer."""
        value = self._rearranged(graph, (node.id, output))
        names = [link.node for link in reader.links if link.kind == BACKWARD_OF]
        computing = [name for name in names if name in self._places and not _only_moves(self._places[name][1])]
        linked = [name for name in dict.fromkeys(map(self._running, computing or names)) if self._uses(graph, name, value)]
        if reader.op.startswith("aten."):  # autograd itself says what it differentiates
            return linked[:_MOST_NAMED]
        if multiplies(self.program, reader):
            linked = self._multiplied(reader, graph, node, value)
        elif facts_of(reader.op).control in ("", "fusion"):  # the gradient of a product is a product
            linked = [name for name in linked if not multiplies(self.program, graph[name])]
        return linked if len(linked) == 1 else []

    def _multiplied(self, reader: Node, graph: Graph, node: Node, value: set[ValueRef]) -> list[str]:
        """The forward products of a value with another one that is as large as the result of a backward product: its gradient is."""
        found: dict[str, set[ValueRef]] = {}
        readers = (graph.nodes[at] for at in self._readers(graph, node, reader))
        for product in readers:
            if self.direction.get((graph.name, product.id)) != FORWARD or not multiplies(self.program, product):
                continue
            others = [ref for ref in product.inputs if value.isdisjoint(self._rearranged(graph, ref))]
            sizes = {_elements(graph[name], index) for name, index in others or product.inputs}
            if sizes & {_elements(reader, at) for at in range(len(reader.outputs))} - {None}:
                found[product.id] = {each for ref in others for each in self._rearranged(graph, ref)}
        if len(found) < 2:
            return list(found)
        updated = self._updated_with(graph, reader)
        return [product for product, weights in found.items() if weights & updated]

    def _updated_with(self, graph: Graph, gradient: Node) -> set[ValueRef]:
        """The arguments that are read together with a gradient: the weight that it updates, which tells equal products of a value apart."""
        end = graph.nodes[-1]
        users = [graph.nodes[at] for at in self._readers(graph, gradient, end)]
        read = {each for user in users for ref in user.inputs for each in self._rearranged(graph, ref)}
        return {ref for ref in read if graph[ref[0]].is_argument}

    def _uses(self, graph: Graph, name: str, value: set[ValueRef]) -> bool:
        """Whether a node of the forward half reads one of these values. A loop, a branch or a call also returns what its gradient needs."""
        if name not in graph or self.direction.get((graph.name, name)) != FORWARD:
            return False
        if any(name == made for made, _ in value):
            return facts_of(graph[name].op).control not in ("", "fusion")
        return any(not value.isdisjoint(self._rearranged(graph, ref)) for ref in graph[name].inputs)

    def _rearranged(self, graph: Graph, ref: ValueRef) -> set[ValueRef]:
        """A value and what it is a view or a copy of, in another layout, shape or type."""
        found: set[ValueRef] = set()
        while True:
            node = graph[ref[0]]
            ref = ref if ref[1] != WHOLE or len(node.outputs) != 1 else (ref[0], 0)
            found.add(ref)
            inputs = set(node.inputs)
            if len(inputs) != 1 or len(found) >= _MOST_VIEWS or not (_passes_on(node) or self._only_rearranges(node)):
                return found
            ref = inputs.pop()

    def _running(self, node: str) -> str:
        """What runs a node: the fusion that it is in, or itself."""
        place = self._places.get(node)
        callers = self.program.callers.get(place[0].name, ()) if place else ()
        if callers and facts_of(self._places[callers[0][1]][1].op).control == "fusion":
            return callers[0][1]
        return node


def _type_of(node: Node, index: str) -> TensorType | None:
    """The type of one output of a node; None for a table of pointers and for what is inside a nested tuple."""
    numbers = index.strip("{}")
    if "," in numbers:
        return None
    number = _number(index)
    is_table = not numbers and len(node.outputs) != 1
    return None if is_table or number >= len(node.outputs) else node.outputs[number]


def _number(index: str) -> int:
    """The first number of `{1}`; 0 for none."""
    digits = index.strip("{}").split(",")[0]
    return int(digits) if digits else 0


def own_frames(program: Program, node: Node) -> Sequence[Frame]:
    """The lines that a node comes from; those of what is inside, for a fusion without any."""
    if node.source or facts_of(node.op).control != "fusion":
        return node.source
    return next((inner.source for name in node.calls for inner in reversed(program[name].nodes) if inner.source), ())


def multiplies(program: Program, node: Node) -> bool:
    """Whether a node is a product of matrices or a convolution, or has one in it."""
    if facts_of(node.op).control == "fusion":
        return any(has_product(program[name]) for name in node.calls)
    return is_product(node)


def _elements(node: Node, index: int) -> int | None:
    number = 0 if index == WHOLE else index
    return node.outputs[number].elements if number < len(node.outputs) else None


def _only_moves(node: Node) -> bool:
    facts = facts_of(node.op)
    return bool(facts.forwards) or facts.spreads or facts.free


def _passes_on(node: Node) -> bool:
    return facts_of(node.op).view or _only_moves(node)


def _used_last(last_use: str) -> str:
    return f"used last by {last_use}" if last_use else "alive to the end"
