"""Which nodes have the same value, as far as the programs alone show it.

A parameter of a called graph has the value that its caller passes, and a call has the value that the called graph returns.
"""

from __future__ import annotations

from collections.abc import Sequence

from opscope.ops import LOOPS, facts_of
from opscope.program import Node
from opscope.recording.match.indexed_program import TAGS, Side

UNKNOWN = -1

Work = tuple[int, tuple[int, ...]]
"""What a node does, and the values of its operands."""


class Values:
    """For each node, the number of the first node with the same value. Numbers are those of side a, on both sides."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.in_order = _callees_before_calls(side)
        self._source = {**_returned(side), **passed(side)}
        self.forget()

    def forget(self) -> None:
        self.value = [UNKNOWN] * len(self.side)

    def set(self, i: int, value: int) -> None:
        source = self._source.get(i)
        self.value[i] = value if source is None or self.value[source] < 0 else self.value[source]

    def operands(self, i: int) -> tuple[int, ...]:
        value = self.value
        return tuple([value[edge // TAGS] * TAGS + edge % TAGS for edge in self.side.operands[i]])


class WorkIndex:
    """The values of side a, which depend on no match, and its nodes by what they do."""

    def __init__(self, a: Side, b: Side, work_a: Sequence[int]) -> None:
        self.a, self.b = Values(a), Values(b)
        self.by_work: dict[Work, list[int]] = {}
        for x in self.a.in_order:
            self.a.set(x, x)
            if not a.nodes[x].is_argument:
                same = self.by_work.setdefault((work_a[x], self.a.operands(x)), [])
                same.append(x)
                if not is_unknown(a.nodes[x]):
                    self.a.set(x, same[0])


def is_unknown(node: Node) -> bool:
    """Whether the value of a constant is not said, or only in part: weights of the same shape are not the same."""
    return node.role == "constant" and "..." in str(node.attrs.get("value", "..."))


def _callees_before_calls(side: Side) -> list[int]:
    """All nodes, where the nodes of a called graph come right before the (first) node that calls it."""
    order: list[int] = []
    visited = [False] * len(side.graphs)
    for g in side.callees_last:
        if visited[g]:
            continue
        visited[g] = True
        stack = [iter(side.members(g))]
        waiting: list[int] = []
        while stack:
            i = next(stack[-1], None)
            if i is None:
                stack.pop()
                if waiting:
                    order.append(waiting.pop())
                continue
            inner = [called for called in side.calls[i] if not visited[called] and len(side.callers[called]) == 1]
            if not inner:
                order.append(i)
                continue
            for called in inner:
                visited[called] = True
            waiting.append(i)
            stack.append(iter([j for called in inner for j in side.members(called)]))
    return order


def passed(side: Side) -> dict[int, int]:
    """{parameter: the node whose value the caller passes}, for graphs with one caller and as many parameters as it passes values. A loop
    passes the value of its start only once."""
    values: dict[int, int] = {}
    for g, callers in enumerate(side.callers):
        if len(callers) != 1 or facts_of(side.nodes[callers[0]].op).control in LOOPS:
            continue
        parameters = [i for i in side.members(g) if side.nodes[i].is_argument]
        operands = side.operands[callers[0]]
        if len(parameters) != len(operands):
            continue
        order = sorted(parameters, key=lambda i: _parameter_number(side, i))
        values.update((i, edge // TAGS) for i, edge in zip(order, operands, strict=True))
    return values


def _parameter_number(side: Side, i: int) -> int:
    number = str(side.nodes[i].attrs.get("parameter_number", ""))
    return int(number) if number.isdecimal() and len(number) < 10 else i


def _returned(side: Side) -> dict[int, int]:
    """{call: the node whose value it returns}, for calls of one graph that has one output and no other caller."""
    returned: dict[int, int] = {}
    for i, called in enumerate(side.calls):
        if len(called) == 1 and len(side.callers[called[0]]) == 1 and len(side.nodes[i].outputs) == 1:
            graph = side.graphs[called[0]]
            if len(graph.outputs) == 1 and graph.name not in side.same:
                returned[i] = side.first[called[0]] + graph.position[graph.outputs[0][0]]
    return returned
