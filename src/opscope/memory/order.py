"""The order in which the nodes of a program run, with the graphs that loops, calls and conditionals run in their place."""

from __future__ import annotations

from typing import NamedTuple

from opscope.ops import facts_of, plain_name
from opscope.ops.facts import LOOPS
from opscope.program import Graph, Node, NodeKey, Program


class Order(NamedTuple):
    steps: list[str]
    """Node ids, in the order of the run."""
    position: dict[NodeKey, int]
    graphs: list[Graph]
    start: dict[str, int]
    """The position of the first node of each graph."""
    end: dict[str, int]
    """The position after the last node of each graph: that of the node that runs it."""

    def read_at(self, graph: Graph, node: Node) -> int:
        """When a node reads its operands: a loop when its body starts, from where on they are values of the body."""
        starts = [self.start[name] for name in node.calls if name in self.start and facts_of(node.op).control in LOOPS]
        return max(starts, default=self.position[graph.name, node.id])


def running_order(program: Program) -> Order:
    """A graph that is called from several places has one position: that of its first call."""
    order = Order([], {}, [program.main], {program.entry: 0}, {})
    stack: list[tuple[Graph, int, bool]] = [(program.main, 0, False)]
    """Graphs that are running: the next node, and whether the graphs that it calls have been run."""
    while stack:
        graph, number, called_before = stack.pop()
        if number == len(graph.nodes):
            order.end[graph.name] = len(order.steps)
            continue
        node = graph.nodes[number]
        called = [] if called_before else [program[name] for name in dict.fromkeys(_run_inside(node)) if name not in order.start]
        if number == 0 and not called_before:
            order.start[graph.name] = len(order.steps)
        if called:
            order.start.update((each.name, len(order.steps)) for each in called)
            order.graphs.extend(called)
            stack.append((graph, number, True))
            stack.extend((each, 0, False) for each in reversed(called))
            continue
        order.position[graph.name, node.id] = len(order.steps)
        order.steps.append(node.id)
        stack.append((graph, number + 1, False))
    return order


def _run_inside(node: Node) -> tuple[str, ...]:
    """The graphs that run step by step when a node runs. A fusion is one step."""
    if not node.calls:
        return ()
    control = facts_of(node.op).control
    return node.calls if control in LOOPS or control in ("call", "cond") or plain_name(node.op) == "async_start" else ()
