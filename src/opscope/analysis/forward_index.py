"""Forward nodes by what they share with backward nodes, and those of them that a backward node differentiates (see gradients.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from opscope.analysis.derivatives import OWN_RESULT
from opscope.ops import facts_of, plain_name
from opscope.program import DIRECTION_ATTR, RECOMPUTED, Details, Graph, Node, NodeKey

_MOST_LINKS = 8
"""More forward candidates than this explain nothing; only the nearest are linked."""
_SIGNS, _DIFFERENCES = frozenset({"neg", "negate"}), frozenset({"sub", "subtract"})
_PRODUCTS, _QUOTIENTS = frozenset({"mul", "multiply"}), frozenset({"div", "divide"})
_CONTRACTIONS = frozenset({"dot", "dot_general", "convolution", "conv_general_dilated"})
"""Products that no derivative of an elementwise operation contains."""
_SUMS = frozenset({"add", "add_any"})
"""Operations that add the gradients of several uses."""

Evidence: TypeAlias = tuple[object, ...]
Key: TypeAlias = int
"""The number of a piece of evidence. Scopes and stacks of source lines are long, and each is compared very often."""
Shape: TypeAlias = tuple[int | str, ...]
_MOST_COMPARED = 24
_CALL = "call"
_CALLERS = 2
"""How far the line of a custom_vjp's call is from those of its forward function."""


class Origin(NamedTuple):
    """Where a node comes from, according to its details: keys to find related nodes by, from the strongest to the weakest.

    Each kind of evidence has a key with the primitive and one without: the derivative of a multiply is a multiply.
    """

    direction: str
    keys: tuple[tuple[str, Key, Key], ...]
    shared: frozenset[Key]
    """The keys without the primitive, and `called_from`."""
    called_from: tuple[Key, ...]
    """The lines that called the line of the node. The backward function of a custom_vjp has the line of the call."""
    place: Key
    """The strongest evidence without the primitive."""
    primitive: str
    details: Details


def origin_of(node: Node, numbers: dict[Evidence, Key]) -> Origin:
    """`numbers` has the number of each piece of evidence so far, and gets those that are new."""
    attrs, scope, frames = node.attrs, node.scope, node.source
    name = str(attrs.get("metadata.op_name") or attrs.get("op_name") or node.op)
    primitive = name.partition(";")[0].rpartition("/")[2]
    stack = attrs.get("metadata.stack_frame_id")  # XLA's frames include columns, so they separate `(x - m) * rsqrt(v)`
    places: list[tuple[str, Evidence]] = []
    if stack:
        places.append(("place", (scope, str(stack))))
    if frames:
        places.append(("place", (scope, frames)))
        places.append(("line", (scope, frames[0])))  # jax.checkpoint adds frames of its own
        places.append(("call", (_CALL, frames[0])))
    places.append(("scope", (scope,)))
    if frames:
        places.append(("source", (frames,)))

    def number(evidence: Evidence) -> Key:
        return numbers.setdefault(evidence, len(numbers))

    keys = tuple((kind, number((*evidence, primitive)), number(evidence)) for kind, evidence in places)
    # A sum of gradients belongs to no function of PyTorch, so its scope and line say nothing; its reader links it where that is certain.
    direction = "" if attrs.get("is_gradient_acc") else str(attrs.get(DIRECTION_ATTR, ""))
    callers = tuple(number((_CALL, frame)) for frame in frames[1 : 1 + _CALLERS])
    return Origin(direction, keys, frozenset(key for *_, key in keys).union(callers), callers, keys[0][2], primitive, node.details)


class _Relatives(NamedTuple):
    """Forward nodes, those of the same primitive first, and the evidence that relates a backward node to them."""

    nodes: tuple[NodeKey, ...]
    evidence: str
    key: Key
    """What they share."""
    helper: bool
    same_primitive: frozenset[NodeKey]


class _Step(NamedTuple):
    """A backward node that has been looked up."""

    place: Key
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


class Part:
    """A graph with what is known about its nodes so far, by their ids: most of the work is looking up operands."""

    def __init__(self, graph: Graph, is_entry: bool) -> None:
        self.graph = graph
        self.is_entry = is_entry
        self.nodes = {node.id: node for node in graph}
        self.arguments = {node.id for node in graph.parameters}
        self.forward: dict[str, NodeKey] = {}
        """Forward nodes, also where another node is their value: what is recomputed, and what was saved."""
        self.same_argument: dict[str, NodeKey] = {}
        """Nodes that are an argument of another graph, passed on."""
        self.repeated: set[NodeKey] = set()
        """Forward nodes that recomputed nodes of this graph repeat."""
        self.steps: dict[str, _Step] = {}
        """Backward nodes that have been looked up."""

    def value(self, name: str) -> NodeKey:
        """What a node is the value of: itself, if nothing else is known."""
        return self.forward.get(name) or self.same_argument.get(name) or (self.graph.name, name)


class ForwardIndex:
    """Forward nodes by what they share with their backward nodes."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[bool, Key], list[NodeKey]] = {}
        self.parts: dict[str, Part] = {}
        self.node: dict[NodeKey, Node] = {}
        self.origin: dict[NodeKey, Origin] = {}
        self._helpers: set[NodeKey] = set()
        self._rows: dict[tuple[int, bool], list[list[NodeKey]]] = {}
        self._relatives: dict[int, _Relatives] = {}
        self._units: dict[NodeKey, tuple[NodeKey, ...]] = {}
        self._read: dict[NodeKey, tuple[str, ...]] = {}
        self._values_of: dict[NodeKey, tuple[NodeKey, ...]] = {}
        self._preceding: dict[tuple[Key, tuple[tuple[NodeKey, ...], ...]], _Before] = {}
        self._own_result: set[NodeKey] = set()
        self._reshaping: set[NodeKey] = set()
        self.prepared: list[tuple[Part, Node]] = []
        """Backward nodes through which no gradient flows yet."""

    def add(self, part: Part, node: Node, origin: Origin, helper: bool) -> None:
        key = part.forward[node.id] = (part.graph.name, node.id)
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
            keys = [key for kind, *pair in origin.keys if kind != _CALL for key in pair]
            keys += origin.called_from
            rows = self._rows[id(origin), helper] = [self.by_key.setdefault((helper, key), []) for key in keys]
        for row in rows:
            row.append(key)

    def find(self, part: Part, node: Node, origin: Origin) -> tuple[tuple[NodeKey, ...], str]:
        """Forward nodes and evidence for a backward node. Its backward operands must have been looked up before it."""
        relatives = self._relatives.get(id(origin))
        if relatives is None:
            relatives = self._relatives[id(origin)] = self._related(origin)
        read: list[NodeKey] = []
        steps: list[_Step] = []
        for name, _ in node.inputs:
            if key := part.forward.get(name):
                read.append(key)
            elif step := part.steps.get(name):
                steps.append(step)
        if not relatives.nodes:
            return tuple(read[:_MOST_LINKS]), "operands" if read else "none"
        # A forward value that only gets another shape is being prepared; no gradient flows through it yet.
        gradient = any(step.gradient for step in steps) if steps else len(read) != 1 or facts_of(node.op).category != "shape"
        forward: Sequence[NodeKey] = relatives.nodes
        if relatives.evidence == _CALL and (users := [user for key in read for user in self._users(key)]):
            forward = self._sharing(users, relatives) or forward
        elif len(forward) > 1:
            values = self._values_read(part, node)
            by_result = values and gradient and self._results_read(part, node, origin, values)
            forward = by_result or self._differentiated(part, node, origin, relatives, steps, values, gradient)
        if not self._reshaping.isdisjoint(forward) and facts_of(node.op).category == "elementwise":
            forward = [each for key in forward for each in (self._computing(key) if key in self._reshaping else (key,))]
        links = tuple(dict.fromkeys(forward))[:_MOST_LINKS] if len(forward) > 1 else tuple(forward)
        part.steps[node.id] = _Step(origin.place, links, gradient)
        if not gradient:
            self.prepared.append((part, node))
        return links, relatives.evidence if links else "none"

    def prepared_for(self, part: Part, node: Node, links: Mapping[NodeKey, tuple[NodeKey, ...]]) -> tuple[NodeKey, ...]:
        """The operations whose derivatives read what a node only prepares: the divisor that is broadcast again for dx = dy / b is part of
        the division, and not of the broadcast that it repeats."""
        if facts_of(node.op).category != "shape":
            return ()
        readers = (name for name in part.graph.users.get(node.id, ()) if name in part.steps)
        return tuple(dict.fromkeys(key for name in readers for key in links[part.graph.name, name]))[:_MOST_LINKS]

    def _computing(self, key: NodeKey) -> Sequence[NodeKey]:
        """Instead of a node that only changes the shape of an operand, what its operation computes with that, if anything: no product or
        quotient is part of the derivative of a broadcast."""
        waiting, computing = [key], []
        for each in waiting:  # grows while it is walked
            if each not in self._reshaping:
                computing.append(each)
            elif len(waiting) < _MOST_LINKS:
                users = self._users(each)
                waiting += [user for user in users if user not in waiting and self._is_one(key, user)]
        return computing or (key,)

    def _related(self, origin: Origin) -> _Relatives:
        """Forward nodes by the strongest evidence there is; helpers only if that evidence leads to nothing else, and what is only computed
        again only if the line does not either: jax.checkpoint gives it the frames of the backward half."""
        recomputed = None
        for evidence, strict, loose in origin.keys:
            for helper in (False, True):
                same = self.by_key.get((helper, strict), [])[:_MOST_COMPARED]
                others = self.by_key.get((helper, loose), [])[:_MOST_COMPARED]
                if not others or (recomputed is not None and (helper or evidence != "line")):
                    continue
                relatives = _Relatives(tuple(dict.fromkeys([*same, *others])), evidence, loose, helper, frozenset(same))
                if evidence != "place" or any(self.origin[key].direction != RECOMPUTED for key in relatives.nodes):
                    return relatives
                recomputed = relatives
        return recomputed or _Relatives((), "", -1, False, frozenset())

    def _results_read(self, part: Part, node: Node, origin: Origin, values: Iterable[NodeKey]) -> list[NodeKey]:
        """Operations at this place whose derivative uses their own result, which the node reads: dx = dy ⊙ exp(x). A result that is used
        several times is differentiated only once the gradients of all uses have been added."""
        own, place = self._own_result, origin.place
        results = [key for key in values if key in own and self.origin[key].place == place]
        if not results or plain_name(node.op) in _CONTRACTIONS:
            return []
        results = [key for key in results if not self._is_numerator(part, node, key)]
        added = any(plain_name(part.nodes[name].op) in _SUMS for name, _ in node.inputs if name in part.steps)
        return results if added else [key for key in results if self._uses(key) < 2]

    def _is_numerator(self, part: Part, node: Node, result: NodeKey) -> bool:
        """Whether a node goes on with a product of the derivative of a division by b, db = -dy / b² · a, and the result is a."""
        for name, _ in node.inputs:
            step = part.steps.get(name)
            if step and plain_name(part.nodes[name].op) in _PRODUCTS:
                quotients = (key for key in step.forward if plain_name(self.node[key].op) in _QUOTIENTS)
                if any(self._read[key][:1] == result[1:] for key in quotients):
                    return True
        return False

    def _uses(self, key: NodeKey) -> int:
        return sum(user not in self._helpers for user in self._users(key))

    def _users(self, key: NodeKey) -> list[NodeKey]:
        """The forward nodes that read a forward node, in its graph."""
        users = self.parts[key[0]].graph.users.get(key[1], ())
        return [user for name in users if (user := (key[0], name)) in self.node]

    def _differentiated(
        self,
        part: Part,
        node: Node,
        origin: Origin,
        relatives: _Relatives,
        steps: Sequence[_Step],
        values: set[NodeKey],
        gradient: bool,
    ) -> Sequence[NodeKey]:
        """Those of several related nodes that a backward node differentiates. Gradients flow against the data: it continues the operation
        of the step before it, or begins one of those that feed that."""
        units, feeding = self._before(steps, relatives)
        if values and (reading := self._reading(units, values) or self._reading(feeding, values)):
            return reading
        if gradient and (reshaped := self._reshaped(part, node)):
            # A gradient that nothing precedes is that of the loss, the last of all.
            candidates = (*units, *feeding) if steps else reversed(self.by_key[relatives.helper, relatives.key])
            for key in candidates:
                if self._is_transposed(node, reshaped, key):
                    return [key]
        place, primitive = origin.place, origin.primitive
        origins = self.origin
        continued = [step.forward for step in steps if step.place == place]
        same = [forward for forward in continued if any(origins[key].primitive == primitive for key in forward)]
        return (
            self._first(same)
            or self._reading(relatives.nodes, values and values.intersection(part.value(name) for name, _ in node.inputs))
            or self._reading(relatives.nodes, values)
            or self._alike(part, node, origin, feeding)
            or self._first(continued)
            or [key for key in (*units, *feeding) if key in relatives.same_primitive]
            or self._first([step.forward for step in steps if set(units).issuperset(step.forward)])
            or [key for key in relatives.nodes if key in relatives.same_primitive]
            or [key for key in relatives.nodes if self.node[key].op == node.op]
            or (relatives.nodes if relatives.evidence == "place" else ())
        )

    def _before(self, steps: Sequence[_Step], relatives: _Relatives) -> _Before:
        """The operations of these steps and the forward nodes that feed them, as far as they share the evidence of the relatives. Many
        backward nodes come after the same forward nodes."""
        if not steps:
            return _NOTHING_BEFORE
        operations = tuple([step.forward for step in steps])
        before = self._preceding.get((relatives.key, operations))
        if before is None:
            units = tuple(dict.fromkeys(key for forward in operations for each in forward for key in self._unit(each)))
            before = _Before(self._sharing(units, relatives), self._sharing(self._feeding(units), relatives))
            self._preceding[relatives.key, operations] = before
        return before

    def _sharing(self, keys: Iterable[NodeKey], relatives: _Relatives) -> tuple[NodeKey, ...]:
        """Those that share the evidence of the relatives, in their order."""
        return tuple([key for key in keys if relatives.key in self.origin[key].shared])

    def _first(self, steps: Sequence[tuple[NodeKey, ...]]) -> tuple[NodeKey, ...]:
        """The forward nodes of the step that is furthest back: where gradients meet, that is where they flow on."""
        if len(steps) < 2:
            return steps[0] if steps else ()
        parts = self.parts
        return min(
            (step for step in steps if step), key=lambda step: min([parts[graph].graph.position[name] for graph, name in step]), default=()
        )

    def _reading(self, keys: Iterable[NodeKey], values: set[NodeKey]) -> list[NodeKey]:
        """Those that read one of these values."""
        if not values:
            return []
        read = self._values_of
        return [key for key in keys if not values.isdisjoint(read.get(key) or self._forward_values(key))]

    def _forward_values(self, key: NodeKey) -> tuple[NodeKey, ...]:
        """The values that a forward node reads, which are compared again and again. What its operands are is known by then: callers are
        looked at before the graphs that they call, and operands before their users."""
        values = self._values_of[key] = tuple(map(self.parts[key[0]].value, self._read[key]))
        return values

    def _unit(self, key: NodeKey) -> tuple[NodeKey, ...]:
        """The nodes that one operation of the source became, which are connected: a division with the broadcasts of its operands."""
        unit = self._units.get(key)
        if unit is None:
            nodes = [key]
            for each in nodes:  # grows while it is walked
                users = self.parts[each[0]].graph.users.get(each[1], ())
                for name in (*self._read[each], *users):
                    other = (each[0], name)
                    if len(nodes) < _MOST_LINKS and other not in nodes and other in self.node and self._is_one(key, other):
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

    def _reshaped(self, part: Part, node: Node) -> list[Shape]:
        """The shapes of the gradients that arrive at a node and leave it with another shape."""
        if not node.outputs:
            return []
        leaving = node.outputs[0].shape
        arriving = [part.nodes[name].outputs for name, _ in node.inputs if name not in part.forward]
        return [outputs[0].shape for outputs in arriving if outputs and outputs[0].shape != leaving]

    def _is_transposed(self, node: Node, reshaped: Sequence[Shape], key: NodeKey) -> bool:
        """Whether a backward node undoes the change of shape of a forward node: a sum that of a broadcast. Gradients of the shapes
        `reshaped` get another shape in it."""
        forward = self.node[key]
        if not forward.outputs or forward.outputs[0].shape not in reshaped:
            return False
        nodes, shape = self.parts[key[0]].nodes, node.outputs[0].shape
        operands = [nodes[name].outputs for name, _ in forward.inputs]
        return any(bool(outputs) and outputs[0].shape == shape for outputs in operands)

    def _alike(self, part: Part, node: Node, origin: Origin, feeding: Iterable[NodeKey]) -> list[NodeKey]:
        """The nearest forward node that did to a value of its shape what a node does to a gradient; a negation is of a difference."""
        negates = plain_name(node.op) in _SIGNS
        shapes: list[Shape] | None = None
        for key in feeding:
            forward = self.node[key]
            if self.origin[key].primitive == origin.primitive or (negates and plain_name(forward.op) in _DIFFERENCES):
                if shapes is None:
                    arriving = [part.nodes[name].outputs for name, _ in node.inputs if name in part.steps]
                    shapes = [outputs[0].shape for outputs in arriving if outputs]
                if forward.outputs and forward.outputs[0].shape in shapes:
                    return [key]
        return []

    def _values_read(self, part: Part, node: Node) -> set[NodeKey]:
        """The forward values that a backward node reads, through the helpers that prepare them."""
        values: set[NodeKey] = set()
        waiting = [node]
        forward, arguments, same_argument = part.forward, part.arguments, part.same_argument
        for reader in waiting:  # grows while it is walked
            for name, _ in reader.inputs:
                value = forward.get(name)
                is_forward = value is not None
                if value is None:
                    value = same_argument.get(name) or ((part.graph.name, name) if name in arguments else None)
                if value is None or value in values or len(values) >= _MOST_COMPARED:
                    continue
                values.add(value)
                if is_forward and value in self._helpers and value[0] == part.graph.name:
                    waiting.append(part.nodes[value[1]])
        return values
