"""Memory computed from the order of a program alone, where no compiler reports it.

A buffer is in use from the node that makes it to its last use, and every argument throughout. The plan is XLA's: arguments, constants
and outputs have memory of their own from start to end; temporaries may be in that of outputs while these are not there, and an
elementwise operation may write its result over an operand that is not needed any more.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from itertools import groupby

from opscope.analysis.moved import parameter_number
from opscope.gc_pause import without_collecting
from opscope.memory.aliases import Aliases, Value
from opscope.memory.generated import argument_kind, gradient_made
from opscope.memory.model import Buffer, Kind, Memory
from opscope.memory.order import Order, running_order
from opscope.memory.plan import Allocation, Span, allocations_of, make_plan
from opscope.memory.reasons import Reasons
from opscope.memory.recomputed import with_recomputed
from opscope.memory.sharing import takeovers
from opscope.memory.xla_reports import LiveRanges
from opscope.ops import facts_of
from opscope.program import BACKWARD, BACKWARD_OF, Graph, Node, Program
from opscope.recording.dumps.inductor_code import CHANNELS_FIRST, GENERATED_BY

_MULTIPLIES_FIRST = "aten._softmax_backward_data"


def computed_memory(program: Program, *, explain: bool = True) -> Memory:
    """The memory of one run, in the order of the program. Without `explain`, buffers do not say why they are alive: that takes longest.

    Only for a module that XLA has scheduled is that order the one that runs, and the plan XLA's. Other programs get buffers where
    they make them, and give them back after the last use.
    """
    with without_collecting():
        memory = _computed(program, explain)
        return with_recomputed(program, memory) if explain else memory


def _computed(program: Program, explain: bool) -> Memory:
    order = running_order(program)
    aliases = Aliases(program, order.graphs)
    lifetimes, read = _lifetimes(program, order, aliases)
    allocations = allocations_of(aliases, lifetimes)
    reasons = Reasons(program) if explain else None
    if program.attrs.get("is_scheduled") != "true":
        buffers = _buffers(program, order, aliases, (lifetimes, read), allocations, {}, reasons)
        return Memory(program.name, "computed", order.steps, buffers, order.graph_names)
    plan = make_plan(aliases, allocations, takeovers(program, order, aliases))
    buffers = _buffers(program, order, aliases, (lifetimes, read), allocations, plan.slots, reasons)
    return Memory(program.name, "computed", order.steps, buffers, order.graph_names, reserved=plan.reserved, split=plan.split)


def schedule_ranges(program: Program, tuples: Container[str]) -> LiveRanges:
    """When each value is alive, as XLA's live-range text says it. `tuples` are instructions whose result is a tuple: its table of pointers
    is a value too, and a program does not tell a tuple of one element from the element."""
    order = running_order(program)
    aliases = Aliases(program, order.graphs)
    ranges = {(node.id, "{}"): span for node, span in _tables(order, tuples)}
    for value, span in zip(aliases.values, _lifetimes(program, order, aliases)[0], strict=True):
        ranges[value.node.id, f"{{{value.output}}}"] = span
        if value.node.id not in tuples:
            ranges[value.node.id, "{}"] = span
    return LiveRanges(order.steps, ranges, None, {}, len(order.steps))


def _tables(order: Order, tuples: Container[str]) -> Iterator[tuple[Node, Span]]:
    """Nodes with a table of pointers to the elements of a tuple, and when it is alive."""
    conditions = {name for graph in order.graphs for node in graph for name in order.conditions(node)}
    for graph in order.graphs:
        tables = {node.id: node for node in graph if node.id in tuples or facts_of(node.op).forwards == "tuple"}
        last = {name: order.position[graph.name, name] for name in tables}
        for node in graph:
            for name, _ in node.inputs:
                if name in last:
                    last[name] = max(last[name], order.read_at(graph, node))
        last.update((name, order.end[graph.name]) for name, _ in graph.outputs if name in last)
        if graph.name in conditions:
            last.update((node.id, order.end[graph.name]) for node in graph.parameters if node.id in last)
        for name, node in tables.items():
            yield node, (order.start[graph.name] if node.is_argument else order.position[graph.name, name], last[name])


def _lifetimes(program: Program, order: Order, aliases: Aliases) -> tuple[list[Span], dict[int, int]]:
    """The first and the last position of each value; and of those that stay until a derivative returns, the position of the last reader."""
    first = [order.start[value.graph] if value.node.is_argument else order.position[value.graph, value.node.id] for value in aliases.values]
    last = [order.position[value.graph, value.node.id] for value in aliases.values]
    for graph in order.graphs:
        for node in graph.nodes:
            position = order.read_at(graph, node)
            for value in aliases.operands(graph, node):
                last[value] = max(last[value], position)
            for value in aliases.unchanged.get((graph.name, node.id), ()):
                last[value] = max(last[value], order.position[graph.name, node.id])
            for value in aliases.stacked.get((graph.name, node.id), ()):
                first[value] = position
            for condition in order.conditions(node):
                for value in aliases.arguments(program[condition]):
                    last[value] = max(last[value], order.end[condition])
        for value in aliases.results(graph):
            last[value] = max(last[value], order.end[graph.name])
    read: dict[int, int] = {}
    for nodes in _backward_functions(program.main):
        end = order.position[program.entry, nodes[-1].id]
        for node in nodes:
            for value in (*aliases.operands(program.main, node), *aliases.made_by(program.main, node)):
                if end > last[value]:
                    read.setdefault(value, last[value])
                    last[value] = end
    for node in program.main:
        if node.role == "gradient":
            for value in aliases.operands(program.main, node):
                last[value] = len(order.steps)
    for value in aliases.arguments(program.main):
        if value not in aliases.donated:
            last[value] = len(order.steps)
    return list(zip(first, last, strict=True)), {value: at for value, at in read.items() if last[value] < len(order.steps)}


def _backward_functions(graph: Graph) -> Iterator[list[Node]]:
    """Nodes of PyTorch's backward half that come from one derivative. What it reads and makes is there until it returns."""
    links = [tuple(link.node for link in node.links if link.kind == BACKWARD_OF) for node in graph]
    for forward, group in groupby(zip(links, graph, strict=True), key=lambda pair: pair[0]):
        nodes = [node for _, node in group]
        if forward and nodes[0].op.startswith("aten."):
            yield nodes


def _buffers(
    program: Program,
    order: Order,
    aliases: Aliases,
    lifetimes: tuple[list[Span], Mapping[int, int]],
    allocations: Mapping[int, Allocation],
    slots: Mapping[int, int],
    reasons: Reasons | None,
) -> list[Buffer]:
    end = len(order.steps)
    marks = [node for node in program.main if node.role == "gradient"]
    gradients = {aliases.buffer(value): node.id.removeprefix("grad.") for node in marks for value in aliases.operands(program.main, node)}
    buffers = []
    for key, allocation in allocations.items():
        slot = slots.get(key, key)
        donated = next((aliases.values[number].node for number in allocation.values if number in aliases.donated), None)
        for number in allocation.values:
            value = aliases.values[number]
            born, last = lifetimes[0][number]
            kind, why = _kind(program, donated, allocation, value, gradients.get(key, ""), last >= end)
            output = f"{{{value.output}}}" if len(value.node.outputs) > 1 else ""
            read = lifetimes[1].get(number)
            buffer = Buffer(value.node.id, value.bytes, kind, born, last, value.graph, output, (slot, 0), value.type, why, read=read)
            buffers.append(reasons.explained(buffer, *order.node_at(last)) if reasons else buffer)
    buffers += _workspaces(order, aliases, GENERATED_BY in program.attrs)
    buffers.sort(key=lambda buffer: (buffer.born, buffer.last))
    return buffers


def _workspaces(order: Order, aliases: Aliases, is_generated: bool) -> Iterator[Buffer]:
    """Scratch memory of libraries on a GPU: cuDNN copies channels-first operands of a convolution into the order that it computes in, and
    PyTorch's derivative of softmax first multiplies its gradient with its result."""
    for graph in order.graphs:
        for node in graph:
            if is_generated and node.attrs.get(CHANNELS_FIRST):
                size = sum(aliases.values[value].bytes or 0 for value in aliases.operands(graph, node))
            elif node.op.startswith(_MULTIPLIES_FIRST):
                size = sum(aliases.values[value].bytes or 0 for value in aliases.made_by(graph, node))
            else:
                continue
            at = order.position[graph.name, node.id]
            yield Buffer(node.id, size, "workspace", at, at, graph.name, why=f"workspace of {node.id}, estimated")


def _kind(
    program: Program, donated: Node | None, allocation: Allocation, value: Value, gradient_of: str, to_the_end: bool
) -> tuple[Kind, str]:
    if value.node.is_argument and value.graph == program.entry:
        if GENERATED_BY in program.attrs:
            return argument_kind(value.node)
        if value.node.role in ("input", "buffer"):
            return value.node.role, value.node.role
        number = value.node.attrs.get("parameter_number")
        return "parameter", ("parameter" if number is None else f"parameter {number}") + (", donated" if donated else "")
    if value.node.role == "constant":
        return "constant", "constant"
    if gradient_of:
        return "gradient", f"gradient of {gradient_of}"
    if allocation.is_output and to_the_end and value.graph == BACKWARD and GENERATED_BY in program.attrs:
        return "gradient", gradient_made(value.node, value.output)
    if allocation.is_output and to_the_end:
        return "output", f"output, aliases parameter {parameter_number(donated)}" if donated else ""
    return "temporary", ""
