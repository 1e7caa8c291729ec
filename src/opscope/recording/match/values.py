"""Which nodes have the same value, as far as the programs alone show it.

A parameter of a called graph has the value that its caller passes, and a call has the value that the called graph returns. A loop gives
back some values as it took them: these have the value of its start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opscope.ops import LOOPS, facts_of, plain_name
from opscope.program import Node
from opscope.recording.match.indexed_program import RESULTS, TAGS, Side
from opscope.recording.match.passing import is_element, is_view

UNKNOWN = -1
_FARTHEST = 16
"""Through so many calls, a value is followed to the node that computes it."""

Work = tuple[int, tuple[int, ...]]
"""What a node does, and the values of its operands."""


class Values:
    """For each node, the number of the first node with the same value. Numbers are those of side a, on both sides."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.in_order = _callees_before_calls(side)
        tuples = {i: side.operands[i] for i, node in enumerate(side.nodes) if len(node.inputs) > 1 and plain_name(node.op) == "tuple"}
        self._results, self._unchanged = {**tuples, **_returned(side)}, _unchanged(side)
        taken = [(user // TAGS, starts.get(user % RESULTS)) for state, starts in self._unchanged.items() for user in side.users[state]]
        elements = {user: start for user, start in taken if start is not None and is_element(side.nodes[user].op)}
        self._source = {**{i: edges[0] for i, edges in self._results.items() if len(edges) == 1}, **passed(side), **elements}
        self.forget()

    def forget(self) -> None:
        self.value = [UNKNOWN] * len(self.side)
        self._result: dict[int, int] = {}
        """{node: which result of another it is}, where it is not the first: two results of a loop are not one value."""

    def set(self, i: int, value: int) -> None:
        source = self._source.get(i)
        node, result = self._behind(source // TAGS, source % RESULTS) if source is not None else (i, 0)
        if source is None or self.value[node] < 0:
            self.value[i] = value
            return
        self.value[i] = self.value[node]
        if (result := self._result.get(node) or result) > 1:
            self._result[i] = result

    def operands(self, i: int) -> tuple[int, ...]:
        value, result, results, unchanged = self.value, self._result, self._results, self._unchanged
        taken = []
        for edge in self.side.operands[i]:
            node, tag = edge // TAGS, edge % TAGS
            if node in results or (node in unchanged and not is_element(self.side.nodes[i].op)):
                node, inner = self._behind(node, tag % RESULTS)
                tag = tag // RESULTS * RESULTS + inner
            taken.append(value[node] * TAGS + (tag // RESULTS * RESULTS + result[node] if node in result else tag))
        return tuple(taken)

    def _behind(self, node: int, result: int) -> tuple[int, int]:
        """The node that computes a result of a call or a tuple, or a loop's state that does not change, if its value is known, and which of
        its results that is."""
        start = self._unchanged[node].get(result) if node in self._unchanged else None
        if start is not None and self.value[start // TAGS] >= 0:
            node, result = start // TAGS, start % RESULTS
        results = self._results.get(node, ())
        if 1 < len(results) >= result > 0:
            inner = results[result - 1]
            if self.value[inner // TAGS] >= 0:
                return inner // TAGS, inner % RESULTS
        return node, result


class Sources:
    """Which nodes compute values: not the parameters of a called graph, and not the calls."""

    def __init__(self, side: Side) -> None:
        self._source = {**{i: edges[0] for i, edges in _returned(side).items() if len(edges) == 1}, **passed(side)}

    def of(self, edge: int) -> int:
        """The edge from the node that computes the value of another edge."""
        for _ in range(_FARTHEST):
            source = self._source.get(edge // TAGS)
            if source is None:
                break
            edge = source
        return edge


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


def is_filled(side: Side, i: int) -> bool:
    """Whether a value takes nothing from the program: one number everywhere, a sequence, or weights."""
    for _ in range(_FARTHEST):
        if len(side.operands[i]) != 1 or not is_view(side.nodes[i].op):
            break
        i = side.operands[i][0] // TAGS
    return not side.operands[i] and not side.nodes[i].is_argument


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
    """{parameter: the edge from the value that the caller passes}, for graphs with one caller and as many parameters as it passes values. A
    loop passes the value of its start only once."""
    values: dict[int, int] = {}
    for g, callers in enumerate(side.callers):
        if len(callers) != 1 or facts_of(side.nodes[callers[0]].op).control in LOOPS:
            continue
        parameters = [i for i in side.members(g) if side.nodes[i].is_argument]
        operands = side.operands[callers[0]]
        if len(parameters) != len(operands):
            continue
        order = sorted(parameters, key=lambda i: _parameter_number(side, i))
        values.update(zip(order, operands, strict=True))
    return values


def _parameter_number(side: Side, i: int) -> int:
    number = str(side.nodes[i].attrs.get("parameter_number", ""))
    return int(number) if number.isdecimal() and len(number) < 10 else i


def _unchanged(side: Side) -> dict[int, dict[int, int]]:
    """{state of a loop: {result: the edge of its start}}, for the results that the body gives back as it took them."""
    unchanged: dict[int, dict[int, int]] = {}
    for i, called in enumerate(side.calls):
        if len(side.operands[i]) != 1 or facts_of(side.nodes[i].op).control not in LOOPS:
            continue
        start, results = side.operands[i][0] // TAGS, len(side.nodes[i].outputs)
        states = [x for g in called if len(side.callers[g]) == 1 for x in side.members(g) if side.nodes[x].is_argument]
        kept = {result for state in states for result in _given_back(side, state, results)}
        starts = side.operands[start] if plain_name(side.nodes[start].op) == "tuple" else []
        if kept and len(starts) == results:
            edges = {result: starts[result - 1] for result in kept}
            unchanged.update((state, edges) for state in states if len(side.nodes[state].outputs) == results)
    return unchanged


def _given_back(side: Side, state: int, results: int) -> Iterator[int]:
    """The results of a state, from 1, that its graph gives back as it took them."""
    graph, base = side.graphs[side.graph[state]], side.first[side.graph[state]]
    output = base + graph.position[graph.outputs[0][0]] if len(graph.outputs) == 1 else state
    for result, edge in enumerate(side.operands[output] if len(side.operands[output]) == results else (), 1):
        if is_element(side.nodes[edge // TAGS].op) and side.operands[edge // TAGS]:
            edge = side.operands[edge // TAGS][0]
        if edge // TAGS == state and edge % RESULTS == result:
            yield result


def _returned(side: Side) -> dict[int, list[int]]:
    """{call: the edges from the values that it returns}, for calls of one graph that has no other caller: its output, or the operands of
    the tuple that it returns."""
    returned: dict[int, list[int]] = {}
    for i, called in enumerate(side.calls):
        if len(called) != 1 or len(side.callers[called[0]]) != 1:
            continue
        graph = side.graphs[called[0]]
        if len(graph.outputs) != 1 or graph.name in side.same:
            continue
        (id, index), count = graph.outputs[0], len(side.nodes[i].outputs)
        output = side.first[called[0]] + graph.position[id]
        if count == 1:
            returned[i] = [output * TAGS + min(index + 1, RESULTS - 1)]
        elif plain_name(side.nodes[output].op) == "tuple" and len(side.operands[output]) == count:
            returned[i] = side.operands[output]
    return returned
