"""Forward nodes by what they share with backward nodes, and those of them that a backward node differentiates (see gradients.py)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

from opscope.analysis.data_flow import (
    MOST_COMPARED,
    MOST_LINKS,
    alike,
    computing,
    feeding,
    first_of,
    is_numerator,
    is_transposed,
    passes_on,
    readers_of,
    shapes_lost,
    sources_of,
    touches,
    unit_of,
    values_read,
)
from opscope.analysis.forward_nodes import Forward, Part, Row, Step, Value
from opscope.analysis.origins import CALL, EVIDENCE, LINE, SCOPE, SOURCE, WITH_SCOPE, Key, Origin, level_of, parts_of
from opscope.ops import facts_of, plain_name
from opscope.program import RECOMPUTED

_CONTRACTIONS = frozenset({"dot", "dot_general", "convolution", "conv_general_dilated"})
"""Products that no derivative of an elementwise operation contains."""
_SUMS = frozenset({"add", "add_any"})
"""Operations that add the gradients of several uses."""

_MOST_KNOWN = 1 << 14
"""Nodes with the same evidence, or after the same forward nodes, are near each other, so not all that was found is remembered."""


class _Relatives(NamedTuple):
    """Forward nodes, those of the same primitive first, and the level of evidence that relates a backward node to them."""

    nodes: tuple[Forward, ...]
    level: int
    key: Key
    """What they share."""
    helper: bool
    same_primitive: Sequence[Forward]
    called: tuple[Forward, ...] = ()
    """Nodes of a function with a derivative of its own, which was called from the same place. It may be meant as well."""


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
            self._feeding = _sharing(feeding(self._operations), self._key)
        return self._feeding


_Rows: TypeAlias = dict[Key, list[Forward]]


class ForwardIndex:
    """Forward nodes by what they share with their backward nodes."""

    def __init__(self, rules: Container[Key], grows: bool) -> None:
        """`rules` are the places that call functions with derivatives of their own; `grows` says whether nodes may be added after the first
        was looked up."""
        self._rules = rules
        self._grows = grows
        self.parts: dict[str, Part] = {}
        self._added: tuple[list[Forward], list[Forward]] = ([], [])
        """The forward nodes that are not helpers, and those that are, in the order in which they were added."""
        self._rows: dict[tuple[bool, int], _Rows] = {}
        """By whether they are helpers and the level of evidence, the forward nodes by their evidence. Most levels are never asked for."""
        self._of_primitives: dict[int, tuple[list[Forward], defaultdict[str, list[Forward]]]] = {}
        """By the identity of a long row, those of it that have been looked at, and these by their primitive."""
        self._of_scopes: dict[int, tuple[list[Forward], defaultdict[int, list[Forward]]]] = {}
        """The same by their scope."""
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
        self.undecided: list[tuple[Part, Row, _Relatives]] = []
        """Backward nodes of something at a place, or of a function that was called from there."""

    def add(self, part: Part, row: Row, origin: Origin, helper: bool) -> None:
        forward = part.forward[row.position] = part.own[row.position] = Forward(part, row, origin, helper)
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
        if len(row) <= MOST_COMPARED:
            return [each for each in row if each.origin.primitive == primitive]
        seen, groups = self._of_primitives.setdefault(id(row), ([], defaultdict(list)))
        for each in islice(row, len(seen), None):
            groups[each.origin.primitive].append(each)
            seen.append(each)
        return groups.get(primitive, ())

    def of_scope(self, row: Sequence[Forward], scope: int) -> Sequence[Forward]:
        """Those of a row that have this scope, in its order."""
        seen, groups = self._of_scopes.setdefault(id(row), ([], defaultdict(list)))
        for each in islice(row, len(seen), None):
            groups[each.origin.scope].append(each)
            seen.append(each)
        return groups.get(scope, ())

    def find(self, part: Part, node: Row, origin: Origin) -> tuple[tuple[Forward, ...], str]:
        """Forward nodes and evidence for a backward node. Its backward operands must have been looked up before it."""
        relatives = self._relatives.get(id(origin))
        if relatives is None:
            if not self._grows and len(self._relatives) == _MOST_KNOWN:
                self._relatives.clear()
                self._of_rows.clear()
            relatives = self._relatives[id(origin)] = self._related(origin)
        read: list[Forward] = []
        steps: list[Step] = []
        of_forward, of_steps = part.forward, part.steps
        for operand in node.read:
            if value := of_forward[operand]:
                read.append(value)
            elif step := of_steps[operand]:
                steps.append(step)
        # A forward value that only gets another shape is being prepared; no gradient flows through it yet.
        gradient = True in [step.gradient for step in steps] if steps else len(read) != 1 or facts_of(node.op).category != "shape"
        if relatives.called:
            relatives = self._meant(part, node, origin, relatives, steps)
            if relatives is _UNDECIDED:
                self.undecided.append((part, node, self._relatives[id(origin)]))
                gradient = gradient and bool(steps)
        elif not relatives.nodes:
            return tuple(read[:MOST_LINKS]), "operands" if read else "none"
        forward: Sequence[Forward] = relatives.nodes
        if relatives.level == CALL and (users := [user for each in read for user in each.users()]):
            forward = _sharing(users, relatives.key) or forward
        elif len(forward) > 1:
            values = values_read(part, node)
            by_result = values and gradient and self._results_read(part, node, origin, values)
            forward = by_result or self._differentiated(part, node, origin, relatives, steps, values, gradient)
        if True in [each.reshapes for each in forward] and facts_of(node.op).category == "elementwise":
            forward = [every for each in forward for every in (computing(each) if each.reshapes else (each,))]
        links = tuple(dict.fromkeys(forward))[:MOST_LINKS] if len(forward) > 1 else tuple(forward)
        of_steps[node.position] = Step(origin.place, links, gradient, relatives.level)
        if not gradient:
            self.prepared.append((part, node))
        return links, EVIDENCE[relatives.level] if links else "none"

    def prepared_for(self, part: Part, node: Row) -> tuple[Forward, ...]:
        """The operations whose derivatives read what a node only prepares: the divisor that is broadcast again for dx = dy / b is part of
        the division, and not of the broadcast that it repeats."""
        if facts_of(node.op).category != "shape":
            return ()
        readers = (user for user in part.users[node.position] if part.steps[user])
        return tuple(dict.fromkeys(forward for user in readers for forward in part.links[user]))[:MOST_LINKS]

    def continued_by(self, part: Part, node: Row, relatives: _Relatives) -> tuple[Forward, ...]:
        """Those of the nodes at the place of an undecided one that read what its only user differentiates, if the function that was called
        does not: in act(x) · sin(x), one product goes on to the derivative of sin."""
        users = part.users[node.position]
        onward = set(part.links.get(users[0], ())) if len(users) == 1 else set()
        if any(each in onward or not onward.isdisjoint(sources_of(each)) for each in relatives.called):
            return ()
        return tuple([each for each in relatives.nodes if each not in onward and not onward.isdisjoint(sources_of(each))])

    def prepares(
        self, part: Part, position: int, origin: Origin, prepares: Mapping[tuple[str, int], tuple[Forward, ...]]
    ) -> tuple[Forward, ...]:
        """The operations of its line whose derivatives read what a recomputed node prepares, directly or through others like it. Where
        none does, because the value leaves its graph, all of the line."""
        line = origin.key(LINE if LINE in origin.levels else SCOPE)
        graph, links, users = part.graph.name, part.links, part.users[position]
        forward = _sharing((each for user in users for each in links.get(user) or prepares.get((graph, user), ())), line)
        if not forward:
            forward = tuple(self.rows(False, level_of(line)).get(line, ())[:MOST_LINKS])
        return tuple(dict.fromkeys(forward))[:MOST_LINKS]

    def _related(self, origin: Origin) -> _Relatives:
        """Forward nodes by the strongest evidence there is. A function with a derivative of its own that was called from this very place is
        meant if nothing else is computed there."""
        relatives = self._by_evidence(origin)
        place = origin.key(CALL)
        if CALL not in origin.levels or place not in self._rules or not (called := self.rows(False, CALL).get(place)):
            return relatives
        nodes = tuple((self.of_scope(called, origin.scope) or called)[:MOST_COMPARED])
        if all(each.origin.key(CALL) != place for each in self.rows(relatives.helper, relatives.level).get(relatives.key, ())):
            return _Relatives(nodes, CALL, place, False, ())
        return relatives._replace(called=nodes)

    def _meant(self, part: Part, node: Row, origin: Origin, relatives: _Relatives, steps: Sequence[Step]) -> _Relatives:
        """Which is meant of what is computed at a place and of the function with a derivative of its own that was called from there. What
        is computed there comes after the call, as in `act(x).sum()`, and its derivative before the function's."""
        place, called = origin.key(CALL), relatives.called
        rule = _Relatives(called, CALL, place, False, ())
        values = values_read(part, node)
        ours = {value for value in values if touches(value, relatives.nodes)}
        its = {value for value in values if touches(value, called)}
        if ours != its and (ours <= its or its <= ours):
            return rule if ours <= its else relatives._replace(called=())
        here = [step.level for step in steps if step.place == origin.place]
        if CALL in here or all(passes_on(each.op) for each in relatives.nodes):
            return rule
        category = facts_of(node.op).category
        if plain_name(node.op) in _CONTRACTIONS:
            computes = [any(plain_name(each.op) in _CONTRACTIONS for each in nodes) for nodes in (relatives.nodes, called)]
        elif here and (origin.primitive == "add_any" or (len(steps) == 1 and category == "shape")):
            computes = [max(here) <= LINE, False]
        else:
            reshaped = shapes_lost(part, node) if facts_of(origin.primitive).category == category else ()
            computes = [any(is_transposed(node, reshaped, each) for each in nodes) for nodes in (relatives.nodes, called)]
        return relatives._replace(called=()) if computes == [True, False] else _UNDECIDED

    def _by_evidence(self, origin: Origin) -> _Relatives:
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
                same = () if level == CALL else self.of_primitive(nodes, origin.primitive)[:MOST_COMPARED]
                every = tuple(dict.fromkeys([*same, *nodes[:MOST_COMPARED]]))
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
        results = [each for each in results if not is_numerator(part, node, each)]
        results.sort(key=lambda each: (each.part.graph.name, each.position))
        added = any(plain_name(part.ops[operand]) in _SUMS for operand in node.read if part.steps[operand])
        return results if added else [each for each in results if sum(not user.helper for user in each.users()) < 2]

    def _differentiated(
        self,
        part: Part,
        node: Row,
        origin: Origin,
        relatives: _Relatives,
        steps: Sequence[Step],
        values: set[Value],
        gradient: bool,
    ) -> Sequence[Forward]:
        """Those of several related nodes that a backward node differentiates. Gradients flow against the data: it continues the operation
        of the step before it, or begins one of those that feed that."""
        before = self._before(steps, relatives) if steps else _NOTHING_BEFORE
        units = before.units
        if values and (reading := readers_of(units, values) or readers_of(before.feeding, values)):
            return reading
        if gradient and (reshaped := shapes_lost(part, node)):
            # A gradient that nothing precedes is that of the loss, the last of all.
            related = self.rows(relatives.helper, relatives.level)
            candidates = chain(units, _lazily(before)) if steps else reversed(related[relatives.key])
            for each in candidates:
                if is_transposed(node, reshaped, each):
                    return [each]
        place, primitive = origin.place, origin.primitive
        continued = [step.forward for step in steps if step.place == place]
        same = [forward for forward in continued if primitive in [each.origin.primitive for each in forward]]
        return (
            first_of(same)
            or readers_of(relatives.nodes, values and values.intersection(map(part.value, node.read)))
            or readers_of(relatives.nodes, values)
            or alike(part, node, origin, before.feeding)
            or first_of(continued)
            or (before.feeding[:1] if relatives.level == CALL else ())
            or [each for each in (*units, *before.feeding) if each in relatives.same_primitive]
            or first_of([step.forward for step in steps if set(units).issuperset(step.forward)])
            or [each for each in relatives.nodes if each in relatives.same_primitive]
            or [each for each in relatives.nodes if each.op == node.op]
            or (relatives.nodes if relatives.level <= LINE or relatives.key in self._rules else ())
        )

    def _before(self, steps: Sequence[Step], relatives: _Relatives) -> _Before:
        """The operations of these steps and the forward nodes that feed them, as far as they share the evidence of the relatives. Many
        backward nodes come after the same forward nodes."""
        operations = tuple([step.forward for step in steps])
        before = self._preceding.get((relatives.key, operations))
        if before is None:
            if not self._grows and len(self._preceding) == _MOST_KNOWN:
                self._preceding.clear()
            units = tuple(dict.fromkeys([every for forward in operations for each in forward for every in each.unit or unit_of(each)]))
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


_UNDECIDED = _Relatives((), SOURCE, SOURCE, False, ())
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
