"""Values that come from another graph, followed to the node that computed them.

The backward body of a scan reads what the forward body saved: its parameter is a stack of the caller, which the forward loop returned,
which its body wrote slice by slice. Calls and barriers pass values on too.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeAlias

from opscope.analysis.loop_slots import Slot, body_of, results_of, slots_of_body
from opscope.analysis.moved import SLICES
from opscope.ops import BARRIERS, LOOPS, facts_of, plain_name
from opscope.ops.loops import constants_of
from opscope.program import WHOLE, Graph, Node, NodeKey, Program, ValueRef, whole_number

_RESHAPES = frozenset(["reshape", "broadcast_in_dim", "broadcast", "bitcast", "squeeze"])
"""What makes an element out of a slice of a stack, and a slice out of an element."""
_UNCHANGED = frozenset[Slot](["constant", "stacked input"])
"""The values of a loop that are the same in each iteration, or a slice of one."""
_MOST_STEPS = 64

Place: TypeAlias = tuple[str, ValueRef]
"""A graph and a value in it."""


class CalledValues:
    """The values of a program, across its calls and loops. Fusions and reducers are single steps, and are not looked into."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._slots: dict[NodeKey, list[Slot]] = {}
        self._indexing: dict[str, int | None] = {}
        self._positions: dict[str, dict[str, int]] = {}

    @cached_property
    def _callers(self) -> dict[str, tuple[Graph, Node]]:
        """The node that calls a graph, if it is the only one."""
        calls = ((graph, node) for graph in self._program for node in graph.calling if node.calls)
        callers = {called: call for call in calls for called in call[1].calls if len(self._program.callers[called]) == 1}
        return {name: call for name, call in callers.items() if (control := facts_of(call[1].op).control) == "call" or control in LOOPS}

    def receives(self, graph: Graph) -> bool:
        """Whether the parameters of a graph are values of one caller."""
        return graph.name in self._callers

    def passes_on(self, graph: Graph, node: Node) -> bool:
        """Whether a node may be a value of another node: a parameter, or what only forwards one, or a slice of a stack."""
        if node.is_argument:
            return len(node.outputs) == 1
        facts, name = facts_of(node.op), plain_name(node.op)
        is_slice = name in SLICES or self._is_element(graph, node) or self.indexed(node) is not None
        return bool(facts.forwards) or name in BARRIERS or is_slice

    def indexed(self, node: Node) -> int | None:
        """The operand of a call whose graph only takes an element of it: JAX lowers `stack[i]` to a function that all such slices share."""
        if facts_of(node.op).control != "call" or len(node.calls) != 1:
            return None
        name = node.calls[0]
        if name not in self._indexing:
            self._indexing[name] = self._indexed_parameter(self._program.graphs.get(name))
        return self._indexing[name]

    def only_indexes(self, graph: Graph) -> bool:
        """Whether a graph only takes an element of a stack, for its callers."""
        return self._indexing.get(graph.name) is not None

    def source(self, graph: Graph, ref: ValueRef) -> Place:
        """Where a value comes from: the furthest place that computes it."""
        place = (graph.name, ref)
        for _ in range(_MOST_STEPS):
            before = self._before(*place)
            if before is None:
                break
            place = before
        return place

    def _before(self, graph_name: str, ref: ValueRef) -> Place | None:
        graph = self._program[graph_name]
        node, index = graph[ref[0]], ref[1]
        if node.is_argument:
            return self._passed(graph, node, index)
        facts, name = facts_of(node.op), plain_name(node.op)
        if node.calls and (facts.control == "call" or facts.control in LOOPS):
            stack = self.indexed(node)
            if stack is None:
                return self._returned(node, index)
            return (graph_name, node.inputs[stack]) if self._is_stack(graph, node.inputs[stack]) else None
        if not node.inputs:
            return None
        first = node.inputs[0]
        if facts.forwards == "tuple" or name in BARRIERS:
            if len(node.inputs) == 1 and first[1] == WHOLE:
                return graph_name, (first[0], index)
            return (graph_name, node.inputs[index]) if 0 <= index < len(node.inputs) else None
        if facts.forwards and len(node.inputs) == 1:
            return graph_name, first
        if (name in SLICES and self._is_stack(graph, first)) or self._is_element(graph, node):
            return graph_name, first
        return None

    def _passed(self, graph: Graph, parameter: Node, index: int) -> Place | None:
        """The operand of the caller that a parameter is."""
        caller = self._callers.get(graph.name)
        if caller is None:
            return None
        outside, node = caller
        slot = self._slot(graph, parameter, index)
        if facts_of(node.op).control in LOOPS and slot not in _UNCHANGED:
            return None
        if len(parameter.outputs) > 1:
            return (outside.name, (node.inputs[0][0], index)) if len(node.inputs) == 1 else None
        number = self._number(graph, parameter)
        return (outside.name, node.inputs[number]) if number < len(node.inputs) else None

    def _slot(self, graph: Graph, parameter: Node, index: int) -> Slot | None:
        """What a parameter of a loop's body is."""
        _, node = self._callers[graph.name]
        constants, carried = whole_number(node.attrs.get("num_consts")), whole_number(node.attrs.get("num_carry"))
        number = self._number(graph, parameter)
        if constants is not None and carried is not None:
            return "constant" if number < constants else "carried value" if number < constants + carried else "stacked input"
        if body_of(self._program, node) is not graph:
            return None
        first, slots = constants_of(node, "body_nconsts"), self._slots_of(graph, node)
        at = index if len(parameter.outputs) > 1 else self._position(graph, parameter) - first
        return "constant" if at < 0 else slots[at] if at < len(slots) else None

    def _slots_of(self, body: Graph, loop: Node) -> list[Slot]:
        slots = self._slots.get((body.name, loop.id))
        if slots is None:
            slots = self._slots[body.name, loop.id] = slots_of_body(self._program, body, constants_of(loop, "body_nconsts"))
        return slots

    def _returned(self, node: Node, index: int) -> Place | None:
        """The value of a called graph that is a result of a call. A loop stacks values by updating a slice in each iteration."""
        body = body_of(self._program, node) or self._program.graphs.get(node.calls[0])
        results = results_of(body) if body is not None else ()
        if body is None or body.name not in self._callers or not 0 <= index < len(results):
            return None
        return body.name, self._element_written(body, body[results[index][0]]) or results[index]

    def _element_written(self, body: Graph, node: Node) -> ValueRef | None:
        """What a node writes into a stack, itself or through a function that all such updates share; None for any other node."""
        if plain_name(node.op) == "dynamic_update_slice" and len(node.inputs) > 1:
            element = body[node.inputs[1][0]]
            return element.inputs[0] if plain_name(element.op) in _RESHAPES and element.inputs else node.inputs[1]
        number = self._written(node)
        return None if number is None else node.inputs[number]

    def _written(self, node: Node) -> int | None:
        """The operand of a call that its graph writes into a stack, with all that it does."""
        called = self._program.graphs.get(node.calls[0]) if facts_of(node.op).control == "call" and len(node.calls) == 1 else None
        results = results_of(called) if called is not None else ()
        if called is None or len(results) != 1 or plain_name(called[results[0][0]].op) != "dynamic_update_slice":
            return None
        ref = self._element_written(called, called[results[0][0]])
        number = self._number(called, called[ref[0]]) if ref and called[ref[0]].is_argument else len(node.inputs)
        return number if number < len(node.inputs) else None

    def parts_of_stacks(self, graph: Graph) -> dict[str, int]:
        """In the body of a loop, the calls that only take an element of a stack or write one, each with the operand that it passes on:
        the stack, or the element."""
        caller = self._callers.get(graph.name)
        if caller is None or facts_of(caller[1].op).control not in LOOPS or body_of(self._program, caller[1]) is not graph:
            return {}
        slots = self._slots_of(graph, caller[1])
        stacked = {ref[0] for ref, slot in zip(results_of(graph), slots, strict=False) if slot == "stacked output"}
        parts = {}
        for node in graph.calling:
            operand = self.indexed(node)
            if operand is not None and not self._is_stack(graph, node.inputs[operand]):
                operand = None
            if operand is None and node.id in stacked:
                operand = self._written(node)
            if operand is not None:
                parts[node.id] = operand
        return parts

    def _is_stack(self, graph: Graph, ref: ValueRef) -> bool:
        """Whether a value is a stack that the loop reads by slices."""
        node, index = graph[ref[0]], ref[1]
        while not node.is_argument and facts_of(node.op).forwards and len(node.inputs) == 1:
            node, index = graph[node.inputs[0][0]], node.inputs[0][1]
        return node.is_argument and self.receives(graph) and self._slot(graph, node, index) == "stacked input"

    def _is_element(self, graph: Graph, node: Node) -> bool:
        """Whether a node makes an element out of a slice of a stack."""
        if plain_name(node.op) not in _RESHAPES or not node.inputs:
            return False
        sliced = graph[node.inputs[0][0]]
        return plain_name(sliced.op) in SLICES and self._is_stack(graph, sliced.inputs[0])

    def _indexed_parameter(self, graph: Graph | None) -> int | None:
        """The number of the parameter that a graph returns a slice of, with all that it does."""
        results = results_of(graph) if graph is not None else ()
        if graph is None or len(results) != 1:
            return None
        node, slices = graph[results[0][0]], 0
        while plain_name(node.op) in _RESHAPES | SLICES and node.inputs:
            slices += plain_name(node.op) in SLICES
            node = graph[node.inputs[0][0]]
        return self._number(graph, node) if node.is_argument and slices == 1 else None

    def _number(self, graph: Graph, parameter: Node) -> int:
        """The number of the operand that a parameter receives."""
        for attribute in ("index", "parameter_number"):
            number = whole_number(parameter.attrs.get(attribute))
            if number is not None:
                return number
        return self._position(graph, parameter)

    def _position(self, graph: Graph, parameter: Node) -> int:
        """The place of a parameter among the parameters of its graph."""
        positions = self._positions.get(graph.name)
        if positions is None:
            positions = self._positions[graph.name] = {node.id: number for number, node in enumerate(graph.parameters)}
        return positions[parameter.id]
