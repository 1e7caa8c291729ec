"""Where nodes come from, as numbers: the evidence that a backward node may share with forward nodes (see gradients.py).

A large step has millions of nodes, each with a scope and a stack of source lines. Both get a number once, and evidence is a number made of
those. There are several levels of it, from the strongest to the weakest.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from itertools import repeat
from typing import NamedTuple, TypeAlias

from opscope.program import BACKWARD, FORWARD, RECOMPUTED, Details, Frame, Graph, Path, details_of

Key: TypeAlias = int
"""A piece of evidence: the numbers of what it consists of, and its level in the lowest bits."""
STACK, FRAMES, LINE, CALL, SCOPE, SOURCE = range(6)
EVIDENCE = ("place", "place", "line", "call", "scope", "source")
"""The names of the levels: the scope with frames and their columns, which separate `(x - m) * rsqrt(v)`; with the source lines; with the
innermost of them, as jax.checkpoint adds frames of its own. What was called from the place of the node; the scope alone; the source lines
alone."""
_LEVELS = {
    (False, False): (SCOPE,),
    (True, False): (STACK, SCOPE),
    (False, True): (FRAMES, LINE, CALL, SCOPE, SOURCE),
    (True, True): (STACK, FRAMES, LINE, CALL, SCOPE, SOURCE),
}
"""The levels that there are, by whether a node has frames with columns and source lines."""
WITH_SCOPE = (True, True, True, False, True, False)
_LEVEL_BITS, _NUMBER_BITS = 3, 40
_CALLERS = 2
"""How far the line of a custom_vjp's call is from those of its forward function."""


def level_of(key: Key) -> int:
    return key & (1 << _LEVEL_BITS) - 1


def parts_of(key: Key) -> tuple[int, int]:
    """The scope, which is 0 for evidence without it, and the rest."""
    rest = key & (1 << _NUMBER_BITS) - 1
    return key - rest, rest


class _Location(NamedTuple):
    """What evidence consists of, except scope and primitive."""

    levels: tuple[int, ...]
    offsets: tuple[int, ...]
    """At each level, the evidence without the scope."""
    lines: tuple[int, ...]
    """The line of the node and those that called it."""
    called_from: tuple[Key, ...]
    """The places that called the line of the node. The backward function of a custom_vjp has the place of the call."""
    callees: tuple[str, ...]
    """The functions that those places called."""
    stack: tuple[tuple[Key, str], ...]
    """All places on the way to the line of the node, and the functions that they called."""

    def limited(self, kept: Container[tuple[Key, str]], places: Container[Key]) -> _Location:
        """Without the calls from these places, except those of the functions that are kept."""
        calls = zip(self.called_from, self.callees, strict=True)
        left = [call for call in calls if call[0] not in places or call in kept]
        return self._replace(called_from=tuple([key for key, _ in left]), callees=tuple([callee for _, callee in left]))


class Origin:
    """Where a node comes from, according to its details. At each level, evidence is stronger with the primitive than without it: the
    derivative of a multiply is a multiply."""

    __slots__ = ("direction", "location", "offsets", "place", "primitive", "scope")

    def __init__(self, direction: str, primitive: str, scope: int, location: _Location) -> None:
        self.direction = direction
        self.primitive = primitive
        self.scope = scope
        self.offsets = location.offsets
        self.location = location
        self.place = scope + location.offsets[location.levels[0]]
        """The strongest evidence without the primitive."""

    @property
    def levels(self) -> tuple[int, ...]:
        return self.location.levels

    @property
    def called_from(self) -> tuple[Key, ...]:
        return self.location.called_from

    def key(self, level: int) -> Key:
        """The evidence at a level, without the primitive."""
        offset = self.offsets[level]
        return self.scope + offset if WITH_SCOPE[level] else offset

    def has(self, key: Key) -> bool:
        """Whether the node shares this evidence, or was called from there."""
        level = level_of(key)
        return self.key(level) == key or (level == CALL and key in self.location.called_from)

    def copy(self) -> Origin:
        return Origin(self.direction, self.primitive, self.scope, self.location)


class Origins:
    """Where the nodes of graphs come from. Nodes share details, and details of equal evidence have one origin."""

    def __init__(self, graphs: Iterable[Graph]) -> None:
        self._scopes: dict[Path, int] = {}
        self._stacks: dict[tuple[str | tuple[str, ...], int], int] = {}
        self._frames: dict[Frame | tuple[Frame, ...], int] = {}
        self._calls: dict[tuple[Frame, str], int] = {}
        self._locations: dict[tuple[str | tuple[str, ...], tuple[Frame, ...]], _Location] = {}
        self._of_evidence: dict[tuple[str, str, int, int], Origin] = {}
        self._paths: dict[int, tuple[int, Path]] = {}
        """The numbers of scopes by their identity: nodes share them, and comparing all names takes longer."""
        known = self._of_details = dict[int, Origin]()
        for graph in graphs:
            for op, details in zip(graph.ops, details_of(graph.nodes), strict=True):
                if id(details) not in known:
                    known[id(details)] = self._origin(op, details)
        self.directions = {origin.direction for origin in self._of_evidence.values()}
        self.rules = _keep_calls_of_rules(self._of_evidence.values())
        """The places that call a function with a derivative of its own."""
        self._of_evidence.clear()
        if RECOMPUTED in self.directions:  # what is recomputed is evidence for those that are looked up after it, and not before
            self._of_details = {key: origin.copy() for key, origin in known.items()}

    def of(self, graph: Graph) -> list[Origin]:
        """The origin of each node."""
        return list(map(self._of_details.__getitem__, map(id, details_of(graph.nodes))))

    def _origin(self, op: str, details: Details) -> Origin:
        name, exactly, direction, path, frames = details.origin()
        primitive = (name or op).partition(";")[0].rpartition("/")[2]
        numbered = self._paths.get(id(path))
        if numbered is None:
            numbered = self._paths[id(path)] = (self._scopes.setdefault(path, len(self._scopes)), path)
        scope = numbered[0]
        location = self._locations.get((exactly, frames))
        if location is None:
            location = self._locations[exactly, frames] = self._location(exactly, frames, details.columns)
        evidence = (direction, primitive, scope, id(location))
        origin = self._of_evidence.get(evidence)
        if origin is None:
            origin = self._of_evidence[evidence] = Origin(direction, primitive, scope << _NUMBER_BITS, location)
        return origin

    def _location(self, exactly: str | tuple[str, ...], frames: tuple[Frame, ...], columns: tuple[str, ...]) -> _Location:
        whole = self._frames.setdefault(frames, len(self._frames))
        numbered = [self._frames.setdefault(frame, len(self._frames)) for frame in frames[: 1 + _CALLERS]]
        line = numbered[0] if numbered else whole
        pairs = zip(frames, columns or repeat(""), strict=False)
        calls = [self._calls.setdefault(pair, len(self._calls)) for pair in pairs] or [line]
        stack = self._stacks.setdefault((exactly, whole), len(self._stacks))
        numbers = (stack, whole, line, calls[0], 0, whole)
        offsets = tuple([number << _LEVEL_BITS | level for level, number in enumerate(numbers)])
        places = [number << _LEVEL_BITS | CALL for number in calls[1:]]
        callees = [frame.function for frame in frames[: len(places)]]
        near = tuple(places[:_CALLERS]), tuple(callees[:_CALLERS])
        called = tuple(zip(places, callees, strict=True))
        return _Location(_LEVELS[bool(exactly), bool(frames)], offsets, tuple(numbered), *near, called)


def _keep_calls_of_rules(origins: Collection[Origin]) -> set[Key]:
    """Where a place calls a function whose lines have no derivative, nor those of what it calls, the derivative that has this place is that
    function's: it has a rule of its own. Derivatives of what else the place calls have lines of their own. Gives these places."""
    backward = [origin for origin in origins if origin.direction == BACKWARD]
    differentiated = {origin.offsets[LINE] >> _LEVEL_BITS for origin in backward}
    entered = {call for location in {id(each.location): each.location for each in backward}.values() for call in location.stack}
    forward = [origin for origin in origins if origin.direction == FORWARD]
    locations = {id(origin.location): origin.location for origin in forward}
    has_rule: dict[tuple[Key, str], bool] = {}
    for location in locations.values():
        for i, call in enumerate(zip(location.called_from, location.callees, strict=True), 1):
            has_rule[call] = has_rule.get(call, call not in entered) and differentiated.isdisjoint(location.lines[:i])
    rules = {call for call, has in has_rule.items() if has}
    places = {key for key, _ in rules}
    limited = {number: each.limited(rules, places) for number, each in locations.items() if not places.isdisjoint(each.called_from)}
    for origin in forward:
        origin.location = limited.get(id(origin.location), origin.location)
    return places
