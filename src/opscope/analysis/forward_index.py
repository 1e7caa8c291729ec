"""Forward nodes by what they share with backward nodes, and those of them that a backward node differentiates (see gradients.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from opscope.analysis.forward_nodes import Forward, Row
from opscope.analysis.origins import CALL, EVIDENCE, LINE, SCOPE, WITH_SCOPE, Key, Origin, level_of, parts_of
from opscope.ops import facts_of, plain_name
from opscope.program import ARGUMENT_ROLES, RECOMPUTED, Graph, NodeColumns, NodeKey

_MOST_LINKS = 8
"""More forward candidates than this explain nothing; only the nearest are linked."""
_SIGNS, _DIFFERENCES = frozenset({"neg", "negate"}), frozenset({"sub", "subtract"})
_PRODUCTS, _QUOTIENTS = frozenset({"mul", "multiply"}), frozenset({"div", "divide"})
_CONTRACTIONS = frozenset({"dot", "dot_general", "convolution", "conv_general_dilated"})
"""Products that no derivative of an elementwise operation contains."""
_SUMS = frozenset({"add", "add_any"})
"""Operations that add the gradients of several uses."""

Shape: TypeAlias = tuple[int | str, ...]
_MOST_COMPARED = 24
_MOST_KNOWN = 1 << 14
"""Nodes with the same evidence, or after the same forward nodes, are near each other, so not all that was found is remembered."""


Value: TypeAlias = Forward | NodeKey
"""What a node is the value of: a forward node, an argument of a graph, or a node of which nothing else is known."""


class _Relatives(NamedTuple):
    """Forward nodes, those of the same primitive first, and the level of evidence that relates a backward node to them."""

    nodes: tuple[Forward, ...]
    level: int
    key: Key
    """What they share."""
    helper: bool
    same_primitive: Sequence[Forward]


class _Step(NamedTuple):
    """A backward node that has been looked up."""

    place: Key
    forward: tuple[Forward, ...]
    gradient: bool
    """Whether a gradient flows through it; otherwise it only prepares values of the forward half."""


class _Before:
    """Forward nodes whose gradients come before a backward node's: its operation may be one of the first, or begins one of the others.
    They are those of `operations` that share a key."""

    __slots__ = ("_feeding", "_key", "_operations", "units")

    def __init__(self, operations: tuple[Forward, ...], key: Key) -> None:
        self._operations = operations
        self._key = key
        self._feeding: tuple[Forward, ...] | None = None
        self.units = _sharing(operations, key)
        """The operations of the steps before it."""

    @property
    def feeding(self) -> tuple[Forward, ...]:
        """What feeds those, the nearest first. For most nodes nobody asks."""
        if self._feeding is None:
            self._feeding = _sharing(_feeding(self._operations), self._key)
        return self._feeding


class Part:
    """A graph with what is known about its nodes so far, by their ids: most of the work is looking up operands."""

    def __init__(self, graph: Graph, is_entry: bool) -> None:
        self.graph = graph
        self.is_entry = is_entry
        self.arguments = {name for name, role in zip(graph.ids, graph.roles, strict=True) if role in ARGUMENT_ROLES}
        self.own: dict[str, Forward] = {}
        """Forward nodes of this graph."""
        self.forward: dict[str, Forward] = {}
        """Forward nodes, also where another node is their value: what is recomputed, and what was saved."""
        self.same_argument: dict[str, NodeKey] = {}
        """Nodes that are an argument of another graph, passed on."""
        self.repeated: set[Forward] = set()
        """Forward nodes that recomputed nodes of this graph repeat."""
        self.steps: dict[str, _Step] = {}
        """Backward nodes that have been looked up."""
        self.links: dict[str, tuple[Forward, ...]] = {}
        """What was found for backward nodes."""

    def value(self, name: str) -> Value:
        """What a node is the value of: itself, if nothing else is known."""
        return self.forward.get(name) or self.same_argument.get(name) or (self.graph.name, name)

    def op_of(self, name: str) -> str:
        """The operation of a node, without making the node: those of a large graph are columns."""
        nodes, place = self.graph.nodes, self.graph.position[name]
        return nodes.ops[place] if isinstance(nodes, NodeColumns) else nodes[place].op

    def forget(self) -> None:
        """Give the memory back, once nobody asks any more."""
        for forward in self.own.values():
            forward.unit, forward.sources, forward.values = (), None, None
        for known in (self.own, self.forward, self.repeated, self.steps, self.links):
            known.clear()


_Rows: TypeAlias = dict[Key, list[Forward]]


class ForwardIndex:
    """Forward nodes by what they share with their backward nodes."""

    def __init__(self, grows: bool) -> None:
        """`grows` says whether nodes may be added after the first was looked up."""
        self._grows = grows
        self.parts: dict[str, Part] = {}
        self._added: tuple[list[Forward], list[Forward]] = ([], [])
        """The forward nodes that are not helpers, and those that are, in the order in which they were added."""
        self._rows: dict[tuple[bool, int], _Rows] = {}
        """By whether they are helpers and the level of evidence, the forward nodes by their evidence. Most levels are never asked for."""
        self._of_primitives: dict[int, tuple[list[Forward], defaultdict[str, list[Forward]]]] = {}
        """By the identity of a long row, those of it that have been looked at, and these by their primitive."""
        self._offsets: dict[tuple[int, bool], set[int]] = {}
        """By level and whether they are helpers, what there is of evidence without the scope."""
        self._levels: dict[tuple[int, ...], list[tuple[int, bool]]] = {}
        """By the evidence of an origin without the scope, the levels and helpers at which there is such evidence."""
        self._relatives: dict[int, _Relatives] = {}
        self._of_rows: dict[tuple[Key, str, bool, int], _Relatives] = {}
        """Relatives by evidence, primitive, whether they are helpers and how many nodes had this evidence: later there may be more."""
        self._preceding: dict[tuple[Key, tuple[tuple[Forward, ...], ...]], _Before] = {}
        self.prepared: list[tuple[Part, Row]] = []
        """Backward nodes through which no gradient flows yet."""

    def add(self, part: Part, row: Row, origin: Origin, helper: bool) -> None:
        forward = part.forward[row.id] = part.own[row.id] = Forward(part, row, origin, helper)
        self._added[helper].append(forward)
        for (is_helper, level), rows in self._rows.items():
            if is_helper == helper:
                _put([forward], level, rows)

    def rows(self, helper: bool, level: int) -> _Rows:
        """Forward nodes by the evidence at a level, in the order in which they were added."""
        rows = self._rows.get((helper, level))
        if rows is None:
            rows = self._rows[helper, level] = {}
            _put(self._added[helper], level, rows)
        return rows

    def of_primitive(self, row: Sequence[Forward], primitive: str) -> Sequence[Forward]:
        """Those of a row that have this primitive, in its order."""
        if len(row) <= _MOST_COMPARED:
            return [each for each in row if each.origin.primitive == primitive]
        seen, groups = self._of_primitives.setdefault(id(row), ([], defaultdict(list)))
        for each in islice(row, len(seen), None):
            groups[each.origin.primitive].append(each)
            seen.append(each)
        return groups.get(primitive, ())

    def find(self, part: Part, node: Row, origin: Origin) -> tuple[tuple[Forward, ...], str]:
        """Forward nodes and evidence for a backward node. Its backward operands must have been looked up before it."""
        relatives = self._relatives.get(id(origin))
        if relatives is None:
            if not self._grows and len(self._relatives) == _MOST_KNOWN:
                self._relatives.clear()
                self._of_rows.clear()
            relatives = self._relatives[id(origin)] = self._related(origin)
        read: list[Forward] = []
        steps: list[_Step] = []
        of_forward, of_steps = part.forward, part.steps
        for name in node.read:
            if name in of_forward:
                read.append(of_forward[name])
            elif name in of_steps:
                steps.append(of_steps[name])
        if not relatives.nodes:
            return tuple(read[:_MOST_LINKS]), "operands" if read else "none"
        # A forward value that only gets another shape is being prepared; no gradient flows through it yet.
        gradient = True in [step.gradient for step in steps] if steps else len(read) != 1 or facts_of(node.op).category != "shape"
        forward: Sequence[Forward] = relatives.nodes
        if relatives.level == CALL and (users := [user for each in read for user in each.users()]):
            forward = _sharing(users, relatives.key) or forward
        elif len(forward) > 1:
            values = _values_read(part, node)
            by_result = values and gradient and self._results_read(part, node, origin, values)
            forward = by_result or self._differentiated(part, node, origin, relatives, steps, values, gradient)
        if True in [each.reshapes for each in forward] and facts_of(node.op).category == "elementwise":
            forward = [every for each in forward for every in (_computing(each) if each.reshapes else (each,))]
        links = tuple(dict.fromkeys(forward))[:_MOST_LINKS] if len(forward) > 1 else tuple(forward)
        of_steps[node.id] = _Step(origin.place, links, gradient)
        if not gradient:
            self.prepared.append((part, node))
        return links, EVIDENCE[relatives.level] if links else "none"

    def prepared_for(self, part: Part, node: Row) -> tuple[Forward, ...]:
        """The operations whose derivatives read what a node only prepares: the divisor that is broadcast again for dx = dy / b is part of
        the division, and not of the broadcast that it repeats."""
        if facts_of(node.op).category != "shape":
            return ()
        readers = (name for name in part.graph.users.get(node.id, ()) if name in part.steps)
        return tuple(dict.fromkeys(forward for name in readers for forward in part.links[name]))[:_MOST_LINKS]

    def prepares(self, part: Part, name: str, origin: Origin, prepares: Mapping[NodeKey, tuple[Forward, ...]]) -> tuple[Forward, ...]:
        """The operations of its line whose derivatives read what a recomputed node prepares, directly or through others like it. Where
        none does, because the value leaves its graph, all of the line."""
        line = origin.key(LINE if LINE in origin.levels else SCOPE)
        graph, links = part.graph, part.links
        users = graph.users.get(name, ())
        forward = _sharing((each for user in users for each in links.get(user) or prepares.get((graph.name, user), ())), line)
        if not forward:
            forward = tuple(self.rows(False, level_of(line)).get(line, ())[:_MOST_LINKS])
        return tuple(dict.fromkeys(forward))[:_MOST_LINKS]

    def _related(self, origin: Origin) -> _Relatives:
        """Forward nodes by the strongest evidence there is; helpers only if that evidence leads to nothing else, and what is only computed
        again only if the line does not either: jax.checkpoint gives it the frames of the backward half."""
        recomputed = None
        for level, helper in self._levels_of(origin):
            key = origin.key(level)
            nodes = self.rows(helper, level).get(key)
            if nodes is None or (recomputed is not None and (helper or level != LINE)):
                continue
            known = (key, origin.primitive, helper, len(nodes))
            relatives = self._of_rows.get(known)
            if relatives is None:
                same = () if level == CALL else self.of_primitive(nodes, origin.primitive)[:_MOST_COMPARED]
                every = tuple(dict.fromkeys([*same, *nodes[:_MOST_COMPARED]]))
                relatives = self._of_rows[known] = _Relatives(every, level, key, helper, same)
            if EVIDENCE[level] != "place" or any(each.origin.direction != RECOMPUTED for each in relatives.nodes):
                return relatives
            recomputed = relatives
        return recomputed or _NO_RELATIVES

    def _levels_of(self, origin: Origin) -> Sequence[tuple[int, bool]]:
        """The levels of evidence, without helpers and with them, at which forward nodes may share that of an origin: in the layers of a
        large program, the same lines are missing again and again."""
        levels = self._levels.get(origin.offsets)
        if levels is None:
            levels = [(level, helper) for level in origin.levels for helper in ((False, True) if self._added[True] else (False,))]
            if not self._grows:
                for level, helper in levels:
                    if (level, helper) not in self._offsets:
                        self._offsets[level, helper] = {parts_of(key)[1] for key in self.rows(helper, level)}
                levels = self._levels[origin.offsets] = [each for each in levels if origin.offsets[each[0]] in self._offsets[each]]
        return levels

    def _results_read(self, part: Part, node: Row, origin: Origin, values: Iterable[Value]) -> list[Forward]:
        """Operations at this place whose derivative uses their own result, which the node reads: dx = dy ⊙ exp(x). A result that is used
        several times is differentiated only once the gradients of all uses have been added."""
        place = origin.place
        results = [each for each in values if isinstance(each, Forward) and each.own_result and each.origin.place == place]
        if not results or plain_name(node.op) in _CONTRACTIONS:
            return []
        results = [each for each in results if not _is_numerator(part, node, each)]
        results.sort(key=lambda each: (each.part.graph.name, each.part.graph.position[each.id]))
        added = any(plain_name(part.op_of(name)) in _SUMS for name in node.read if name in part.steps)
        return results if added else [each for each in results if sum(not user.helper for user in each.users()) < 2]

    def _differentiated(
        self,
        part: Part,
        node: Row,
        origin: Origin,
        relatives: _Relatives,
        steps: Sequence[_Step],
        values: set[Value],
        gradient: bool,
    ) -> Sequence[Forward]:
        """Those of several related nodes that a backward node differentiates. Gradients flow against the data: it continues the operation
        of the step before it, or begins one of those that feed that."""
        before = self._before(steps, relatives) if steps else _NOTHING_BEFORE
        units = before.units
        if values and (reading := _reading(units, values) or _reading(before.feeding, values)):
            return reading
        if gradient and (reshaped := _reshaped(part, node)):
            # A gradient that nothing precedes is that of the loss, the last of all.
            related = self.rows(relatives.helper, relatives.level)
            candidates = chain(units, _lazily(before)) if steps else reversed(related[relatives.key])
            for each in candidates:
                if _is_transposed(node, reshaped, each):
                    return [each]
        place, primitive = origin.place, origin.primitive
        continued = [step.forward for step in steps if step.place == place]
        same = [forward for forward in continued if primitive in [each.origin.primitive for each in forward]]
        return (
            _first(same)
            or _reading(relatives.nodes, values and values.intersection(map(part.value, node.read)))
            or _reading(relatives.nodes, values)
            or _alike(part, node, origin, before.feeding)
            or _first(continued)
            or (before.feeding[:1] if relatives.level == CALL else ())
            or [each for each in (*units, *before.feeding) if each in relatives.same_primitive]
            or _first([step.forward for step in steps if set(units).issuperset(step.forward)])
            or [each for each in relatives.nodes if each in relatives.same_primitive]
            or [each for each in relatives.nodes if each.op == node.op]
            or (relatives.nodes if relatives.level <= LINE else ())
        )

    def _before(self, steps: Sequence[_Step], relatives: _Relatives) -> _Before:
        """The operations of these steps and the forward nodes that feed them, as far as they share the evidence of the relatives. Many
        backward nodes come after the same forward nodes."""
        operations = tuple([step.forward for step in steps])
        before = self._preceding.get((relatives.key, operations))
        if before is None:
            if not self._grows and len(self._preceding) == _MOST_KNOWN:
                self._preceding.clear()
            units = tuple(dict.fromkeys([every for forward in operations for each in forward for every in each.unit or _unit(each)]))
            before = self._preceding[relatives.key, operations] = _Before(units, relatives.key)
        return before


def _sharing(nodes: Iterable[Forward], key: Key) -> tuple[Forward, ...]:
    """Those that share this evidence, in their order."""
    level = level_of(key)
    if level == CALL:
        return tuple([each for each in nodes if each.origin.has(key)])
    scope, offset = parts_of(key)
    if level == SCOPE:
        return tuple([each for each in nodes if each.origin.scope == scope])
    if WITH_SCOPE[level]:
        return tuple([each for each in nodes if each.origin.scope == scope and each.origin.offsets[level] == offset])
    return tuple([each for each in nodes if each.origin.offsets[level] == offset])


_NO_RELATIVES = _Relatives((), CALL, CALL, False, ())
_NOTHING_BEFORE = _Before((), CALL)


def _put(nodes: Iterable[Forward], level: int, rows: _Rows) -> None:
    """Add nodes to the rows of a level. The line that a node is on calls nothing: only those that called it count."""
    for forward in nodes:
        origin = forward.origin
        keys = origin.called_from if level == CALL else (origin.key(level),) if level in origin.levels else ()
        for key in keys:
            row = rows.get(key)
            if row is None:
                rows[key] = [forward]
            else:
                row.append(forward)


def _lazily(before: _Before) -> Iterator[Forward]:
    yield from before.feeding


def _computing(forward: Forward) -> Sequence[Forward]:
    """Instead of a node that only changes the shape of an operand, what its operation computes with that, if anything: no product or
    quotient is part of the derivative of a broadcast."""
    waiting, computing = [forward], []
    for each in waiting:  # grows while it is walked
        if not each.reshapes:
            computing.append(each)
        elif len(waiting) < _MOST_LINKS:
            waiting += [user for user in each.users() if user not in waiting and forward.is_one_with(user)]
    return computing or (forward,)


def _is_numerator(part: Part, node: Row, result: Forward) -> bool:
    """Whether a node goes on with a product of the derivative of a division by b, db = -dy / b² · a, and the result is a."""
    for name in node.read:
        step = part.steps.get(name)
        if step and plain_name(part.op_of(name)) in _PRODUCTS:
            quotients = (each for each in step.forward if plain_name(each.op) in _QUOTIENTS)
            if any(each.read[:1] == (result.id,) for each in quotients):
                return True
    return False


def _first(steps: Sequence[tuple[Forward, ...]]) -> tuple[Forward, ...]:
    """The forward nodes of the step that is furthest back: where gradients meet, that is where they flow on."""
    if len(steps) < 2:
        return steps[0] if steps else ()
    return min(
        (step for step in steps if step),
        key=lambda step: min([each.part.graph.position[each.id] for each in step]),
        default=(),
    )


def _reading(nodes: Iterable[Forward], values: set[Value]) -> list[Forward]:
    """Those that read one of these values."""
    if not values:
        return []
    return [each for each in nodes if not values.isdisjoint(each.values or _forward_values(each))]


def _forward_values(forward: Forward) -> tuple[Value, ...]:
    """The values that a forward node reads, which are compared again and again. What its operands are is known by then: callers are
    looked at before the graphs that they call, and operands before their users."""
    values = forward.values = tuple(map(forward.part.value, forward.read))
    return values


def _unit(forward: Forward) -> tuple[Forward, ...]:
    """The nodes that one operation of the source became, which are connected: a division with the broadcasts of its operands."""
    nodes = [forward]
    own, users_of = forward.part.own, forward.part.graph.users
    for each in nodes:  # grows while it is walked
        for name in (*each.read, *users_of.get(each.id, ())):
            if len(nodes) < _MOST_LINKS and (other := own.get(name)) and forward.is_one_with(other) and other not in nodes:
                nodes.append(other)
    forward.unit = tuple(nodes)
    return forward.unit


def _feeding(units: tuple[Forward, ...]) -> list[Forward]:
    """The forward nodes that feed these, the nearest first."""
    waiting = list(units)
    room = _MOST_COMPARED
    reached = set(units)
    for each in waiting:  # grows while it is walked
        sources = each.sources
        for other in _sources(each) if sources is None else sources:
            if other not in reached:
                reached.add(other)
                waiting.append(other)
                room -= 1
                if not room:
                    return waiting[len(units) :]
    return waiting[len(units) :]


def _sources(forward: Forward) -> list[Forward]:
    """The forward nodes that one reads."""
    own = forward.part.own
    sources = forward.sources = [own[name] for name in forward.read if name in own]
    return sources


def _reshaped(part: Part, node: Row) -> list[Shape]:
    """The shapes of the gradients that arrive at a node and leave it with another shape."""
    if not node.outputs:
        return []
    leaving = node.outputs[0].shape
    arriving = [part.graph.types_of(name) for name in node.read if name not in part.forward]
    return [outputs[0].shape for outputs in arriving if outputs and outputs[0].shape != leaving]


def _is_transposed(node: Row, reshaped: Sequence[Shape], forward: Forward) -> bool:
    """Whether a backward node undoes the change of shape of a forward node: a sum that of a broadcast. Gradients of the shapes
    `reshaped` get another shape in it."""
    results = forward.outputs
    if not results or results[0].shape not in reshaped:
        return False
    shape = node.outputs[0].shape
    operands = map(forward.part.graph.types_of, forward.read)
    return any(bool(outputs) and outputs[0].shape == shape for outputs in operands)


def _alike(part: Part, node: Row, origin: Origin, feeding: Iterable[Forward]) -> list[Forward]:
    """The nearest forward node that did to a value of its shape what a node does to a gradient; a negation is of a difference."""
    negates = plain_name(node.op) in _SIGNS
    shapes: list[Shape] | None = None
    primitive = origin.primitive
    for each in feeding:
        if each.origin.primitive == primitive or (negates and plain_name(each.op) in _DIFFERENCES):
            if shapes is None:
                arriving = [part.graph.types_of(name) for name in node.read if name in part.steps]
                shapes = [outputs[0].shape for outputs in arriving if outputs]
            if each.outputs and each.outputs[0].shape in shapes:
                return [each]
    return []


def _values_read(part: Part, node: Row) -> set[Value]:
    """The forward values that a backward node reads, through the helpers that prepare them."""
    values: set[Value] = set()
    waiting: list[Row | Forward] = [node]
    forward, arguments, same_argument = part.forward, part.arguments, part.same_argument
    for reader in waiting:  # grows while it is walked
        for name in reader.read:
            value: Value | None = forward.get(name)
            if value is None:
                value = same_argument.get(name) or ((part.graph.name, name) if name in arguments else None)
            if value is None or value in values or len(values) >= _MOST_COMPARED:
                continue
            values.add(value)
            if isinstance(value, Forward) and value.helper and value.part is part:
                waiting.append(value)
    return values
