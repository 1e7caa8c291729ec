"""Which constants backpropagation started with: those that follow from a loss (`loss.py`), or the one with the most evidence.

Any constant may be it: the gradient of a mean starts with 1/n. The right one is told by what its products read. A gradient is multiplied
with values of the forward half, and with the right ones: the derivative of a matrix product is another product with one of its operands,
over the dimensions that the first left alone; that of a division divides by the same divisor. A constant of the forward half is linear in
what follows it too, but its products read weights and values that nothing else uses in that way.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from functools import reduce as fold
from operator import and_, or_
from typing import NamedTuple

from opscope.analysis.derivatives import OWN_RESULT, REDUCING
from opscope.analysis.halves.dependence import PASSING, PRODUCTS, QUOTIENTS, SUMS_OF_ALL
from opscope.analysis.halves.loss import losses, returned_numbers
from opscope.analysis.halves.propagate import Propagation, Use, Visit, is_zero
from opscope.ops import plain_name
from opscope.program import Graph, Node, Program, TensorType, ValueRef, dtype_kind

MOST_CANDIDATES = 20_000
_LEAST_SHARE = 0.3
"""Of the products of gradients, at least this share must be the derivative of an operation."""
_BY_CHANCE = 1
"""So many products with a constant of the forward half, such as those of GELU, can look like derivatives."""
_ALMOST = 1
"""A helper of the forward half (the 2 of 2x, the derivative of x²) has the evidence of the seed and its own; the seed comes later."""
_MATRIX = frozenset(("dot", "dot_general"))
_MAXIMA = frozenset(("maximum", "minimum", "max", "min"))
_LOGARITHMS = frozenset(("log", "log_plus_one", "log1p"))
_RUNNING = frozenset(("while", "call", "conditional"))
_SELECT = frozenset(("select", "select_n"))
_NUMBERS = re.compile(r"\d+")


def candidates(program: Program) -> dict[Use, int]:
    """One bit for each use of a constant that may be the seed."""
    reducers = {name for graph in program for node in graph if node.calls and plain_name(node.op) in REDUCING for name in node.calls}
    bits: dict[Use, int] = {}
    for graph in program:
        if graph.name in reducers:
            continue
        for node in graph:
            if node.role == "constant" and _may_be_seed(node):
                for user in graph.users.get(node.id, ()):
                    if _keeps_linear(graph[user], node.id):
                        bits[graph.name, node.id, user] = 1 << len(bits)
    return bits


def _may_be_seed(node: Node) -> bool:
    return len(node.outputs) == 1 and node.outputs[0].shape == () and dtype_kind(node.outputs[0].dtype) == "float" and not is_zero(node)


def _keeps_linear(user: Node, constant: str) -> bool:
    """Whether the user may be the first step of backpropagation; a constant that is added to something is not its start."""
    op = plain_name(user.op)
    return op not in SUMS_OF_ALL | _MAXIMA and op != "compare" and not (op in QUOTIENTS and user.inputs[0][0] != constant)


class Seeds(NamedTuple):
    uses: frozenset[Use]
    """The edges on which backpropagation starts."""
    losses: dict[str, list[str]]
    """By graph, the losses that they follow from, so that none is missing; empty if that is not known."""


def find_seeds(program: Program) -> Seeds | None:
    """Where backpropagation starts; None if the program is not a training step, or if that cannot be decided.

    A loss that is returned says where its backward half starts, however many terms it has. Without one, it is the constant with the most
    evidence. In both cases, no other constant may have evidence in what is left: that would be another loss, or a gradient that the loss
    is computed from.
    """
    returned = losses(program)
    every = candidates(program)
    bits = {use: bit for use, bit in every.items() if not any(use in loss.starts for loss in returned)}
    first = 1 << len(every)
    followed = {**bits, **{use: first << i for i, loss in enumerate(returned) for use in loss.starts}}
    if not followed or len(bits) > MOST_CANDIDATES:
        return None
    evidence = _Evidence(program, Propagation(program, followed))
    started = {first << i: loss for i, loss in enumerate(returned) if evidence.eligible & first << i}
    sure = [bit for bit in started if evidence.is_sure(bit)]
    seeds = [bit for bit, loss in started.items() if bit in sure or not evidence.depends(loss.graph, loss.node, sure)]
    if seeds != sure or evidence.is_joined(sure):
        return None
    seeds = seeds or evidence.best(bits.values())
    if not sure and any(not evidence.depends(*number, seeds) for number in returned_numbers(program)):
        return None  # one of them may be the loss, and its backward half starts in a way that is not known
    if not seeds or evidence.is_elsewhere(fold(or_, seeds)):
        return None
    of_graph: dict[str, list[str]] = defaultdict(list)
    for bit in sure:
        of_graph[started[bit].graph].append(started[bit].node)
    return Seeds(frozenset(use for use, bit in followed.items() if bit in seeds), of_graph)


class _Evidence:
    """What speaks for the candidates that a result with the type of an argument depends on."""

    def __init__(self, program: Program, propagation: Propagation) -> None:
        self.program = program
        self.visits = propagation.visits
        self.eligible = _gradients_returned(program, propagation.entry)
        self.explained: Counter[int] = Counter()
        self.unexplained: Counter[int] = Counter()
        self.added: Counter[int] = Counter()
        self.sizes: Counter[int] = Counter()
        for name, visit in self.visits:
            graph = program[name]
            for node in graph:
                self.sizes.update(_bits(visit.of(node.id).linear & self.eligible))
            for _, because, rest in products(graph, visit, is_called=name != program.entry):
                self.explained.update(_bits(because & self.eligible))
                self.unexplained.update(_bits(rest & self.eligible))
            for mask in sums(graph, visit):
                self.added.update(_bits(mask & self.eligible))

    def best(self, bits: Iterable[int]) -> list[int]:
        """The candidate with the most evidence, if that is enough."""
        sure = [bit for bit in bits if self.is_sure(bit)]
        most = max((self.explained[bit] + self.added[bit] for bit in sure), default=0)
        near = [bit for bit in sure if self.explained[bit] + self.added[bit] >= most - _ALMOST]
        return sorted(near, key=lambda bit: (self.sizes[bit], -self.explained[bit]))[:1]

    def is_sure(self, bit: int) -> bool:
        return bool(self.explained[bit]) and self.explained[bit] >= _LEAST_SHARE * (self.explained[bit] + self.unexplained[bit])

    def depends(self, graph: str, node: str, bits: Iterable[int]) -> bool:
        """Whether a node is computed from gradients: their norm, for example."""
        mask = fold(or_, bits, 0)
        return any(visit.of(node).any & mask for name, visit in self.visits if name == graph)

    def is_joined(self, seeds: Collection[int]) -> bool:
        """Whether a value depends on several losses: their gradients are added outside of backpropagation, or one is computed from the
        gradients of another."""
        mask = fold(or_, seeds, 0)
        depends = (value.any & mask for _, visit in self.visits for values in visit.values.values() for value in values)
        return len(seeds) > 1 and any(bits & (bits - 1) for bits in depends)

    def is_elsewhere(self, seeds: int) -> bool:
        """Whether a candidate has evidence in what does not depend on the seeds."""
        explained: Counter[int] = Counter()
        for name, visit in self.visits:
            for node, because, _ in products(self.program[name], visit, is_called=name != self.program.entry, independent_of=seeds):
                # One product can look like a derivative by chance; the transpose of a matrix product does not.
                weight = 1 + _BY_CHANCE if plain_name(node.op) in _MATRIX else 0 if node.calls else 1
                explained.update(dict.fromkeys(_bits(because & ~seeds), weight))
        return any(count > _BY_CHANCE for count in explained.values())


def _gradients_returned(program: Program, entry: Visit) -> int:
    """The candidates on which a result of the program depends that has the type of one of its arguments: a gradient, or what it updates."""
    arguments = {_plain_type(output) for node in program.main.parameters for output in node.outputs if dtype_kind(output.dtype) == "float"}
    eligible = 0
    for ref in program.main.outputs:
        node = program.main[ref[0]]
        for output, value in zip(node.outputs, entry.values.get(node.id, ()), strict=False):
            if _plain_type(output) in arguments:
                eligible |= value.any
    return eligible


def _plain_type(output: TensorType) -> TensorType:
    return output._replace(layout="")


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest
        mask ^= lowest


def products(graph: Graph, visit: Visit, *, is_called: bool, independent_of: int = 0) -> Iterator[tuple[Node, int, int]]:
    """Each product of a gradient and a value, the candidates for which it is the derivative of an operation, and those for which not.

    A value that a called graph was given says nothing: the operation that read it is elsewhere. A loop that continues a gradient and reads
    what another loop saved is the derivative of that loop; likewise calls and branches.

    With `independent_of`, only those that do not depend on these candidates, of earlier operations that do not either.
    """
    uses = Uses(graph)
    position = graph.position

    def counts(partner: str, node: Node) -> bool:
        return not independent_of or (position[partner] < position[node.id] and not visit.dependent(partner) & independent_of)

    for node in graph:
        linear = visit.linear(node.id)
        if not linear or visit.dependent(node.id) & independent_of:
            continue
        if node.calls and plain_name(node.op) in _RUNNING:
            because = 0
            for other in filter(partial(counts, node=node), uses.same_kind_before(node)):
                because |= linear & ~visit.dependent(other)
            yield node, because, 0
        for gradient, value in factors(node):
            if not uses.varies[value[0]] or not (uses.varies[gradient[0]] or plain_name(node.op) in _MATRIX):
                continue  # a value times a number: every forward half has those
            mask = visit.read(node, gradient).linear & ~visit.read(node, value).any
            if mask:
                because = 0
                for partner in filter(partial(counts, node=node), uses.differentiated(node, value)):
                    because |= mask & ~visit.of(partner).any
                yield node, because, 0 if is_called and uses.given[value[0]] else mask & ~because


def sums(graph: Graph, visit: Visit) -> Iterator[int]:
    """For each sum, the candidates for which it is one of gradients: of a value that was used several times."""
    for node in graph:
        if plain_name(node.op) in SUMS_OF_ALL and visit.of(node.id).linear:
            yield fold(and_, (visit.read(node, ref).linear for ref in node.inputs))


def factors(node: Node) -> Iterator[tuple[ValueRef, ValueRef]]:
    """The operands of a product that may be a gradient and the value that it is multiplied with."""
    op = plain_name(node.op)
    if op in PRODUCTS and len(node.inputs) >= 2:
        first, second = node.inputs[:2]
        yield first, second
        yield second, first
    elif op in QUOTIENTS and len(node.inputs) == 2:
        yield node.inputs[0], node.inputs[1]
    elif op in _SELECT and len(node.inputs) == 3:
        yield node.inputs[1], node.inputs[0]
        yield node.inputs[2], node.inputs[0]
    elif op == "scatter" and len(node.inputs) == 3:
        yield node.inputs[2], node.inputs[1]


_MOST_COMPARED = 32


class Uses:
    """The operations of a graph by the values that they read."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.readers: dict[tuple[ValueRef, str], list[str]] = defaultdict(list)
        self.varies: dict[str, bool] = {}
        """Whether a node depends on an argument of the graph, and not on constants alone."""
        self.given: dict[str, bool] = {}
        """Whether a node only passes on what the graph was given."""
        for node in graph:
            op = plain_name(node.op)
            passes = bool(node.inputs) and (op in PASSING or bool(node.calls))
            self.given[node.id] = node.is_argument or (passes and all(self.given.get(name, False) for name, _ in node.inputs[:1]))
            self.varies[node.id] = node.is_argument or any(self.varies.get(name, True) for name, _ in node.inputs)
            for ref in dict.fromkeys(node.inputs):
                self.readers[ref, op].append(node.id)

    def same_kind_before(self, node: Node) -> Iterator[str]:
        """The loops whose results a loop is given, or the calls whose results a call is given."""
        for name, _ in node.inputs:
            for given, _ in self.graph[name].inputs if plain_name(self.graph[name].op) == "tuple" else [(name, 0)]:
                source = self.graph[given]
                while plain_name(source.op) == "get_tuple_element":
                    source = self.graph[source.inputs[0][0]]
                if source.calls and plain_name(source.op) == plain_name(node.op):
                    yield source.id

    def differentiated(self, node: Node, value: ValueRef) -> Iterator[str]:
        """The operations whose derivative multiplies a gradient with this value as `node` does."""
        op = plain_name(node.op)
        if op in _MATRIX:
            yield from (other for other in self._others(node, value, op) if self._complementary(node, self.graph[other], value))
        elif op in PRODUCTS:
            yield from self._others(node, value, op)
            if plain_name(self.graph[value[0]].op) in OWN_RESULT:
                yield value[0]
            for quotient in QUOTIENTS:  # the gradient of a divisor is multiplied with the dividend
                yield from (other for other in self._others(node, value, quotient) if self.graph[other].inputs[0] == value)
        elif op in QUOTIENTS:
            yield from (other for other in self._others(node, value, op) if self.graph[other].inputs[1] == value)
            for logarithm in _LOGARITHMS:
                yield from self._others(node, value, logarithm)
        elif op in _SELECT:
            yield from self._others(node, value, op)
            for compared in self.graph[value[0]].inputs:
                for extremum in _MAXIMA:
                    yield from self._others(node, compared, extremum)
        elif op == "scatter":
            yield from self._others(node, value, "gather")

    def _complementary(self, product: Node, other: Node, value: ValueRef) -> bool:
        """Whether one matrix product sums over exactly the dimensions of a value that the other leaves alone."""
        source = self.graph[value[0]]
        rank = len(source.outputs[max(value[1], 0)].shape) if source.outputs else 0
        summed, _ = _dimensions(product, value)
        summed_there, batched_there = _dimensions(other, value)
        return summed == set(range(rank)) - summed_there - batched_there

    def _others(self, node: Node, value: ValueRef, op: str) -> list[str]:
        return [other for other in self.readers.get((value, op), ())[:_MOST_COMPARED] if other != node.id]


def _dimensions(node: Node, value: ValueRef) -> tuple[set[int], set[int]]:
    """The dimensions of an operand that a matrix product sums over, and those that it goes through in step with the other."""
    side = "lhs" if node.inputs[0] == value else "rhs"
    contracting, batch = (node.attrs.get(f"{side}_{kind}_dims", "") for kind in ("contracting", "batch"))
    return {int(number) for number in _NUMBERS.findall(str(contracting))}, {int(number) for number in _NUMBERS.findall(str(batch))}
