"""One graph that Dynamo handed to the compiler, followed from stage to stage: one module of the recording."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from opscope.program import NodeKey, Path, Program
from opscope.recording.hooks.torch_compile.graphs import BACKWARD, FORWARD, inputs_of_dynamo, joined, keys_of, program_of, result_names
from opscope.recording.hooks.torch_compile.inherit import Places, lowered_places
from opscope.recording.hooks.torch_compile.lineage import aot_origins, partition_origins, placed, retargeted
from opscope.recording.hooks.torch_compile.rewrites import Rewrites
from opscope.recording.model import Origin

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

WHOLE_GRAPH = ""
BETWEEN = "between passes"
"""What happened where no hook looks: between two passes that are observed."""


class Part:
    """One graph of a chain as it was last seen: all of it, or after the partition the forward or backward half."""

    def __init__(self, program: Program, keys: dict[Any, NodeKey], state: list[Any], results: list[str] | None = None) -> None:
        self.program = program
        self.results = result_names(program) if results is None else results
        """What the other half calls the results of this one."""
        self.keys = keys
        self.state = state
        self.rewrites = Rewrites()


class Chain:
    def __init__(self, recorder: Recorder, title: str, module: Any) -> None:
        self._recorder = recorder
        self.title = title
        self.inputs = inputs_of_dynamo(module)
        self.parts: dict[str, Part] = {}
        self._last: Program | None = None
        self.spent = 0.0
        """Seconds that recording itself took, so that passes are not charged with it."""
        self._before_aot: Any = None
        self._places = Places()

    def snapshot(self, module: Any, name: str, pipeline: Path, part: str = WHOLE_GRAPH, seconds: float | None = None) -> None:
        """The state of a part after a pass. Nothing is read again where nothing was touched."""
        started = time.perf_counter()
        known = self.parts.get(part)
        state = _state(module)
        if known is None or not _same(known.state, state):
            self._take(module, part, state, name, pipeline, seconds)
        else:
            self._recorder.snapshot(self._last, name, pipeline=pipeline, module=self.title, seconds=seconds)
        self.spent += time.perf_counter() - started

    def catch_up(self, module: Any, pipeline: Path, part: str = WHOLE_GRAPH, name: str = BETWEEN) -> None:
        """A snapshot only if something changed since the last one."""
        started = time.perf_counter()
        known, state = self.parts.get(part), _state(module)
        if known is None or not _same(known.state, state):
            self._take(module, part, state, name, pipeline, None, only_changes=True)
        self.spent += time.perf_counter() - started

    def aot(self, module: Any, pipeline: Path, name: str) -> None:
        """AOTAutograd traced Dynamo's graph anew: operators became those of ATen, and their backward was added."""
        old = self.parts.get(WHOLE_GRAPH)
        if old is None or self._before_aot is module.graph:
            self.catch_up(module, pipeline)
            return
        started = time.perf_counter()
        self._before_aot = module.graph
        program = program_of(module, self.title, self.inputs)
        keys = keys_of(module, program)
        self.parts[WHOLE_GRAPH] = Part(program, keys, _state(module))
        self._write(name, pipeline, None, aot_origins(old.keys, keys, len(self.inputs)))
        self.spent += time.perf_counter() - started

    def partition(self, forward: Any, backward: Any, pipeline: Path, name: str, seconds: float | None) -> None:
        """The joint graph fell into two."""
        started = time.perf_counter()
        whole = self.parts.pop(WHOLE_GRAPH, None)
        for part, module in ((FORWARD, forward), (BACKWARD, backward)):
            program = self._places.applied(program_of(module, self.title, self.inputs))
            self.parts[part] = Part(program, keys_of(module, program), _state(module))
        halves = {part: made.program for part, made in self.parts.items()}
        origins = partition_origins(whole.program, halves) if whole else ()
        self._write(name, pipeline, seconds, origins)
        self.spent += time.perf_counter() - started

    def lowered(
        self, program: Program, origins: Iterable[Origin], name: str, pipeline: Path, part: str, seconds: float | None = None
    ) -> None:
        """A part in another language: the scheduler's nodes instead of fx. They belong to the modules of what they compute."""
        known, origins = self.parts.get(part), list(origins)
        results = None
        if known is not None:
            program = lowered_places(origins, known.program).applied(program)
            results = known.results if len(known.results) == len(program.main.outputs) else None
        self.parts[part] = Part(program, {}, [], results)
        self._write(name, pipeline, seconds, placed(origins, part))

    def rewrites(self, part: str) -> Rewrites | None:
        known = self.parts.get(part)
        return known.rewrites if known else None

    def _take(
        self, module: Any, part: str, state: list[Any], name: str, pipeline: Path, seconds: float | None, only_changes: bool = False
    ) -> None:
        program = program_of(module, self.title, self.inputs)
        known, keys = self.parts.get(part), keys_of(module, program)
        origins: list[Origin] = []
        if known is not None:
            origins += known.rewrites.origins(known.keys, keys)
            lives_on = [key for node, key in keys.items() if known.keys.get(node) == key]
            origins += retargeted(known.program, program, lives_on)
            self._places.learn(origins, known.program)
        program = self._places.applied(program)
        self.parts[part] = Part(program, keys, state)
        if only_changes and known is not None and known.program == program:
            return  # a copy of the graph: other objects, same content
        self._write(name, pipeline, seconds, placed(origins, part))

    def _write(self, name: str, pipeline: Path, seconds: float | None, origins: Iterable[Origin] = ()) -> None:
        whole = self.parts.get(WHOLE_GRAPH)
        halves = self.parts.items()
        names = {part: made.results for part, made in halves}
        self._last = whole.program if whole else joined(self.title, {part: made.program for part, made in halves}, names)
        self._recorder.snapshot(self._last, name, pipeline=pipeline, module=self.title, seconds=seconds, provenance=list(origins))


def _state(module: Any) -> list[Any]:
    """What a pass can change, by identity: fx makes new tuples whenever arguments change. Nothing is compared by value, because
    comparing symbolic sizes would add guards to what is being compiled."""
    found: list[Any] = []
    for inner in module.modules():
        graph = getattr(inner, "graph", None)
        if graph is None or not hasattr(graph, "nodes"):
            continue
        for node in graph.nodes:
            found += (node, node.name, node.target, node.args, node.kwargs, node.meta.get("val"))
    return found


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(map(_is, a, b))


def _is(a: Any, b: Any) -> bool:
    return a is b
