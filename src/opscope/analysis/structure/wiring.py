"""One graph as numbers: what each node is, and what it is connected to. Names, scopes and source lines are not read."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from opscope.analysis.node_text import node_text
from opscope.ops import facts_of, name_of, plain_name
from opscope.program import Graph, Node, Program, TensorType
from opscope.program.call_order import callees_first

_HUB = 16
"""A node with more users says nothing about any of them."""


class Kinds:
    """Numbers for what nodes are: two nodes have the same number if op, role, types, text and the content of what they call are equal."""

    def __init__(self, program: Program) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._types: dict[tuple[TensorType, ...], int] = {}
        self._called: dict[str, int] = {}
        self._has_text: dict[str, bool] = {}
        self._program = program

    def number(self, what: Hashable) -> int:
        return self._numbers.setdefault(what, len(self._numbers))

    def of(self, node: Node) -> int:
        called = tuple([self._content(name) for name in node.calls]) if node.calls else ()
        return self.number((node.op, node.role, self.type_of(node), len(node.inputs), called, self._text(node)))

    def type_of(self, node: Node) -> int:
        """A number for the types of a node's outputs, without their layouts."""
        number = self._types.get(node.outputs)
        if number is None:
            number = self._types[node.outputs] = self.number(tuple([(output.dtype, output.shape) for output in node.outputs]))
        return number

    def _text(self, node: Node) -> str:
        """What makes another operation of it: a constant's value, the direction of a comparison, the routine of a custom call."""
        if node.role == "constant":
            return node_text(node, node.attrs)
        if node.role != "op":
            return ""
        has_text = self._has_text.get(node.op)
        if has_text is None:
            facts = facts_of(node.op)
            signed = bool(facts.sign) and bool(name_of(node.op).dialect)  # bare names are of compilers whose sums have no factor
            has_text = facts.titled_by == "text" or signed or plain_name(node.op).startswith("compare")
            self._has_text[node.op] = has_text
        return node_text(node, node.attrs) if has_text else ""

    def _content(self, name: str) -> int:
        """The content of a called graph. Called graphs are numbered before their callers, so this does not descend into calls of calls
        that are not numbered yet (a graph that calls itself)."""
        content = self._called.get(name)
        if content is None:
            self._called[name] = -1
            graphs = self._program.graphs
            unknown = callees_first([name], lambda caller: self._unknown_calls(graphs[caller]))
            for each in unknown:
                self._called[each] = self._graph_number(graphs[each])
            content = self._called[name]
        return content

    def _unknown_calls(self, graph: Graph) -> list[str]:
        return [called for node in graph.calling for called in node.calls if called not in self._called]

    def _graph_number(self, graph: Graph) -> int:
        position = graph.position
        rows = []
        for i, node in enumerate(graph.nodes):
            types = tuple((output.dtype, output.shape) for output in node.outputs)
            called = tuple(self._called.get(name, -1) for name in node.calls)
            operands = tuple((i - position[name], index) for name, index in node.inputs)
            rows.append((node.op, node.role, types, called, self._text(node), operands))
        return self.number(tuple(rows))


class Wiring:
    """Nodes are numbered by their position in the graph."""

    def __init__(self, graph: Graph, kinds: Kinds) -> None:
        nodes, position = graph.nodes, graph.position
        self.nodes = nodes
        self.type = [kinds.type_of(node) for node in nodes]
        self.operands = [tuple([(position[name], index) for name, index in node.inputs]) for node in nodes]
        self.kind = [
            kinds.number((kinds.of(node), *[self.type[source] for source, _ in operands])) if operands else kinds.of(node)
            for node, operands in zip(nodes, self.operands, strict=True)
        ]
        """What each node is, with the types that it takes."""
        self.users: list[list[tuple[int, int, int]]] = [[] for _ in nodes]
        """For each node, (user, which operand of it, which output)."""
        self.depth = [0] * len(nodes)
        """The longest path to each node."""
        for user, operands in enumerate(self.operands):
            deepest = -1
            for slot, (source, index) in enumerate(operands):
                self.users[source].append((user, slot, index))
                if source < user and self.depth[source] > deepest:
                    deepest = self.depth[source]
            self.depth[user] = deepest + 1
        self.is_op = bytearray(node.role == "op" for node in nodes)
        self.is_constant = bytearray(node.role == "constant" for node in nodes)
        self.outputs = frozenset(position[name] for name, _ in graph.outputs)

    def surroundings(self, members: list[int], steps: int) -> Mapping[int, int]:
        """A number for each of the operations among `members`: what they are and what is around them, up to so many steps away."""
        kind, operands, users, is_op = self.kind, self.operands, self.users, self.is_op
        ops = [node for node in members if is_op[node]]
        label = dict(zip(ops, (kind[node] for node in ops), strict=True))
        for _ in range(steps):
            get = label.get
            label = {
                node: hash(
                    (
                        label[node],
                        tuple([get(source, kind[source]) + index for source, index in operands[node]]),
                        tuple(sorted([get(user, 0) + slot for user, slot, _ in users[node]])) if len(users[node]) <= _HUB else 0,
                    )
                )
                for node in ops
            }
        return label
