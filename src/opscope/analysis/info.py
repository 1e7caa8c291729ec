"""A program in numbers: what `opscope info` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import compress
from typing import Any, NamedTuple

from opscope.analysis.cost import CostModel
from opscope.analysis.count_notes import count_notes
from opscope.analysis.directions import directions
from opscope.analysis.halves import with_halves
from opscope.analysis.loop_slots import Loop, loops_of
from opscope.analysis.structure import STRUCTURE, with_structure
from opscope.ops import CATEGORIES, category_of
from opscope.profile.place import DEVICE_TIME
from opscope.program import ARGUMENT_ROLES, BACKWARD, FORWARD, INFERRED_ATTR, UPDATE, Graph, Program, Role


class GraphInfo(NamedTuple):
    name: str
    nodes: int
    parameters: int
    flops: int
    bytes: int
    callers: int
    unknown_flops: int
    unknown_bytes: int


class OpCount(NamedTuple):
    op: str
    nodes: int
    kind: str


class LoopInfo(NamedTuple):
    """A loop, with the number and the bytes of each kind of its values."""

    graph: str
    node: str
    trips: int | None
    values: dict[str, int]
    bytes: dict[str, int]


class BlockCount(NamedTuple):
    title: str
    repeats: int
    nodes: int
    """In one of them."""


@dataclass(frozen=True)
class Info:
    """Counts over all graphs. `flops` and `bytes` are the cost of running the entry once, without `unknown` operations:
    `unknown_flops` of them have unknown FLOPs, `unknown_bytes` unknown bytes.

    HLO and JAX functions do not distinguish a model's parameters from the entry's other inputs: there, `inputs` and `buffers` are 0.
    """

    name: str
    entry: str
    nodes: int
    graphs: tuple[GraphInfo, ...]
    ops: tuple[OpCount, ...]
    parameters: int
    parameter_elements: int
    parameter_bytes: int
    parameters_of_unknown_size: int
    inputs: int
    input_elements: int
    input_bytes: int
    inputs_of_unknown_size: int
    buffers: int
    buffer_elements: int
    buffer_bytes: int
    buffers_of_unknown_size: int
    flops: int
    transcendentals: int
    """Those of `flops` that XLA lists apart: exponentials, roots, sines."""
    bytes: int
    unknown: int
    unknown_ops: tuple[str, ...]
    unknown_flops: int
    unknown_flops_ops: tuple[str, ...]
    unknown_bytes: int
    halves: dict[str, int] | None
    """Operations by direction, if opscope inferred it; None if the source states the directions, or has none."""
    blocks: tuple[BlockCount, ...] | None
    """Repeated blocks of the entry that were found by shape, largest first; None if the source has modules or other groups."""
    loops: tuple[LoopInfo, ...]
    """Callers first."""
    device_seconds: float | None
    """Measured time of one run on the device, if the program has a profile."""
    notes: tuple[str, ...]
    """What the reader says about the program: parameters without a gradient, why a run is shown instead of an export."""

    def to_json(self) -> dict[str, Any]:
        fields = asdict(self)
        fields["graphs"] = [graph._asdict() for graph in self.graphs]
        fields["ops"] = [op._asdict() for op in self.ops]
        fields["loops"] = [loop._asdict() for loop in self.loops]
        fields["blocks"] = None if self.blocks is None else [block._asdict() for block in self.blocks]
        return fields


def _sizes(kind: Role, graph: Graph) -> dict[str, int]:
    """The number and size of a graph's arguments of one kind, which share most of their types."""
    lists = list(compress(graph.types, map(kind.__eq__, graph.roles)))
    counts = Counter(map(id, lists))
    different = [(types, counts[key]) for key, types in dict(zip(map(id, lists), lists, strict=True)).items()]
    elements = sum(count * (output.elements or 0) for types, count in different for output in types)
    stored = sum(count * (output.bytes or 0) for types, count in different for output in types)
    unknown = sum(count for types, count in different if any(output.bytes is None for output in types))
    return {f"{kind}s": len(lists), f"{kind}_elements": elements, f"{kind}_bytes": stored, f"{kind}s_of_unknown_size": unknown}


def _most_frequent(ops: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(ops, key=lambda op: -ops[op]))


def _inferred(program: Program) -> dict[str, int] | None:
    marked = with_halves(program)
    if INFERRED_ATTR not in marked.attrs:
        return None
    counts = Counter(
        mark for name, marks in directions(marked).items() for node, mark in zip(marked[name], marks, strict=True) if node.role == "op"
    )
    return {direction: counts[direction] for direction in (FORWARD, BACKWARD, UPDATE) if counts[direction]}


def _blocks(program: Program) -> tuple[BlockCount, ...] | None:
    """The outermost blocks of the entry. Those at the end of a chain that have other operations than the rest do not count."""
    graph = with_structure(program).main
    paths = graph.groupings.get(STRUCTURE)
    if paths is None:
        return None
    contents: dict[str, Counter[str]] = {}
    for node in graph:
        if node.id in paths:
            if node.scope:
                return None  # blocks of the update alone, in a program with modules
            contents.setdefault(paths[node.id][0], Counter())[node.op] += 1
    families: dict[str, Counter[tuple[tuple[str, int], ...]]] = {}
    for name, ops in contents.items():
        families.setdefault(name.rpartition(" ")[0], Counter())[tuple(sorted(ops.items()))] += 1
    usual = {title: alike.most_common(1)[0] for title, alike in families.items()}
    counts = [BlockCount(title, count, sum(number for _, number in ops)) for title, (ops, count) in usual.items()]
    return tuple(sorted(counts, key=lambda block: (-block.repeats * block.nodes, block.title)))


def _loop(loop: Loop) -> LoopInfo:
    kinds = [slot for slot, types in loop.types.items() if types]
    return LoopInfo(
        loop.graph, loop.node, loop.trips, {slot: len(loop.types[slot]) for slot in kinds}, {slot: loop.bytes(slot) for slot in kinds}
    )


def notes_of(program: Program) -> tuple[str, ...]:
    """The remarks of a reader; a file may use the name for something else."""
    notes = program.attrs.get("notes")
    return tuple(map(str, notes)) if isinstance(notes, list | tuple) else ()


def info_of(program: Program, as_xla: bool = False) -> Info:
    """Count a program. Operations are listed with the most frequent first. `as_xla` counts FLOPs and bytes as XLA's own analysis does."""
    ops: Counter[tuple[str, Role]] = Counter()
    for graph in program:
        ops.update(zip(graph.ops, graph.roles, strict=True))
    costs = CostModel(program, as_xla)
    callers = program.callers
    graphs = []
    for graph in program:
        cost = costs.graph(graph.name)
        called = len(callers.get(graph.name, ()))
        arguments = sum(map(ARGUMENT_ROLES.__contains__, graph.roles))
        counts = (graph.name, len(graph), arguments, cost.flops, cost.bytes, called)
        graphs.append(GraphInfo(*counts, cost.unknown_flops, cost.unknown_bytes))
    by_op: dict[str, OpCount] = {}
    for (op, role), count in ops.most_common():
        counted = by_op.get(op)
        by_op[op] = OpCount(op, count + (counted.nodes if counted else 0), counted.kind if counted else CATEGORIES[category_of(op, role)])
    return Info(
        name=program.name,
        entry=program.entry,
        nodes=program.node_count,
        graphs=tuple(graphs),
        ops=tuple(sorted(by_op.values(), key=lambda entry: (-entry.nodes, entry.op))),
        **_sizes("parameter", program.main),
        **_sizes("input", program.main),
        **_sizes("buffer", program.main),
        flops=costs.total.flops,
        transcendentals=costs.total.transcendentals,
        bytes=costs.total.bytes,
        unknown=costs.total.unknown,
        unknown_ops=_most_frequent(costs.unknown_ops),
        unknown_flops=costs.total.unknown_flops,
        unknown_flops_ops=_most_frequent(costs.unknown_flops_ops),
        unknown_bytes=costs.total.unknown_bytes,
        halves=_inferred(program),
        blocks=_blocks(program),
        loops=tuple(map(_loop, loops_of(program))),
        device_seconds=sum(program.main.metrics[DEVICE_TIME.name].values()) if DEVICE_TIME.name in program.main.metrics else None,
        notes=(*notes_of(program), *count_notes(program)),
    )
