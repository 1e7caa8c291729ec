"""The order in which the nodes of a program run, with the graphs that loops, calls and conditionals run in their place."""

from __future__ import annotations

from typing import NamedTuple

from opscope.ops import facts_of, plain_name
from opscope.ops.facts import LOOPS
from opscope.program import Graph, Node, NodeKey, Program


class Order(NamedTuple):
    steps: list[str]
    """Node ids, in the order of the run."""
    graph_names: list[str]
    """The graph of each step."""
    position: dict[NodeKey, int]
    graphs: list[Graph]
    start: dict[str, int]
    """The position of the first node of each graph."""
    end: dict[str, int]
    """The position after the last node of each graph: that of the node that runs it."""

    def node_at(self, position: int) -> tuple[str, str]:
        """The node that runs at a position, and its graph; empty at the end."""
        return (self.steps[position], self.graph_names[position]) if position < len(self.steps) else ("", "")

    def read_at(self, graph: Graph, node: Node) -> int:
        """When a node reads its operands: a loop, or half of a step that torch.compile generated, when the first of its graphs starts. From
        there on they are values of that graph."""
        hands_over = is_half(node) or facts_of(node.op).control in LOOPS
        starts = [self.start[name] for name in node.calls if name in self.start and hands_over]
        return min(starts, default=self.position[graph.name, node.id])

    def conditions(self, node: Node) -> list[str]:
        """The graphs of a loop that run before its body, which then takes over what they were given."""
        if not node.calls or facts_of(node.op).control not in LOOPS:
            return []
        return sorted((name for name in dict.fromkeys(node.calls) if name in self.start), key=self.start.__getitem__)[:-1]


def running_order(program: Program) -> Order:
    """A graph that is called from several places has one position: that of its first call."""
    order = Order([], [], {}, [program.main], {program.entry: 0}, {})
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
        order.graph_names.append(graph.name)
        stack.append((graph, number + 1, False))
    return order


def is_half(node: Node) -> bool:
    """Whether a node is the forward or backward half of a step that torch.compile recorded: it calls the graph of its own name, which
    frees its arguments after their last use."""
    return node.op in node.calls


def _run_inside(node: Node) -> tuple[str, ...]:
    """The graphs that run step by step when a node runs. A fusion is one step."""
    if not node.calls:
        return ()
    control = facts_of(node.op).control
    runs = control in LOOPS or control in ("call", "cond") or plain_name(node.op) == "async_start" or is_half(node)
    return node.calls if runs else ()
