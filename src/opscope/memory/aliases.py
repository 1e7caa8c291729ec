"""Which values of a program are the same memory.

A value is one output of one node. A tuple, an element of one, a bitcast or a view is its operand under another name. What goes into a
loop, through its iterations and out of it is one buffer, and so is what an in-place operation takes and returns. Computations inside
fusions and reductions have no memory of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from opscope.analysis.loop_slots import results_of
from opscope.analysis.moved import by_number, parameter_number, size_of
from opscope.memory.order import is_half
from opscope.ops import facts_of, plain_name
from opscope.ops.facts import LOOPS
from opscope.ops.loops import constants_of
from opscope.program import WHOLE, Graph, Node, NodeKey, Program, TensorType, ValueRef, whole_number
from opscope.recording.dumps.inductor_code import GENERATED_BY, IN_MEMORY_OF

_FORWARDING = frozenset(["optimization_barrier", "opt_barrier", "domain", "add_dependency"])
_IN_PLACE = frozenset(["dynamic_update_slice", "scatter"])
_DONE = {"async_done": 1, "all_gather_done": 1, "collective_permute_done": 1, "copy_done": 0}
"""Which output of the start is the result; that of others is the whole."""
_OUTPUT_ALIAS = re.compile(r"\{\s*+([\d, ]*+)\}\s*+:\s*+\((\d{1,9}),\s*+\{([\d, ]*+)\}")

Names: TypeAlias = tuple[int, ...]
"""The values behind one output: several for a nested tuple."""


class Value(NamedTuple):
    graph: str
    node: Node
    output: int
    type: TensorType

    @property
    def bytes(self) -> int | None:
        """None if unknown. A nested tuple is counted where its elements are made, and a gradient that nobody wants is nothing."""
        return size_of(self.type)[1]


class Aliases:
    """Values and the buffers that they are in. A value and a buffer are numbers; `buffer(value)` is the buffer's."""

    def __init__(self, program: Program, graphs: Iterable[Graph]) -> None:
        self.program = program
        self.values: list[Value] = []
        self.outputs: dict[NodeKey, list[Names]] = {}
        """For each node, the values behind each of its outputs."""
        self.unchanged: dict[NodeKey, list[int]] = {}
        """For each loop, the values that it only reads."""
        self.stacked: dict[NodeKey, list[int]] = {}
        """For each loop, the stacks that its iterations fill part by part."""
        self._parent: list[int] = []
        self._is_generated = GENERATED_BY in program.attrs
        self._is_scheduled = program.attrs.get("is_scheduled") == "true"
        graphs = list(graphs)
        self._names = {graph.name for graph in graphs}
        for graph in graphs:
            self._follow(graph)
        for graph in graphs:
            for node in graph.nodes:
                if node.calls and not is_half(node):
                    self._call(graph, node)
        self._donate()

    def buffer(self, value: int) -> int:
        parent = self._parent
        while parent[value] != value:
            parent[value] = value = parent[parent[value]]
        return value

    def union(self, one: Names, other: Names) -> None:
        """Put values into one buffer. Nested tuples of different shapes are left apart."""
        if len(one) == len(other):
            for a, b in zip(one, other, strict=True):
                first, second = sorted((self.buffer(a), self.buffer(b)))
                self._parent[second] = first

    def behind(self, graph: str, ref: ValueRef) -> list[Names]:
        """The values behind each output that an input refers to."""
        name, index = ref
        outputs = self.outputs.get((graph, name), [])
        return outputs if index == WHOLE else outputs[index : index + 1]

    def operands(self, graph: Graph, node: Node) -> Iterable[int]:
        """The values that a node reads."""
        return (value for ref in node.inputs for names in self.behind(graph.name, ref) for value in names)

    def results(self, graph: Graph) -> Iterable[int]:
        """The values that a graph returns."""
        return (value for names in self._returned(graph) for value in names)

    def arguments(self, graph: Graph) -> Iterable[int]:
        return (value for node in graph.parameters for names in self.outputs[graph.name, node.id] for value in names)

    def made_by(self, graph: Graph, node: Node) -> list[int]:
        """The values that a node makes, and does not only pass on."""
        behind = (value for names in self.outputs[graph.name, node.id] for value in names)
        return [value for value in behind if self.values[value].node is node and self.values[value].graph == graph.name]

    def _follow(self, graph: Graph) -> None:
        for node in graph.nodes:
            if (graph.name, node.id) not in self.outputs:
                self.outputs[graph.name, node.id] = self._half(graph, node) if is_half(node) else self._outputs(graph, node)

    def _half(self, graph: Graph, node: Node) -> list[Names]:
        """The results of half a step. Its arguments are the values that it is given, and its results those of its graph."""
        body = self.program[node.op]
        given = [names for ref in node.inputs for names in self.behind(graph.name, ref)]
        arguments = [*body.parameters, *(each for each in body if each.role == "gradient" and not each.inputs)]
        if len(given) == len(arguments):
            self.outputs.update(((body.name, each.id), [names]) for each, names in zip(arguments, given, strict=True))
        self._follow(body)
        return self._returned(body)

    def _new(self, graph: Graph, node: Node) -> list[Names]:
        names: list[Names] = []
        for output, kind in enumerate(node.outputs):
            names.append((len(self.values),))
            self._parent.append(len(self.values))
            self.values.append(Value(graph.name, node, output, kind))
        return names

    def _outputs(self, graph: Graph, node: Node) -> list[Names]:
        operands = [self.behind(graph.name, ref) for ref in node.inputs]
        name = plain_name(node.op)
        facts = facts_of(node.op)
        if not operands or not operands[0]:
            return self._new(graph, node)
        if node.role in ("gradient", "output"):  # marks what its operand is
            return operands[0]
        if facts.forwards == "tuple":
            return [_joined(operand) for operand in operands]
        if name.endswith("_done"):
            which = _DONE.get(name)
            done = operands[0][which : which + 1] if which is not None else operands[0]
            return done if len(done) == len(node.outputs) else [_joined(done)] * len(node.outputs)
        if (facts.forwards or name in _FORWARDING) and len(operands[0]) == len(node.outputs):
            return operands[0]
        if facts.view:
            return [_joined(operands[0])] * len(node.outputs)
        outputs = self._new(graph, node)
        if name == "async_start" and len(outputs) > 1:
            outputs[0] = _joined([_joined(operand) for operand in operands])
        for output, operand in self._in_place(node, name):
            if output < len(outputs) and operand < len(operands) and len(operands[operand]) == 1:
                self.union(outputs[output], operands[operand][0])
        if self._is_generated:
            for output, other, index in node.attrs.get(IN_MEMORY_OF, ()):
                for names in self.behind(graph.name, (other, index)):
                    self.union(outputs[output], names)
        return outputs

    def _in_place(self, node: Node, name: str) -> list[tuple[int, int]]:
        """(output, operand) pairs of an operation that writes its result into its operand."""
        if name in _IN_PLACE or (name == "copy" and len(node.inputs) == 2):  # aten.copy is what tracing makes of `a.copy_(b)`
            return [(0, 0)]
        if name == "fusion":
            return updated_in_place(self.program[node.calls[0]]) if node.calls else []
        text = str(node.attrs.get("output_to_operand_aliasing", "")) if name == "custom_call" else ""
        return [(_first(output), int(operand)) for output, operand, _ in _OUTPUT_ALIAS.findall(text)]

    def _call(self, graph: Graph, node: Node) -> None:
        """What a node passes to the graphs that it calls is their arguments, and what they return is its result."""
        control = facts_of(node.op).control
        name = plain_name(node.op)
        results = self.outputs[graph.name, node.id]
        called = [self.program[each] for each in node.calls if each in self._names]
        if control in LOOPS:
            self._loop(graph, node, called)
            return
        branches = control == "cond"
        for number, body in enumerate(called):
            refs = node.inputs[number + 1 : number + 2] if branches else node.inputs
            self._pass(body, [names for ref in refs for names in self.behind(graph.name, ref)])
            returned = self._returned(body)
            if name == "async_start" and len(results) > 1:
                self.union(results[1], _joined(returned))
            elif branches and not self._is_scheduled:
                self._same(results, self._computed_in(body, returned))
            else:
                self._same(results, returned)

    def _loop(self, graph: Graph, node: Node, called: Sequence[Graph]) -> None:
        results = self.outputs[graph.name, node.id]
        given = [names for ref in node.inputs for names in self.behind(graph.name, ref)]
        count = whole_number(node.attrs.get("num_carry"))
        if count is not None:  # JAX's scan: constants, carried values, stacks
            first = whole_number(node.attrs.get("num_consts")) or 0
            carried = given[first : first + count]
            for body in called:
                self._same(self._given(body)[: first + count], given[: first + count])
                self._same(self._returned(body)[:count], carried)
            self.unchanged[graph.name, node.id] = [value for names in (*given[:first], *given[first + count :]) for value in names]
            self.stacked[graph.name, node.id] = [value for names in results[count:] for value in names]
            self._same(results[:count], carried)
            return
        of_condition, of_body = constants_of(node, "cond_nconsts"), constants_of(node, "body_nconsts")
        carried = given[of_condition + of_body :]
        for body in called:
            returned = self._returned(body)
            is_body = len(returned) == len(carried) and len(body.parameters) in (1, of_body + len(carried))
            self._pass(body, [*(given[of_condition : of_condition + of_body] if is_body else given[:of_condition]), *carried])
            if is_body:  # not the condition
                self._same(returned, carried)
                self.unchanged[graph.name, node.id] = self._unchanged(body, carried, returned)
        self._same(results, carried)

    def _unchanged(self, body: Graph, carried: Sequence[Names], returned: Sequence[Names]) -> list[int]:
        """What is carried and returned by each iteration as it was given."""
        given = self._given(body)
        if len(given) != len(returned):
            return []
        return [value for names, one, other in zip(carried, given, returned, strict=True) if one == other for value in names]

    def _computed_in(self, body: Graph, returned: Sequence[Names]) -> list[Names]:
        """What a branch returns, without what it was given and without what it returns already: XLA copies that before it schedules a
        program, because every branch puts its results into the same memory."""
        seen = {self.buffer(value) for value in self.arguments(body)}
        computed: list[Names] = []
        for names in returned:
            buffers = {self.buffer(value) for value in names}
            computed.append(names if seen.isdisjoint(buffers) else ())
            seen |= buffers
        return computed

    def _given(self, body: Graph) -> list[Names]:
        parameters = by_number(body.parameters)
        return [names for parameter in parameters for names in self.outputs[body.name, parameter.id]]

    def _pass(self, body: Graph, arguments: Sequence[Names]) -> None:
        self._same(self._given(body), arguments)

    def _returned(self, body: Graph) -> list[Names]:
        return [names for ref in body.outputs for names in self.behind(body.name, ref)]

    def _same(self, one: Sequence[Names], other: Sequence[Names]) -> None:
        if len(one) == len(other):
            for a, b in zip(one, other, strict=True):
                self.union(a, b)

    def _donate(self) -> None:
        """Outputs that XLA writes into arguments: `input_output_alias={ {0}: (1, {}, may-alias) }`."""
        main = self.program.main
        parameters = {parameter_number(node): node for node in main.parameters}
        returned = self._returned(main)
        self.donated: set[int] = set()
        for output, number, _ in _OUTPUT_ALIAS.findall(str(self.program.attrs.get("input_output_alias", ""))):
            parameter = parameters.get(int(number))
            names = self.outputs[main.name, parameter.id] if parameter is not None else []
            if _first(output) < len(returned) and len(names) == 1:
                self.union(names[0], returned[_first(output)])
                self.donated.update(names[0])


def _joined(names: Sequence[Names]) -> Names:
    """All of them, each once: tuples of tuples may contain a value many times over."""
    return tuple(dict.fromkeys(value for each in names for value in each))


def _first(index: str) -> int:
    """The first number of an index: 1 of `1`, 0 of an empty one."""
    digits = index.split(",")[0].strip()
    return int(digits) if digits else 0


def updated_in_place(body: Graph) -> list[tuple[int, int]]:
    """The results of a fusion that are updates of a part of an operand: (result, operand) pairs."""
    pairs = []
    for result, (name, _) in enumerate(results_of(body)):
        node = _past_bitcasts(body, name)
        if plain_name(node.op) in _IN_PLACE and node.inputs:
            target = _past_bitcasts(body, node.inputs[0][0])
            if target.is_argument:
                pairs.append((result, parameter_number(target)))
    return pairs


def _past_bitcasts(body: Graph, name: str) -> Node:
    node = body[name]
    while plain_name(node.op) == "bitcast" and node.inputs:
        node = body[node.inputs[0][0]]
    return node
