"""Follows candidates for the seed through a whole program, into the graphs that it calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from functools import reduce as fold
from operator import or_
from types import MappingProxyType
from typing import TypeAlias

from opscope.analysis.halves.dependence import INDEPENDENT, WITH_REDUCER, Dependence, nonlinear, result, total, unknown
from opscope.ops import plain_name
from opscope.program import WHOLE, Node, Program, ValueRef

Values: TypeAlias = tuple[Dependence, ...]
"""The outputs of a node, or the elements of a tuple."""
Arguments: TypeAlias = tuple[Values, ...]
Request: TypeAlias = tuple[str, Arguments]
Use: TypeAlias = tuple[str, str, str]
"""A graph, a constant in it, and one of its users: a constant is shared by everything that needs its value."""

CALLS = frozenset(
    ("call", "fusion", "composite", "async_start", "custom_vjp_call", "custom_jvp_call", "pjit", "jit", "closed_call", "remat")
)
_MOST_ROUNDS = 12
"""A loop is followed until what it carries is settled; this often at most."""
_MOST_VISITS = 40
"""How often a node may be visited, on average, before a program counts as too intricate."""


class TooIntricateError(Exception):
    """Loops in loops, or graphs that are called in very many ways."""


class Visit:
    """One way in which a graph is called: how its arguments depend on the candidates, and therefore its nodes."""

    def __init__(self, arguments: Arguments, started: Mapping[tuple[str, str], int] = MappingProxyType({})) -> None:
        self.arguments = arguments
        self.started = started
        """The candidates that start on an edge, by its ends."""
        self.values: dict[str, Values] = {}
        self.results: Values = ()

    @property
    def given(self) -> int:
        """The candidates that its arguments depend on."""
        return fold(or_, (value.any for values in self.arguments for value in values), 0)

    def of(self, node: str) -> Dependence:
        """All outputs of a node together."""
        values = self.values.get(node, ())
        return values[0] if len(values) == 1 else merged(values)

    def read(self, node: Node, ref: ValueRef) -> Dependence:
        """What a node reads: a value, or a candidate that starts there."""
        started = self.started.get((ref[0], node.id))
        if started is not None:
            return Dependence(linear=started)
        values = self.values.get(ref[0], ())
        return values[ref[1]] if 0 <= ref[1] < len(values) else self.of(ref[0])

    def linear(self, node: str) -> int:
        """The candidates in which any output of a node is linear."""
        return fold(or_, (value.linear for value in self.values.get(node, ())), 0)

    def dependent(self, node: str) -> int:
        """The candidates on which any output of a node depends."""
        return fold(or_, (value.any for value in self.values.get(node, ())), 0)


def merged(values: Values) -> Dependence:
    return total(values) if values else INDEPENDENT


class Propagation:
    """The visits to each graph that the entry reaches, for all candidates at once."""

    def __init__(self, program: Program, bits: Mapping[Use, int]) -> None:
        self._program = program
        self._started: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        for (graph, source, user), bit in bits.items():
            self._started[graph][source, user] = bit
        self._plain = {op: plain_name(op) for op in {node.op for graph in program for node in graph}}
        self._settled: dict[Request, Visit] = {}
        self._visited = 0
        self._limit = _MOST_VISITS * program.node_count + 1000
        self.entry = self._run((program.entry, ()))

    @property
    def visits(self) -> list[tuple[str, Visit]]:
        return [(name, visit) for (name, _), visit in self._settled.items()]

    def _run(self, request: Request) -> Visit:
        """Calls are followed with a stack of generators, because they may be nested deeper than Python's own stack allows."""
        stack: list[tuple[Request, Generator[Request, Visit, Visit]]] = [(request, self._steps(request))]
        names = {request[0]}
        answer: Visit | None = None
        while True:
            request, steps = stack[-1]
            try:
                wanted = steps.send(answer) if answer is not None else next(steps)
            except StopIteration as done:
                answer = self._settled[request] = done.value
                stack.pop()
                names.discard(request[0])
                if not stack:
                    return self._settled[request]
                continue
            answer = self._settled.get(wanted)
            if answer is None and wanted[0] in names:
                answer = Visit(wanted[1])  # a graph that calls itself
            if answer is None:
                stack.append((wanted, self._steps(wanted)))
                names.add(wanted[0])

    def _steps(self, request: Request) -> Generator[Request, Visit, Visit]:
        name, arguments = request
        graph = self._program[name]
        self._visited += len(graph)
        if self._visited > self._limit:
            raise TooIntricateError
        visit = Visit(arguments, self._started[name])
        values = visit.values
        for order, node in enumerate(graph.parameters):
            number = node.attrs.get("parameter_number", order)
            place = int(number) if isinstance(number, int) or str(number).isdigit() else order
            given = arguments[place] if place < len(arguments) else ()
            values[node.id] = given or (INDEPENDENT,) * max(1, len(node.outputs))
        for node in graph:
            if node.is_argument:
                continue
            count = max(1, len(node.outputs))
            if node.role == "constant":
                values[node.id] = (Dependence(zero=is_zero(node)),) * count
                continue
            operands = [self._operand(visit, node, ref) for ref in node.inputs]
            outputs = yield from self._outputs(node, operands)
            values[node.id] = outputs if len(outputs) == count else (merged(outputs),) * count
        visit.results = tuple(value for ref in graph.outputs for value in _read(values, ref))
        return visit

    def _operand(self, visit: Visit, node: Node, ref: ValueRef) -> Values:
        bit = visit.started.get((ref[0], node.id))
        return (Dependence(linear=bit),) if bit is not None else _read(visit.values, ref)

    def _outputs(self, node: Node, operands: list[Values]) -> Generator[Request, Visit, Values]:
        op = self._plain[node.op]
        flat = tuple(value for operand in operands for value in operand)
        if op == "tuple":
            return tuple(merged(operand) for operand in operands)
        if op in ("opt_barrier", "optimization_barrier"):
            waits = 0
            for value in flat:
                waits |= value.linear
            return tuple(value._replace(after=value.after | (waits & ~value.any)) for value in flat)
        if op == "while" and node.calls:
            return (yield from self._loop(node, operands))
        if op in ("conditional", "cond", "case", "if") and node.calls:
            return (yield from self._branches(node, operands))
        if op in CALLS and node.calls:
            visit = yield node.calls[0], tuple(operands)
            return visit.results
        if op == "custom_call":
            return (unknown(flat),)
        if op == "get_tuple_element":
            return flat
        adds = op not in WITH_REDUCER or (len(operands) <= 3 and self._reducer(node) in ("add", "add_any"))
        return (result(op, [merged(operand) for operand in operands], adds),)

    def _loop(self, node: Node, operands: list[Values]) -> Generator[Request, Visit, Values]:
        """What a loop carries is settled once another iteration changes nothing."""
        body = node.calls[-1]
        carried = tuple(value for operand in operands for value in operand)
        sizes = [len(operand) for operand in operands]
        for _ in range(_MOST_ROUNDS):
            visit = yield body, _split(carried, sizes)
            following = visit.results
            if len(following) != len(carried):
                return (nonlinear(carried),)
            joined = tuple(total((before, after)) if before != after else before for before, after in zip(carried, following, strict=True))
            if joined == carried:
                break
            carried = joined
        return carried

    def _branches(self, node: Node, operands: list[Values]) -> Generator[Request, Visit, Values]:
        outcomes: list[Values] = []
        for number, name in enumerate(node.calls):
            given = (
                operands[1 + number] if len(operands) == 1 + len(node.calls) else tuple(value for rest in operands[1:] for value in rest)
            )
            visit = yield name, (given,)
            outcomes.append(visit.results)
        if len({len(outcome) for outcome in outcomes}) != 1:
            return (nonlinear([value for operand in operands for value in operand]),)
        return tuple(total(either, operands[0]) for either in zip(*outcomes, strict=True))

    def _reducer(self, node: Node) -> str:
        body = self._program[node.calls[-1]] if node.calls else None  # the first of a select-and-scatter selects
        return self._plain[body[body.outputs[0][0]].op] if body is not None and body.outputs else ""


def _read(values: Mapping[str, Values], ref: ValueRef) -> Values:
    name, index = ref
    outputs = values.get(name, (INDEPENDENT,))
    return outputs if index == WHOLE else (outputs[index] if index < len(outputs) else INDEPENDENT,)


def _split(values: Values, sizes: Sequence[int]) -> Arguments:
    parts, start = [], 0
    for size in sizes:
        parts.append(values[start : start + size])
        start += size
    return tuple(parts)


def is_zero(node: Node) -> bool:
    text = str(node.attrs.get("value", ""))
    try:
        return float(text) == 0
    except ValueError:
        return text == "false"
