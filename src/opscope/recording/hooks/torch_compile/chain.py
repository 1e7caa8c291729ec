"""One graph of Dynamo, followed from stage to stage. It is one module of the recording."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from opscope.program import Node, NodeKey, Path, Program
from opscope.recording.dumps.fusion_notes import FusionNote
from opscope.recording.hooks.torch_compile.graphs import BACKWARD, FORWARD, inputs_of_dynamo, joined, keys_of, program_of, result_names
from opscope.recording.hooks.torch_compile.inherit import Places, lowered_places
from opscope.recording.hooks.torch_compile.lineage import aot_origins, partition_origins, placed, retargeted
from opscope.recording.hooks.torch_compile.rewrites import Rewrites
from opscope.recording.model import Origin
from opscope.recording.reasons import REASONS

if TYPE_CHECKING:
    from opscope.recording.recorder import Recorder

WHOLE_GRAPH = ""
BETWEEN = "between passes"
"""The name of changes that no hook sees, between two observed passes."""


class Part:
    """The latest state of one graph of a chain: the whole graph or, after the partition, the forward or backward half."""

    def __init__(self, program: Program, keys: dict[Any, NodeKey], state: list[Any], results: list[str] | None = None) -> None:
        self.program = program
        self.results = result_names(program) if results is None else results
        """The names that the other half uses for the results of this one."""
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
        """Seconds spent on recording itself, which are subtracted from those of the passes."""
        self._stage_ended = self.clock()
        self._before_aot: Any = None
        self._places = Places()

    def clock(self) -> float:
        """Seconds, on a clock that stands still while the recording itself works."""
        return time.perf_counter() - self.spent

    def stage_ended(self) -> None:
        self._stage_ended = self.clock()

    def since_stage(self) -> float:
        """Seconds since the last observed stage of the compiler ended."""
        return self.clock() - self._stage_ended

    def started(self, name: str, pipeline: Path) -> None:
        self._recorder.started(name, pipeline)

    def snapshot(self, module: Any, name: str, pipeline: Path, part: str = WHOLE_GRAPH, seconds: float | None = None) -> None:
        """Record the state of a part after a pass. An unchanged graph is not read again."""
        started = time.perf_counter()
        last = self.parts.get(part)
        state = _state(module)
        if last is None or not _same(last.state, state):
            self._take(module, part, state, name, pipeline, seconds)
        else:
            self._recorder.snapshot(self._last, name, pipeline=pipeline, module=self.title, seconds=seconds)
        self.spent += time.perf_counter() - started

    def catch_up(self, module: Any, pipeline: Path, part: str = WHOLE_GRAPH, name: str = BETWEEN) -> None:
        """Record a snapshot if the graph has changed since the last one."""
        started = time.perf_counter()
        last, state = self.parts.get(part), _state(module)
        if last is None or not _same(last.state, state):
            self._take(module, part, state, name, pipeline, None, only_changes=True)
        self.spent += time.perf_counter() - started

    def aot(self, module: Any, pipeline: Path, name: str, seconds: float) -> None:
        """AOTAutograd has retraced Dynamo's graph: operators became ATen operators, and their backward was added."""
        old = self.parts.get(WHOLE_GRAPH)
        if old is None or self._before_aot is module.graph:
            self.catch_up(module, pipeline)
            return
        started = time.perf_counter()
        self._before_aot = module.graph
        program = program_of(module, self.title, self.inputs)
        keys = keys_of(module, program)
        self.parts[WHOLE_GRAPH] = Part(program, keys, _state(module))
        self._write(name, pipeline, seconds, aot_origins(old.keys, keys, len(self.inputs)))
        self.spent += time.perf_counter() - started

    def partition(self, forward: Any, backward: Any, pipeline: Path, name: str, seconds: float) -> None:
        """The joint graph was split into forward and backward."""
        started = time.perf_counter()
        whole = self.parts.pop(WHOLE_GRAPH, None)
        for part, module in ((FORWARD, forward), (BACKWARD, backward)):
            program = self._places.applied(program_of(module, self.title, self.inputs))
            self.parts[part] = Part(program, keys_of(module, program), _state(module))
        halves = {part: half.program for part, half in self.parts.items()}
        origins = partition_origins(whole.program, halves) if whole else ()
        self._write(name, pipeline, seconds, origins)
        self.spent += time.perf_counter() - started

    def lowered(
        self, program: Program, origins: Iterable[Origin], name: str, pipeline: Path, part: str, seconds: float | None = None
    ) -> None:
        """A part after lowering: the scheduler's nodes instead of fx nodes. They belong to the modules of the nodes that they compute."""
        started = time.perf_counter()
        last, origins = self.parts.get(part), list(origins)
        results = None
        if last is not None:
            program = lowered_places(origins, last.program).applied(program)
            results = last.results if len(last.results) == len(program.main.outputs) else None
        self.parts[part] = Part(program, {}, [], results)
        self._write(name, pipeline, seconds, placed(origins, part))
        self.spent += time.perf_counter() - started

    def noted(self, notes: Iterable[FusionNote]) -> None:
        """The compiler said why it fused nodes, or did not."""
        self._recorder.append(REASONS, [note.to_json() for note in notes])

    def inputs_of(self, part: str) -> dict[str, Node]:
        """The inputs of a part, by name."""
        last = self.parts.get(part)
        return {node.id: node for node in last.program.main if not node.inputs} if last else {}

    def rewrites(self, part: str) -> Rewrites | None:
        last = self.parts.get(part)
        return last.rewrites if last else None

    def _take(
        self, module: Any, part: str, state: list[Any], name: str, pipeline: Path, seconds: float | None, only_changes: bool = False
    ) -> None:
        program = program_of(module, self.title, self.inputs)
        last, keys = self.parts.get(part), keys_of(module, program)
        origins: list[Origin] = []
        if last is not None:
            origins += last.rewrites.origins(last.keys, keys)
            survivors = [key for node, key in keys.items() if last.keys.get(node) == key]
            origins += retargeted(last.program, program, survivors)
            self._places.learn(origins, last.program)
        program = self._places.applied(program)
        self.parts[part] = Part(program, keys, state)
        if only_changes and last is not None and last.program == program:
            return  # a copy of the graph: different objects, same content
        self._write(name, pipeline, seconds, placed(origins, part))

    def _write(self, name: str, pipeline: Path, seconds: float | None, origins: Iterable[Origin] = ()) -> None:
        whole = self.parts.get(WHOLE_GRAPH)
        halves = self.parts.items()
        names = {part: half.results for part, half in halves}
        self._last = whole.program if whole else joined(self.title, {part: half.program for part, half in halves}, names)
        self._recorder.snapshot(self._last, name, pipeline=pipeline, module=self.title, seconds=seconds, provenance=list(origins))


def _state(module: Any) -> list[Any]:
    """Everything that a pass can change, to compare by identity: fx creates new tuples whenever arguments change. Comparing by value would
    compare symbolic sizes, which adds guards to the compilation."""
    fields: list[Any] = []
    for inner in module.modules():
        graph = getattr(inner, "graph", None)
        if graph is None or not hasattr(graph, "nodes"):
            continue
        for node in graph.nodes:
            fields += (node, node.name, node.target, node.args, node.kwargs, node.meta.get("val"))
    return fields


def _same(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(map(_is, a, b))


def _is(a: Any, b: Any) -> bool:
    return a is b
