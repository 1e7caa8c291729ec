"""Why a buffer is alive, in words, and what it is for: from the program that it is a value of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from opscope.analysis.directions import directions
from opscope.analysis.enrich import is_enriched
from opscope.analysis.gradients import with_backward_links
from opscope.analysis.halves import with_halves
from opscope.memory.model import Buffer, Kind
from opscope.ops import facts_of, plain_name
from opscope.ops.facts import LOOPS
from opscope.program import BACKWARD, BACKWARD_OF, FORWARD, UPDATE, Graph, Node, NodeKey, Program, TensorType

_BYTES = frozenset(["s8", "u8"])
_TRUTH = frozenset(["pred", "bool", "i1"])
_MOST_NAMED = 2
"""A backward node can have more forward nodes; two of them say enough."""


class Reasons:
    """What a program says about its buffers. Ids of instructions are unique in a compiled module, so a name is enough."""

    def __init__(self, program: Program) -> None:
        self.program = program if is_enriched(program) else with_backward_links(with_halves(program))

    @cached_property
    def _places(self) -> Mapping[str, tuple[Graph, Node]]:
        return {node.id: (graph, node) for graph in self.program for node in graph}

    @cached_property
    def _direction(self) -> Mapping[NodeKey, str]:
        marks = directions(self.program)
        return {(graph.name, node.id): mark for graph in self.program for node, mark in zip(graph, marks[graph.name], strict=True)}

    @cached_property
    def _loops(self) -> Mapping[str, str]:
        """By the name of a loop's body or condition, the loop."""
        return {name: node.id for graph in self.program for node in graph if facts_of(node.op).control in LOOPS for name in node.calls}

    def graph_of(self, node: str) -> str:
        place = self._places.get(node)
        return place[0].name if place else ""

    def type_of(self, node: str, index: str) -> TensorType | None:
        """The type of one output of a node; None for a table of pointers and for what is inside a nested tuple."""
        place = self._places.get(node)
        numbers = index.strip("{}")
        if place is None or "," in numbers:
            return None
        outputs = place[1].outputs
        number = int(numbers) if numbers else 0
        is_table = not numbers and len(outputs) != 1
        return None if is_table or number >= len(outputs) else outputs[number]

    def explained(self, buffer: Buffer, last_use: str) -> Buffer:
        """The buffer with its place in the program, what it is for, and why it is alive until `last_use` (the end, if empty)."""
        place = self._places.get(buffer.node)
        if place is None:
            return buffer._replace(why=buffer.why or _used_last(last_use))
        graph, node = place
        kind, why = self._kind_and_why(buffer, graph, node, self._reader(graph, last_use))
        frames = node.source
        return buffer._replace(
            graph=graph.name,
            kind=kind,
            type=self.type_of(buffer.node, buffer.output),
            why=why,
            scope=node.scope,
            source=str(frames[0]) if frames else "",
        )

    def _reader(self, graph: Graph, last_use: str) -> str:
        """What reads a value last. At the step where a called graph starts, that is the node that runs it: the value is passed to the
        graph, or an earlier graph of the same node (a branch, a loop's condition) returned it."""
        place = self._places.get(last_use)
        if place is None or not place[1].is_argument or place[0].name == graph.name:
            return last_use
        callers = self.program.callers.get(place[0].name, ())
        return callers[0][1] if callers else last_use

    def _kind_and_why(self, buffer: Buffer, graph: Graph, node: Node, last_use: str) -> tuple[Kind, str]:
        if buffer.why or buffer.kind not in ("temporary", "output"):
            return buffer.kind, buffer.why or buffer.kind
        if buffer.kind == "output":
            return buffer.kind, "output"
        type_ = self.type_of(buffer.node, buffer.output)
        if type_ is None:
            return "temporary", "pointers to the elements of a tuple"
        if plain_name(node.op) == "custom_call" and type_.dtype in _BYTES and buffer.output.strip("{}0"):
            return "workspace", f"workspace of {node.id}"
        loop = self._loops.get(graph.name, "")
        if loop and type_.dtype in _TRUTH and not type_.shape and any(name == node.id for name, _ in graph.outputs):
            return "temporary", f"says whether {loop} goes on"
        kind, why = self._of_halves(graph, node, last_use)
        loop = self._carrying_loop(graph, node, last_use) if kind == "temporary" else ""
        return (kind, f"carried by {loop}") if loop else (kind, why)

    def _carrying_loop(self, graph: Graph, node: Node, last_use: str) -> str:
        """The loop that keeps a value: the value is an argument of its body, goes from one iteration to the next, or starts the loop."""
        if node.is_argument and graph.name in self._loops:
            return self._loops[graph.name]
        user = self._places.get(last_use)
        if user is None:
            return ""
        user_graph, user_node = user
        if facts_of(user_node.op).control in LOOPS:
            return user_node.id
        is_root = any(name == user_node.id for name, _ in user_graph.outputs)
        return self._loops.get(user_graph.name, "") if is_root and user_graph.name == graph.name else ""

    def _of_halves(self, graph: Graph, node: Node, last_use: str) -> tuple[Kind, str]:
        """What a value is for in a training step."""
        user = self._places.get(last_use)
        made_in = self._direction.get((graph.name, node.id), "")
        if user is None:
            return "temporary", _used_last(last_use)
        used_in = self._direction.get((user[0].name, last_use), "")
        if made_in == FORWARD and used_in == BACKWARD:
            forward = self._differentiated(user[1])
            reason = f"{last_use} needs it for the gradient of {' and '.join(forward)}" if forward else f"{last_use} needs it"
            return "saved", f"saved for backward: {reason}"
        if made_in == BACKWARD and used_in == UPDATE:
            return "gradient", f"gradient: the update in {last_use} needs it"
        return "temporary", _used_last(last_use)

    def _differentiated(self, node: Node) -> list[str]:
        """The forward nodes that a backward node differentiates; those that only move or convert values, if there are no others."""
        names = [link.node for link in node.links if link.kind == BACKWARD_OF]
        computing = [name for name in names if name in self._places and not _only_moves(self._places[name][1])]
        return list(dict.fromkeys(map(self._running, computing or names)))[:_MOST_NAMED]

    def _running(self, node: str) -> str:
        """What runs a node: the fusion that it is in, or itself."""
        place = self._places.get(node)
        callers = self.program.callers.get(place[0].name, ()) if place else ()
        if callers and facts_of(self._places[callers[0][1]][1].op).control == "fusion":
            return callers[0][1]
        return node


def _only_moves(node: Node) -> bool:
    facts = facts_of(node.op)
    return bool(facts.forwards) or facts.spreads or facts.free


def _used_last(last_use: str) -> str:
    return f"used last by {last_use}" if last_use else "alive to the end"
