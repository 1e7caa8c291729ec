"""Which values each node reads, and when: what a value is recomputed from, and when it is needed again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from typing import TypeAlias

from opscope.memory.aliases import Aliases
from opscope.memory.model import Buffer, Memory
from opscope.memory.order import is_half, running_order
from opscope.memory.reasons import Reasons
from opscope.ops import facts_of
from opscope.ops.facts import LOOPS
from opscope.program import BACKWARD, FORWARD, RECOMPUTED, Node, NodeKey, Program

ValueKey: TypeAlias = tuple[str, str]
"""The graph and the name of a buffer: `("main", "fusion.3{1}")`."""


def value_key(buffer: Buffer) -> ValueKey:
    return buffer.graph, buffer.name


class Flow:
    """The data flow of a program between its buffers, past nodes that only pass values on."""

    def __init__(self, program: Program, memory: Memory) -> None:
        self.program = program
        self.uses: dict[ValueKey, list[int]] = defaultdict(list)
        """When each value is read."""
        self.backward_uses: dict[ValueKey, list[int]] = defaultdict(list)
        """When the backward half reads it."""
        self.operands: dict[NodeKey, list[ValueKey]] = {}
        self.makers: dict[ValueKey, NodeKey] = {}
        self.forward: dict[NodeKey, Node] = {}
        """The nodes of the forward half that compute something, in the order of the run."""
        self._memory_of: dict[ValueKey, int] = {}
        """Values with the same number are in the same memory: what goes into a loop and what its iterations read."""
        self._read_backward: dict[int, list[int]] = defaultdict(list)
        self._direction = Reasons(program).direction
        self._follow(memory)

    def _follow(self, memory: Memory) -> None:
        graphs = memory.graphs or [""] * len(memory.steps)
        positions = {key: position for position, key in enumerate(zip(graphs, memory.steps, strict=True))}
        order = running_order(self.program)
        aliases = Aliases(self.program, order.graphs)
        for graph in order.graphs:
            for node in graph:
                if node.role == "output" or is_half(node):  # they pass values on
                    continue
                key = graph.name, node.id
                values = [aliases.values[number] for number in aliases.operands(graph, node)]
                names = [(each.graph, _name(each.node, each.output)) for each in values]
                self.makers.update(zip(names, ((each.graph, each.node.id) for each in values), strict=True))
                self.operands[key] = list(dict.fromkeys(names))
                shared = [aliases.buffer(number) for number in aliases.operands(graph, node)]
                self._memory_of.update(zip(names, shared, strict=True))
                direction = self._direction.get(key, "")
                facts = facts_of(node.op)
                if direction == FORWARD and not node.is_argument and node.role != "constant":
                    self.forward[key] = node
                position = positions.get(key, positions.get(("", node.id)))
                if position is None:
                    continue
                for name in names:
                    self.uses[name].append(position)
                    if direction in (BACKWARD, RECOMPUTED):
                        self.backward_uses[name].append(position)
                if direction in (BACKWARD, RECOMPUTED) and not facts.forwards and facts.control not in LOOPS:
                    for number in shared:
                        self._read_backward[number].append(position)

    def read_in_backward_loops(self, value: ValueKey) -> list[int]:
        """When nodes of the backward half read a value, in the iterations of loops too, where it has another name."""
        return self._read_backward.get(self._memory_of.get(value, -1), [])

    @cached_property
    def readers(self) -> Mapping[NodeKey, list[NodeKey]]:
        """The nodes that read the values of a node."""
        readers: dict[NodeKey, list[NodeKey]] = defaultdict(list)
        for key, operands in self.operands.items():
            for name in operands:
                readers[self.makers[name]].append(key)
        return readers


def _name(node: Node, output: int) -> str:
    return node.id + (f"{{{output}}}" if len(node.outputs) > 1 else "")
