"""Which forward nodes a backward node of a training step differentiates.

Frameworks record where an operation came from (JAX wraps its scope in `transpose(jvp(…))`, PyTorch keeps the forward node), but not
which forward operation a backward one belongs to. That follows from evidence, in this order: the same scope without the wrappers and
the same source location ("place"), the same scope alone ("scope"), the same line alone ("source"), the same operands. Of several forward
nodes that share this evidence, data flow decides: gradients flow against the data, a sum undoes a broadcast, and a product reads what its
operation read. Helpers that linearization adds to the forward half for use in the backward half (the -1/2 · y/x of an rsqrt) have the
location of their operation too, but they are not what was differentiated; nor are the insides of reducers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from opscope.analysis.derivatives import REDUCING
from opscope.ops import facts_of, plain_name
from opscope.program import (
    BACKWARD,
    BACKWARD_OF,
    DIRECTION_ATTR,
    FORWARD,
    INFERRED_ATTR,
    Details,
    Graph,
    Link,
    Node,
    NodeKey,
    Program,
)

MOST_LINKS = 8
"""More forward candidates than this explain nothing; only the nearest are linked."""
OWN_RESULT = frozenset({"exp", "exp2", "exponential", "logistic", "rsqrt", "sigmoid", "sqrt", "tanh"})
"""Operations whose derivative is expressed by their own result."""
_SIGNS, _DIFFERENCES = frozenset({"neg", "negate"}), frozenset({"sub", "subtract"})
_PRODUCTS, _QUOTIENTS = frozenset({"mul", "multiply"}), frozenset({"div", "divide"})
_CONTRACTIONS = frozenset({"dot", "dot_general", "convolution", "conv_general_dilated"})
"""Products that no derivative of an elementwise operation contains."""
_SUMS = frozenset({"add", "add_any"})
"""Operations that add the gradients of several uses."""


class BackwardLink(NamedTuple):
    """A backward node, the forward nodes it differentiates, and the evidence: place, scope, source or operands."""

    graph: str
    node: str
    forward: tuple[tuple[str, str], ...]
    evidence: str


def backward_links(program: Program) -> list[BackwardLink]:
    """Every node that is marked backward, with its forward nodes. A node without any has the evidence "none".

    Inferred directions come with the links that follow from them; without scopes and source lines, there is no other evidence.
    """
    if INFERRED_ATTR in program.attrs:
        return []
    index = _ForwardIndex()
    origins: dict[int, _Origin] = {}  # nodes share details, and a compiled module has few different ones
    evidence: dict[_Evidence, int] = {}
    waiting = []
    reducers = _reducers(program)
    for graph in program:
        if graph.name in reducers:
            continue
        graph_origins = []
        for node in graph:
            details = node.details
            origin = origins.get(id(details))
            if origin is None:
                origin = origins[id(details)] = _origin(node, evidence)
            graph_origins.append(origin)
        helpers = _helpers(graph, graph_origins)
        for node, origin, helper in zip(graph, graph_origins, helpers, strict=True):
            if origin.direction == FORWARD:
                index.add(graph, node, origin, helper)
            elif origin.direction == BACKWARD:
                waiting.append((graph, node, origin))
    links = {(graph.name, node.id): BackwardLink(graph.name, node.id, *index.find(graph, node, origin)) for graph, node, origin in waiting}
    for graph, node in reversed(index.prepared):
        key = (graph.name, node.id)
        if forward := index.prepared_for(graph, node, links):
            links[key] = links[key]._replace(forward=forward)
    return list(links.values())


def _reducers(program: Program) -> set[str]:
    """Graphs that only combine two values; they are not steps of the program."""
    return {name for graph in program for node in graph if node.calls and plain_name(node.op) in REDUCING for name in node.calls}


def _helpers(graph: Graph, origins: Sequence[_Origin]) -> list[bool]:
    """Which forward nodes exist only for the backward half: nothing else reads them, directly or through other helpers."""
    helps = [False] * len(origins)
    if not any(origin.direction == BACKWARD for origin in origins):
        return helps
    users, position = graph.users, graph.position
    for i in range(len(origins) - 1, -1, -1):
        if origins[i].direction == FORWARD:
            readers = users.get(graph.nodes[i].id, ())
            helps[i] = bool(readers) and all(helps[position[name]] or origins[position[name]].direction == BACKWARD for name in readers)
    return helps


def with_backward_links(program: Program) -> Program:
    """The program with links from backward to forward nodes (`backward_of`). A node that already has such links keeps them."""
    added: dict[str, dict[str, tuple[Link, ...]]] = defaultdict(dict)
    shared: dict[tuple[str, tuple[NodeKey, ...]], tuple[Link, ...]] = {}  # several steps of one derivative have the same forward nodes
    for link in backward_links(program):
        targets = shared.get((link.graph, link.forward))
        if targets is None:
            each = (Link(BACKWARD_OF, node, "" if graph == link.graph else graph) for graph, node in link.forward)
            targets = shared[link.graph, link.forward] = tuple(each)
        added[link.graph][link.node] = targets
    if not added:
        return program
    graphs = {name: _with_links(graph, added.get(name, {})) for name, graph in program.graphs.items()}
    return replace(program, graphs=MappingProxyType(graphs))


def _with_links(graph: Graph, added: Mapping[str, tuple[Link, ...]]) -> Graph:
    if not any(added.values()):
        return graph

    def linked(node: Node) -> Node:
        links = added.get(node.id, ())
        if not links or any(link.kind == BACKWARD_OF for link in node.links):
            return node
        return node._replace(links=node.links + links if node.links else links)

    return replace(graph, nodes=tuple(map(linked, graph.nodes)))


_Evidence: TypeAlias = tuple[object, ...]
_Key: TypeAlias = int
"""The number of a piece of evidence. Scopes and stacks of source lines are long, and each is compared very often."""
_MOST_COMPARED = 24


class _Origin(NamedTuple):
    """Where a node comes from, according to its details: keys to find related nodes by, from the strongest to the weakest.

    Each kind of evidence has a key with the primitive and one without: the derivative of a multiply is a multiply.
    """

    direction: str
    keys: tuple[tuple[str, _Key, _Key], ...]
    shared: frozenset[_Key]
    """The keys without the primitive."""
    primitive: str
    details: Details

    @property
    def place(self) -> _Key:
        """The strongest evidence without the primitive."""
        return self.keys[0][2]


def _origin(node: Node, numbers: dict[_Evidence, _Key]) -> _Origin:
    """`numbers` has the number of each piece of evidence so far, and gets those that are new."""
    attrs, scope, frames = node.attrs, node.scope, node.source
    name = str(attrs.get("metadata.op_name") or attrs.get("op_name") or node.op)
    primitive = name.partition(";")[0].rpartition("/")[2]
    stack = attrs.get("metadata.stack_frame_id")  # XLA's frames include columns, so they separate `(x - m) * rsqrt(v)`
    places: list[tuple[str, _Evidence]] = []
    if stack:
        places.append(("place", (scope, str(stack))))
    if frames:
        places.append(("place", (scope, frames)))
    places.append(("scope", (scope,)))
    if frames:
        places.append(("source", (frames,)))

    def number(evidence: _Evidence) -> _Key:
        return numbers.setdefault(evidence, len(numbers))

    keys = tuple((kind, number((*evidence, primitive)), number(evidence)) for kind, evidence in places)
    # A sum of gradients belongs to no function of PyTorch, so its scope and line say nothing; its reader links it where that is certain.
    direction = "" if attrs.get("is_gradient_acc") else str(attrs.get(DIRECTION_ATTR, ""))
    return _Origin(direction, keys, frozenset(key for *_, key in keys), primitive, node.details)


class _Relatives(NamedTuple):
    """Forward nodes, those of the same primitive first, and the evidence that relates a backward node to them."""

    nodes: tuple[NodeKey, ...]
    evidence: str
    key: _Key
    """What they share."""
    helper: bool
    same_primitive: frozenset[NodeKey]


class _Step(NamedTuple):
    """A backward node that has been looked up."""

    place: _Key
    forward: tuple[NodeKey, ...]
    gradient: bool
    """Whether a gradient flows through it; otherwise it only prepares values of the forward half."""


class _Before(NamedTuple):
    """Forward nodes whose gradients come before a backward node's: its operation may be one of the first, or begins one of the others."""

    units: tuple[NodeKey, ...]
    """The operations of the steps before it."""
    feeding: tuple[NodeKey, ...]
    """What feeds those, the nearest first."""


_NOTHING_BEFORE = _Before((), ())


class _ForwardIndex:
    """Forward nodes by what they share with their backward nodes."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[bool, _Key], list[NodeKey]] = {}
        self.node: dict[NodeKey, Node] = {}
        self.origin: dict[NodeKey, _Origin] = {}
        self._helpers: set[NodeKey] = set()
        self._rows: dict[tuple[int, bool], list[list[NodeKey]]] = {}
        self._relatives: dict[int, _Relatives] = {}
        self._steps: dict[NodeKey, _Step] = {}
        self._units: dict[NodeKey, tuple[NodeKey, ...]] = {}
        self._read: dict[NodeKey, tuple[str, ...]] = {}
        self._preceding: dict[tuple[_Key, tuple[tuple[NodeKey, ...], ...]], _Before] = {}
        self._own_result: set[NodeKey] = set()
        self._reshaping: set[NodeKey] = set()
        self.prepared: list[tuple[Graph, Node]] = []
        """Backward nodes through which no gradient flows yet."""

    def add(self, graph: Graph, node: Node, origin: _Origin, helper: bool) -> None:
        key = (graph.name, node.id)
        self.node[key] = node
        self.origin[key] = origin
        self._read[key] = tuple([name for name, _ in node.inputs])
        if plain_name(node.op) in OWN_RESULT:
            self._own_result.add(key)
        if facts_of(node.op).category == "shape":
            self._reshaping.add(key)
        if helper:
            self._helpers.add(key)
        rows = self._rows.get((id(origin), helper))
        if rows is None:
            keys = (key for _, *pair in origin.keys for key in pair)
            rows = self._rows[id(origin), helper] = [self.by_key.setdefault((helper, key), []) for key in keys]
        for row in rows:
            row.append(key)

    def find(self, graph: Graph, node: Node, origin: _Origin) -> tuple[tuple[NodeKey, ...], str]:
        """Forward nodes and evidence for a backward node. Its backward operands must have been looked up before it."""
        relatives = self._relatives.get(id(origin))
        if relatives is None:
            relatives = self._relatives[id(origin)] = self._related(origin)
        read = [key for name, _ in node.inputs if (key := (graph.name, name)) in self.node]
        if not relatives.nodes:
            return tuple(read[:MOST_LINKS]), "operands" if read else "none"
        steps = [step for name, _ in node.inputs if (step := self._steps.get((graph.name, name)))]
        # A forward value that only gets another shape is being prepared; no gradient flows through it yet.
        gradient = any(step.gradient for step in steps) if steps else len(read) != 1 or facts_of(node.op).category != "shape"
        forward: Sequence[NodeKey] = relatives.nodes
        if len(forward) > 1:
            values = self._values_read(graph, node)
            by_result = gradient and plain_name(node.op) not in _CONTRACTIONS and self._results_read(graph, node, origin, values)
            forward = by_result or self._differentiated(graph, node, origin, relatives, steps, values, gradient)
        if not self._reshaping.isdisjoint(forward) and facts_of(node.op).category == "elementwise":
            forward = [each for key in forward for each in self._computing(graph, key)]
        links = tuple(dict.fromkeys(forward))[:MOST_LINKS]
        self._steps[graph.name, node.id] = _Step(origin.place, links, gradient)
        if not gradient:
            self.prepared.append((graph, node))
        return links, relatives.evidence if links else "none"

    def prepared_for(self, graph: Graph, node: Node, links: Mapping[NodeKey, BackwardLink]) -> tuple[NodeKey, ...]:
        """The operations whose derivatives read what a node only prepares: the divisor that is broadcast again for dx = dy / b is part of
        the division, and not of the broadcast that it repeats."""
        if facts_of(node.op).category != "shape":
            return ()
        readers = (key for name in graph.users.get(node.id, ()) if (key := (graph.name, name)) in self._steps)
        return tuple(dict.fromkeys(key for reader in readers for key in links[reader].forward))[:MOST_LINKS]

    def _computing(self, graph: Graph, key: NodeKey) -> Sequence[NodeKey]:
        """Instead of a node that only changes the shape of an operand, what its operation computes with that, if anything: no product or
        quotient is part of the derivative of a broadcast."""
        waiting, computing = [key], []
        for each in waiting:  # grows while it is walked
            if each not in self._reshaping:
                computing.append(each)
            elif len(waiting) < MOST_LINKS:
                users = ((each[0], name) for name in graph.users.get(each[1], ()) if each[0] == graph.name)
                waiting += [user for user in users if user in self.node and user not in waiting and self._is_one(key, user)]
        return computing or (key,)

    def _related(self, origin: _Origin) -> _Relatives:
        """Forward nodes by the strongest evidence there is; helpers only if that evidence leads to nothing else."""
        for evidence, strict, loose in origin.keys:
            for helper in (False, True):
                same = self.by_key.get((helper, strict), [])[:_MOST_COMPARED]
                others = self.by_key.get((helper, loose), [])[:_MOST_COMPARED]
                if others:
                    return _Relatives(tuple(dict.fromkeys([*same, *others])), evidence, loose, helper, frozenset(same))
        return _Relatives((), "", -1, False, frozenset())

    def _results_read(self, graph: Graph, node: Node, origin: _Origin, values: Iterable[str]) -> list[NodeKey]:
        """Operations at this place whose derivative uses their own result, which the node reads: dx = dy ⊙ exp(x). A result that is used
        several times is differentiated only once the gradients of all uses have been added."""
        own, place = self._own_result, origin.place
        results = [key for name in values if (key := (graph.name, name)) in own and self.origin[key].place == place]
        results = [key for key in results if not self._is_numerator(graph, node, key)]
        if not results:
            return results
        added = any(plain_name(graph[name].op) in _SUMS for name, _ in node.inputs if (graph.name, name) in self._steps)
        return results if added else [key for key in results if self._uses(graph, key) < 2]

    def _is_numerator(self, graph: Graph, node: Node, result: NodeKey) -> bool:
        """Whether a node goes on with a product of the derivative of a division by b, db = -dy / b² · a, and the result is a."""
        for name, _ in node.inputs:
            step = self._steps.get((graph.name, name))
            if step and plain_name(graph[name].op) in _PRODUCTS:
                quotients = (key for key in step.forward if plain_name(self.node[key].op) in _QUOTIENTS)
                if any(self._read[key][:1] == result[1:] for key in quotients):
                    return True
        return False

    def _uses(self, graph: Graph, key: NodeKey) -> int:
        users = ((graph.name, name) for name in graph.users.get(key[1], ()))
        return sum(user in self.node and user not in self._helpers for user in users)

    def _differentiated(
        self,
        graph: Graph,
        node: Node,
        origin: _Origin,
        relatives: _Relatives,
        steps: Sequence[_Step],
        values: set[str],
        gradient: bool,
    ) -> Sequence[NodeKey]:
        """Those of several related nodes that a backward node differentiates. Gradients flow against the data: it continues the operation
        of the step before it, or begins one of those that feed that."""
        units, feeding = self._before(graph, steps, relatives)
        if reading := self._reading(units, values) or self._reading(feeding, values):
            return reading
        if gradient and (reshaped := self._reshaped(graph, node)):
            # A gradient that nothing precedes is that of the loss, the last of all.
            candidates = (*units, *feeding) if steps else reversed(self.by_key[relatives.helper, relatives.key])
            for key in candidates:
                if self._is_transposed(graph, node, reshaped, self.node[key]):
                    return [key]
        place, primitive = origin.place, origin.primitive
        continued = [step.forward for step in steps if step.place == place]
        same = [forward for forward in continued if any(self.origin[key].primitive == primitive for key in forward)]
        return (
            self._first(graph, same)
            or self._reading(relatives.nodes, values.intersection(name for name, _ in node.inputs))
            or self._reading(relatives.nodes, values)
            or [key for key in feeding if self._is_alike(graph, node, origin, key)][:1]
            or self._first(graph, continued)
            or [key for key in (*units, *feeding) if key in relatives.same_primitive]
            or self._first(graph, [step.forward for step in steps if set(units).issuperset(step.forward)])
            or [key for key in relatives.nodes if key in relatives.same_primitive]
            or [key for key in relatives.nodes if self.node[key].op == node.op]
            or (relatives.nodes if relatives.evidence == "place" else ())
        )

    def _before(self, graph: Graph, steps: Sequence[_Step], relatives: _Relatives) -> _Before:
        """The operations of these steps and the forward nodes that feed them, as far as they share the evidence of the relatives. Many
        backward nodes come after the same forward nodes."""
        if not steps:
            return _NOTHING_BEFORE
        operations = tuple([step.forward for step in steps])
        before = self._preceding.get((relatives.key, operations))
        if before is None:
            units = tuple(dict.fromkeys(key for forward in operations for each in forward for key in self._unit(graph, each)))
            before = _Before(self._sharing(units, relatives), self._sharing(self._feeding(units), relatives))
            self._preceding[relatives.key, operations] = before
        return before

    def _sharing(self, keys: Iterable[NodeKey], relatives: _Relatives) -> tuple[NodeKey, ...]:
        """Those that share the evidence of the relatives, in their order."""
        return tuple([key for key in keys if relatives.key in self.origin[key].shared])

    def _first(self, graph: Graph, steps: Sequence[tuple[NodeKey, ...]]) -> tuple[NodeKey, ...]:
        """The forward nodes of the step that is furthest back: where gradients meet, that is where they flow on."""
        position = graph.position
        return min((step for step in steps if step), key=lambda step: min(position.get(name, 0) for _, name in step), default=())

    def _reading(self, keys: Iterable[NodeKey], values: set[str]) -> list[NodeKey]:
        """Those that read one of these values."""
        if not values:
            return []
        read = self._read
        return [key for key in keys if not values.isdisjoint(read[key])]

    def _unit(self, graph: Graph, key: NodeKey) -> tuple[NodeKey, ...]:
        """The nodes that one operation of the source became, which are connected: a division with the broadcasts of its operands."""
        unit = self._units.get(key)
        if unit is None:
            nodes = [key]
            for each in nodes:  # grows while it is walked
                users = graph.users.get(each[1], ()) if each[0] == graph.name else ()
                for name in (*(name for name, _ in self.node[each].inputs), *users):
                    other = (each[0], name)
                    if len(nodes) < MOST_LINKS and other not in nodes and other in self.node and self._is_one(key, other):
                        nodes.append(other)
            unit = self._units[key] = tuple(nodes)
        return unit

    def _is_one(self, key: NodeKey, other: NodeKey) -> bool:
        return self.origin[key].keys[0][1] == self.origin[other].keys[0][1]

    def _feeding(self, units: tuple[NodeKey, ...]) -> list[NodeKey]:
        """The forward nodes that feed these, the nearest first."""
        reached = set(units)
        waiting = list(units)
        most = len(waiting) + _MOST_COMPARED
        for key in waiting:  # grows while it is walked
            for name in self._read[key]:
                other = (key[0], name)
                if other not in reached and other in self.node and len(waiting) < most:
                    reached.add(other)
                    waiting.append(other)
        return waiting[len(units) :]

    def _reshaped(self, graph: Graph, node: Node) -> set[tuple[int | str, ...]]:
        """The shapes of the gradients that arrive at a node and leave it with another shape."""
        if not node.outputs:
            return set()
        leaving = node.outputs[0].shape
        arriving = (graph[name].outputs for name, _ in node.inputs if (graph.name, name) not in self.node)
        return {outputs[0].shape for outputs in arriving if outputs and outputs[0].shape != leaving}

    def _is_transposed(self, graph: Graph, node: Node, reshaped: Collection[tuple[int | str, ...]], forward: Node) -> bool:
        """Whether a backward node undoes the change of shape of a forward node: a sum that of a broadcast. Gradients of the shapes
        `reshaped` get another shape in it."""
        if not forward.outputs or forward.outputs[0].shape not in reshaped:
            return False
        operands = [graph[name] for name, _ in forward.inputs if name in graph]
        return any(bool(each.outputs) and each.outputs[0].shape == node.outputs[0].shape for each in operands)

    def _is_alike(self, graph: Graph, node: Node, origin: _Origin, key: NodeKey) -> bool:
        """Whether a backward node does to a gradient what a forward node did to a value of its shape. A negation is of a difference."""
        op, forward = plain_name(node.op), self.node[key]
        same = self.origin[key].primitive == origin.primitive or (op in _SIGNS and plain_name(forward.op) in _DIFFERENCES)
        arriving = (graph[name] for name, _ in node.inputs if (graph.name, name) in self._steps)
        return same and any(each.outputs and forward.outputs and each.outputs[0].shape == forward.outputs[0].shape for each in arriving)

    def _values_read(self, graph: Graph, node: Node) -> set[str]:
        """The names of forward values that a backward node reads, through the helpers that prepare them."""
        names: set[str] = set()
        waiting = [node]
        for reader in waiting:  # grows while it is walked
            for name, _ in reader.inputs:
                if name in names or len(names) >= _MOST_COMPARED:
                    continue
                key = (graph.name, name)
                if key in self.node:
                    names.add(name)
                    if key in self._helpers:
                        waiting.append(graph[name])
                elif graph[name].is_argument:
                    names.add(name)
        return names
