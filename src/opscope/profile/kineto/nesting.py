"""How the spans of the host nest: the phase, module and compiled graph that each is in, and the operator that it is part of.

Spans nest by time on each thread. Backward functions run on a thread of their own, without modules; autograd's sequence number leads to
the forward operator, and so to its module.
"""

from __future__ import annotations

from array import array
from collections.abc import Set
from typing import NamedTuple

from opscope.profile.kineto.trace import ANNOTATION, FRAME, MODULE, OP, Trace, frame_of
from opscope.program import BACKWARD, FORWARD, UPDATE, Frame

OPTIMIZER = "Optimizer."
_AUTOGRAD = ("autograd::", "torch::autograd::")
_ENGINE = "autograd::engine::evaluate_function: "
_REGION = "Torch-Compiled Region: "
_COMPILED_GRAPH = "## Call CompiledFxGraph"
COMPILED = "compiled "
"""How the group of a compiled region begins, before Dynamo's id of the compilation."""
NONE = -1


class Place(NamedTuple):
    """Where in a program a span is."""

    phase: str = FORWARD
    modules: tuple[str, ...] = ()
    frame: Frame | None = None
    graph: int = NONE
    """The span of the compiled graph that is running."""


class Nesting:
    """What surrounds each span."""

    def __init__(self, trace: Trace, vocabulary: Set[str] = frozenset()) -> None:
        self._trace = trace
        self._vocabulary = vocabulary
        count = len(trace.spans)
        self._places = [Place()]
        self._numbers = {self._places[0]: 0}
        self._place = array("q", bytes(8 * count))
        self.operator = array("q", [NONE]) * count
        """The operator that a span is part of: the outermost one of the vocabulary, or else the outermost one, below modules, functions,
        autograd's functions and compiled regions."""
        self.inside: dict[int, float] = {}
        """Microseconds of an operator that belong to operators of the vocabulary inside of it."""
        self.forward = array("q", [NONE]) * count
        """Of what runs in a backward function: the forward span whose gradient it computes."""
        self.runs: list[int] = []
        """The forward runs of the program: calls of modules, or of compiled code, that are inside of no other."""
        creators = _creators(trace)
        for order in _threads(trace):
            self._walk(order, creators)

    def place(self, span: int) -> Place:
        return self._places[self._place[span]]

    def _walk(self, order: list[int], creators: dict[int, int]) -> None:
        """One thread, in order."""
        start, end = self._trace.spans.start, self._trace.spans.end
        open_spans: list[int] = []
        for span in order:
            while open_spans and end[open_spans[-1]] <= start[span]:
                open_spans.pop()
            parent = open_spans[-1] if open_spans else NONE
            open_spans.append(span)
            self._enter(span, parent, creators)

    def _enter(self, span: int, parent: int, creators: dict[int, int]) -> None:
        spans = self._trace.spans
        kind, name = spans.kind[span], self._trace.names.texts[spans.name[span]]
        before = 0
        if parent != NONE:
            before = self._place[parent]
            self.operator[span] = self.operator[parent]
            self.forward[span] = self.forward[parent]
        outside = place = self._places[before]
        if kind == MODULE:
            place = place._replace(modules=(*place.modules, name))
        elif kind == FRAME:
            place = place._replace(frame=frame_of(name))
        elif name.startswith(_COMPILED_GRAPH):  # an annotation or an operator, depending on the version of torch
            place = place._replace(graph=span)
        elif kind == ANNOTATION:
            if name.startswith(OPTIMIZER):
                place = Place(UPDATE, (name.partition("#")[2],), place.frame)
        elif name.startswith(_ENGINE):
            creator = creators.get(spans.sequence[span], NONE)
            self.forward[span] = creator
            origin = Place() if creator == NONE else self.place(creator)
            place = Place(BACKWARD, origin.modules, origin.frame)
        elif name.startswith(_REGION):
            place = place._replace(modules=(*place.modules, COMPILED + name.removeprefix(_REGION)))
        elif self._is_operator(self.operator[span], name, place):
            outer = self.operator[span]
            if outer != NONE:
                self.inside[outer] = self.inside.get(outer, 0.0) + spans.end[span] - spans.start[span]
            self.operator[span] = span
        if place is outside:
            self._place[span] = before
            return
        if place.modules and not outside.modules and place.phase == FORWARD:
            self.runs.append(span)
        number = self._numbers.setdefault(place, len(self._places))
        if number == len(self._places):
            self._places.append(place)
        self._place[span] = number

    def _is_operator(self, outer: int, name: str, place: Place) -> bool:
        """Whether a span counts by itself, inside of the operator `outer`."""
        if outer == NONE:
            return place.graph != NONE or ("::" in name and not name.startswith(_AUTOGRAD))
        return name in self._vocabulary and self._trace.names.texts[self._trace.spans.name[outer]] not in self._vocabulary


def _creators(trace: Trace) -> dict[int, int]:
    """The forward operator of each sequence number: of all that have it, the last one to start is the one that autograd recorded."""
    spans = trace.spans
    creators: dict[int, int] = {}
    for span, sequence in enumerate(spans.sequence):
        if sequence >= 0 and spans.kind[span] == OP and not spans.is_backward[span]:
            other = creators.get(sequence)
            if other is None or spans.start[other] < spans.start[span]:
                creators[sequence] = span
    return creators


def _threads(trace: Trace) -> list[list[int]]:
    """The spans of each thread in the order in which they open. Threads of backward functions come after those that have modules."""
    spans = trace.spans
    threads: dict[int, list[int]] = {}
    is_backward: dict[int, bool] = {}
    for span, thread in enumerate(spans.thread):
        threads.setdefault(thread, []).append(span)
        is_backward[thread] = is_backward.get(thread, False) or bool(spans.is_backward[span])
    start, end = spans.start, spans.end
    for order in threads.values():
        order.sort(key=lambda span: (start[span], -end[span]))
    return [threads[thread] for thread in sorted(threads, key=lambda thread: is_backward[thread])]
