"""Two programs as arrays of numbers for matching: edges by position, and labels that tell how similar two nodes are.

The names of nodes and graphs are not used here: labels consist of ops, types, attributes and places in the user's program.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

from opscope.ops import facts_of
from opscope.program import Node, Program
from opscope.program.call_order import callees_first
from opscope.recording.match.node_numbers import Vocabulary, only_names

TAGS = 1 << 29
"""Edges carry (operand position, output index) as one number below this: room for 65,536 operands and 8,192 outputs. A loop
with the state of a training step has thousands."""
RESULTS = 1 << 13
"""The output index is the rest of that number by this: 0 is the whole of a tuple, 1 the first output."""
_LAST_OPERAND, _LAST_OUTPUT = TAGS - RESULTS, RESULTS - 1
"""Those beyond are not told apart."""
_IN_PLACE = re.compile(r"_(?:\.\w+)?$")


class Side:
    """One program. The nodes of all graphs are numbered consecutively; graph g has the numbers first[g] … first[g + 1] - 1.

    Graphs that are known to be the same on both sides (`same`) are without their nodes.
    """

    def __init__(self, program: Program, same: frozenset[str] = frozenset()) -> None:
        self.program = program
        self.same = same
        self.graphs = list(program)
        self.graph_number = {graph.name: g for g, graph in enumerate(self.graphs)}
        self.nodes: list[Node] = []
        self.graph: list[int] = []
        self.first = [0]
        self.operands: list[list[int]] = []
        self.users: list[list[int]] = []
        self.callers: list[list[int]] = [[] for _ in self.graphs]
        for g, graph in enumerate(self.graphs):
            self._add(g, () if graph.name in same else graph.nodes)
        self.calls = [[self.graph_number[name] for name in node.calls] for node in self.nodes]
        for i, called in enumerate(self.calls):
            for g in called:
                self.callers[g].append(i)

    def _add(self, g: int, nodes: Sequence[Node]) -> None:
        base = len(self.nodes)
        at = {node.id: base + i for i, node in enumerate(nodes)}
        users: list[list[int]] = [[] for _ in nodes]
        for i, node in enumerate(nodes, base):
            row = []
            first = 0
            for name, index in node.inputs:
                operand, tag = at[name], first + (index + 1 if index < _LAST_OUTPUT else _LAST_OUTPUT)
                row.append(operand * TAGS + tag)
                users[operand - base].append(i * TAGS + tag)
                if first < _LAST_OPERAND:
                    first += RESULTS
            self.operands.append(row)
        self.users += users
        self.nodes += nodes
        self.graph += [g] * len(nodes)
        self.first.append(len(self.nodes))

    def __len__(self) -> int:
        return len(self.nodes)

    def only_calls(self, node: int) -> bool:
        """Whether it is a call, which is not a fusion: what was outlined, or one of the halves that a graph was split into."""
        op, calls = self.nodes[node].op, self.nodes[node].calls
        return op in calls or facts_of(op).control == "call"

    def members(self, g: int) -> range:
        return range(self.first[g], self.first[g + 1])

    def is_dead(self, i: int) -> bool:
        """Whether nothing uses a value, or only what nothing uses either."""
        return i in self._dead

    @cached_property
    def _dead(self) -> set[int]:
        kept = {self.first[g] + graph.position[id] for g, graph in enumerate(self.graphs) if self.members(g) for id, _ in graph.outputs}
        for g in range(len(self.graphs)):
            position = self.graphs[g].position
            kept.update(self.first[g] + position[name] for i in self.members(g) for name in self.nodes[i].control)
        waiting = [i for i, users in enumerate(self.users) if not users and i not in kept and _only_computes(self.nodes[i])]
        dead, dead_uses = set(waiting), Counter[int]()
        while waiting:
            for edge in self.operands[waiting.pop()]:
                i = edge // TAGS
                dead_uses[i] += 1
                if dead_uses[i] == len(self.users[i]) and i not in kept and _only_computes(self.nodes[i]):
                    dead.add(i)
                    waiting.append(i)
        return dead

    @cached_property
    def callees_last(self) -> list[int]:
        """Graph numbers, callers before callees (call cycles in any order), the entry first."""
        entry = self.graph_number[self.program.entry]
        uncalled = [g for g, callers in enumerate(self.callers) if not callers and g != entry]
        starts = [*uncalled, entry, *range(len(self.graphs))]
        return callees_first(starts, lambda g: (called for i in self.members(g) for called in self.calls[i]))[::-1]


class Labels:
    """Numbers that are equal for similar nodes, on both sides. From strict to loose:

    `deep` is like strict, with the contents of called graphs; `strict` is op, type, layout and every attribute; `work` is op, shapes,
    the attributes that affect the result, and the work of called graphs; `meant` is op, shapes and the place in the user's program; `kind`
    is op and shapes; `op` is op.
    """

    LEVELS = ("deep", "strict", "work", "meant", "kind", "op")

    def __init__(self, a: Side, b: Side) -> None:
        self._vocabulary = Vocabulary.of(a.program, b.program)
        self._numbers: dict[Hashable, int] = {}
        """Of what is only known about these two programs."""
        self.output_names: tuple[dict[int, str], dict[int, str]] = ({}, {})
        """Per side, the names of nodes' outputs, for nodes that have them."""
        self._graph_names = frozenset((*a.graph_number, *b.graph_number))
        self.content: tuple[list[int], list[int]] = ([], [])
        """Per side and graph: equal numbers mean the same nodes in the same order, apart from names."""
        self.form: tuple[list[int], list[int]] = ([], [])
        """The same by kind: equal even after a pass that only sets attributes."""
        self.place: tuple[list[int], list[int]] = ([], [])
        """Per side and node: the place in the user's program (op_name or scope, and source lines), 0 if it has none."""
        self._layer: tuple[list[int], list[int]] = ([], [])
        """Per side and node: the numbered parts of its scope, 0 if it has none."""
        self.op_name: tuple[list[int], list[int]] = ([], [])
        """Per side and node: XLA's name of the operation of the user's program that it belongs to, 0 if it has none."""
        self.of: dict[str, tuple[list[int], list[int]]] = {level: ([], []) for level in self.LEVELS}
        for which, side in enumerate((a, b)):
            self._label(which, side)

    def _number(self, what: Hashable) -> int:
        return self._numbers.setdefault(what, 2 * len(self._numbers) + 1)

    def _label(self, which: int, side: Side) -> None:
        number, of_node, graph_names = self._number, self._vocabulary.of_node, self._graph_names
        strict, work, meant, kind, op = (self.of[level][which] for level in self.LEVELS[1:])
        places, layers, op_names = self.place[which], self._layer[which], self.op_name[which]
        rows = [of_node(node, graph_names) for node in side.nodes]
        if rows:
            for column, numbers in zip((strict, work, meant, kind, op, []), zip(*rows, strict=True), strict=True):
                column += numbers
            everything, _, _, *others = zip(*[row.details for row in rows], strict=True)
            for column, numbers in zip((places, layers, op_names), others, strict=True):
                column += numbers
            if named := self._vocabulary.output_names:
                self.output_names[which].update((i, named[each]) for i, each in enumerate(everything) if each in named)
        deep = self.of["deep"][which]
        deep += strict
        content, form, task = [0] * len(side.graphs), [0] * len(side.graphs), [0] * len(side.graphs)
        for g in reversed(side.callees_last):
            if side.graphs[g].name in side.same:
                content[g] = form[g] = task[g] = number(("same", side.graphs[g].name))
                continue
            members, base = side.members(g), side.first[g]
            for i in members:
                if called := side.calls[i]:
                    deep[i] = number((strict[i], tuple([content[g] for g in called])))
                    work[i] = number((work[i], tuple([task[g] for g in called])))
            wiring = number(tuple([tuple([operand - base * TAGS for operand in side.operands[i]]) for i in members]))
            content[g] = number((wiring, tuple([deep[i] for i in members])))
            form[g] = number((wiring, tuple([kind[i] for i in members])))
            task[g] = number((wiring, tuple([work[i] for i in members])))
        self.content[which].extend(content)
        self.form[which].extend(form)

    def elsewhere(self, x: int, y: int) -> bool:
        """Whether two nodes belong to different operations of the user's program, as far as that is known: a pass that moves a reshape
        from before a product to after it makes a new one, which belongs to the product."""
        return self.in_other_layers(x, y) or self._vocabulary.of_other_operations(self.op_name[0][x], self.op_name[1][y])

    def in_other_layers(self, x: int, y: int) -> bool:
        """Whether the scopes of two nodes say that they are in different layers: layer_0 and layer_1."""
        return self._vocabulary.in_other_layers(self._layer[0][x], self._layer[1][y])

    def settings(self, node: Node) -> int:
        """A number for the attributes that affect the result of a node."""
        return self._vocabulary.of_details(node.details, self._graph_names).done

    def is_name(self, name: str, value: Any) -> bool:
        """Whether an attribute only names nodes, graphs or files, or is derived from others."""
        return only_names(name, value, self._graph_names)


def _only_computes(node: Node) -> bool:
    """Whether a node has no effect but its value: it does not write in place (`add_`), send, or print."""
    if node.role != "op" or not node.outputs or _IN_PLACE.search(node.op) or "custom_call_has_side_effect" in node.attrs:
        return False
    return all(type_.dtype != "token" for type_ in node.outputs)
