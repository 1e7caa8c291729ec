"""The memory of a program on the wire (`web/src/core/memory` reads it): the order of the run, and its buffers as columns.

It is separate from the program, because most people who open a page never look at it.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import nan
from typing import Any, get_args

from opscope.gc_pause import without_collecting
from opscope.memory.flow import value_key
from opscope.memory.model import UNUSED, Buffer, Kind, Memory
from opscope.memory.shown import is_worth_computing, memory_of, planner_of
from opscope.memory.suggest import answer as answer_to
from opscope.memory.what_if import ACTIONS, CHECKPOINT, GIVEN, Change
from opscope.program import Graph, Program
from opscope.recording.model import Recording
from opscope.render.wire.sections import Interner, SectionWriter

KINDS: tuple[Kind, ...] = get_args(Kind)


def encode_memory(memory: Memory, program: Program | None, **fields: Any) -> bytes:
    """Nodes are numbered as in the program's own wire. What is not a node of the program, or anything without one, has -1 and its name."""
    number_of = _Numbers(program)
    strings = Interner({"": 0})
    out = SectionWriter()
    graphs = memory.graphs or [""] * len(memory.steps)
    steps = [number_of(step, graph) for step, graph in zip(memory.steps, graphs, strict=True)]
    out.deltas("steps", steps)
    out.integers("stepNames", [0 if node >= 0 else strings[name] for node, name in zip(steps, memory.steps, strict=True)])
    # Of buffers that are equal in size and time, the first name represents their memory, as in `Memory.live`.
    buffers = _in_order(memory)
    nodes = [number_of(buffer.node, buffer.graph) for buffer in buffers]
    out.integers("node", nodes)
    out.integers("name", [0 if node >= 0 else strings[buffer.node] for node, buffer in zip(nodes, buffers, strict=True)])
    out.floats("bytes", [nan if buffer.bytes is None else buffer.bytes for buffer in buffers])
    out.integers("kind", [KINDS.index(buffer.kind) for buffer in buffers])
    out.deltas("born", [buffer.born for buffer in buffers])
    out.integers("length", [buffer.last - buffer.born for buffer in buffers])
    out.integers("unread", [0 if buffer.read is None else max(0, buffer.last - buffer.read) for buffer in buffers])
    slots: dict[object, int] = {None: -1}
    out.integers("slot", [slots.setdefault(buffer.slot, len(slots) - 1) for buffer in buffers])
    out.integers("output", [strings[buffer.output] for buffer in buffers])
    out.integers("type", [strings[str(buffer.type or "")] for buffer in buffers])
    out.integers("why", [strings[buffer.why] for buffer in buffers])
    out.integers("module", [strings["/".join(buffer.scope)] for buffer in buffers])
    out.integers("source", [strings[buffer.source] for buffer in buffers])
    held = [(0, memory.reserved)] if memory.reserved is not None else memory.held
    out.integers("heldFrom", [position for position, _ in held])
    out.floats("held", [size for _, size in held])
    out.strings("strings", strings)
    return out.finish(
        {
            "name": memory.name,
            "origin": memory.origin,
            "peak": memory.peak,
            "peakBytes": memory.peak_bytes,
            "measured": None if memory.measured is None else memory.measured._asdict(),
            "split": dict(memory.split),
            "unknown": memory.unknown,
            "remark": memory.remark,
            "kinds": KINDS,
            "unusedKind": KINDS.index("unused"),
            "unusedWhy": UNUSED[memory.origin],
            "given": GIVEN,
            "actions": ACTIONS,
            "slots": len(slots) - 1,
            **fields,
        }
    )


def _in_order(memory: Memory) -> list[Buffer]:
    return sorted(memory.buffers, key=lambda buffer: (buffer.born, buffer.last, buffer.name))


def packed_memory(program: Program, recording: Recording | None = None, level: int = 7) -> bytes:
    """The compressed memory of a program, or of a snapshot of a recording."""
    with without_collecting():
        return gzip.compress(encode_memory(memory_of(program, recording), program), level, mtime=0)


def packed_what_if(program: Program, changes: Sequence[Change], suggests: bool, recording: Recording | None = None) -> bytes:
    """The memory with changes, compressed as quickly as a person who waits for it wants."""
    answer = answer_to(planner_of(program, recording), changes, suggests)
    result = answer.result
    buffers = _in_order(memory_of(program, recording))
    asked = {
        "changes": list(map(str, answer.changes)),
        "flops": result.known_flops,
        "unknownFlops": result.unknown,
        "moved": result.moved,
        "checkpointed": [i for i, buffer in enumerate(buffers) if value_key(buffer) in result.checkpointed],
        "advice": answer.advice,
        "adviceBytes": answer.advice_peak,
        "byHand": list(map(str, answer.by_hand)),
        "functions": sum(change.action == CHECKPOINT for change in answer.changes),
        "values": sum(change.action != CHECKPOINT for change in answer.changes),
        "note": answer.note,
        "error": answer.error,
    }
    return gzip.compress(encode_memory(result.memory, program, whatIf=asked), 1, mtime=0)


def programs_with_memory(shown: Program | Recording) -> dict[int, Program]:
    """The programs, by the position of the pass, whose memory a page without a server has: where it is worth computing.

    Of a recording, the last one of each module: what runs."""
    if isinstance(shown, Program):
        return {0: shown} if is_worth_computing(shown) else {}
    last = {snapshot.module: snapshot for snapshot in shown}
    programs = {shown.position(snapshot): snapshot.program for snapshot in last.values()}
    return {position: program for position, program in programs.items() if is_worth_computing(program)}


class _Numbers:
    """The number of a node, by its id and, where several graphs have that id, its graph; -1 if there is none, or no telling which."""

    def __init__(self, program: Program | None) -> None:
        self._graphs: Mapping[str, Graph] = {} if program is None else program.graphs
        starts = accumulate((len(graph) for graph in self._graphs.values()), initial=0)
        self._starts = dict(zip(self._graphs, starts, strict=False))

    @cached_property
    def _by_id(self) -> dict[str, int]:
        by_id: dict[str, int] = {}
        for name, graph in self._graphs.items():
            for number, node in enumerate(graph, self._starts[name]):
                by_id[node.id] = -1 if node.id in by_id else number
        return by_id

    def __call__(self, node: str, graph: str = "") -> int:
        position = self._graphs[graph].position.get(node) if graph in self._graphs else None
        return self._by_id.get(node, -1) if position is None else self._starts[graph] + position
