"""The kernels that a module is expected to launch, in the order of its schedule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opscope.ops.loops import trip_count
from opscope.program import BACKWARD, FORWARD, Graph, Node, NodeKey, Program

_SILENT = frozenset(
    ["after-all", "bitcast", "constant", "domain", "get-tuple-element", "opt-barrier", "optimization-barrier", "parameter", "partition-id",
     "replica-id", "tuple"]
)  # fmt: skip
"""Instructions that launch nothing."""
_COPIES = frozenset(
    ["copy", "copy-start", "slice", "slice-start", "dynamic-slice", "dynamic-update-slice", "concatenate", "reshape", "transpose"]
)
_COLLECTIVES = re.compile(r"(all-reduce|all-gather|reduce-scatter|all-to-all|collective|ragged-all-to-all|send|recv)")
_LIBRARY_KERNEL = re.compile(
    r"nvjet|.*(cublas|cutlass|cudnn|gemv|gemm(?!_fusion)|splitk|sm\d\d_|implicit_con|flash_|fmha|cusolver|potrf|fft)|void ", re.IGNORECASE
)
_FILLS = frozenset(["bitcast", "broadcast", "constant"])
"""A fusion of nothing else fills memory with one value."""
_MOVES = frozenset(["bitcast", "constant", "copy", "dynamic-slice", "dynamic-update-slice", "parameter", "slice", "tuple"])
"""A fusion of nothing else, beside the arithmetic of positions, may run as a copy of memory."""
_MOST_RUNS = 1 << 20
"""The longest schedule that is written out; a program with more launches per run is placed without its loops repeated."""

LIBRARY, COPY, MEMSET, COLLECTIVE = "library", "copy", "memset", "collective"
"""Kernels that do not have the name of their instruction."""
SORT = "sort "
"""How the label of a sort begins: it copies its operand, and then launches its kernel many times."""


class Launch(NamedTuple):
    """An instruction of the schedule, and what its kernel is known by."""

    node: NodeKey
    label: str


def kernel_name(instruction: str) -> str:
    """The name that XLA gives the kernel of a fusion: `loop_add_fusion.3` runs as `loop_add_fusion_3`."""
    return re.sub(r"[^\w]", "_", instruction)


class Labels:
    """What kernels are known by. Equal fusions share a kernel that has the name of one of them, so a label is a set of equal fusions."""

    def __init__(self, program: Program) -> None:
        self._by_node: dict[NodeKey, str] = {}
        self._by_kernel: dict[str, str] = {}
        self.movers: set[NodeKey] = set()
        """Fusions that have a kernel, or else run as a copy."""
        bodies: dict[str, tuple[object, ...]] = {}
        names: dict[tuple[object, ...], str] = {}
        for graph in program:
            for node in graph:
                label = self._label(program, node, bodies, names)
                if label:
                    self._by_node[graph.name, node.id] = label
                    self._by_kernel.setdefault(kernel_name(node.id), label)
                    if node.op == "fusion" and node.calls:
                        body = program.graphs[node.calls[0]]
                        if label.startswith(SORT):
                            self._by_kernel.update((kernel_name(inner.id), label) for inner in body if inner.op == "sort")
                        elif all(inner.op in _MOVES or not any(kind.shape for kind in inner.outputs) for inner in body):
                            self.movers.add((graph.name, node.id))

    def _label(self, program: Program, node: Node, bodies: dict[str, tuple[object, ...]], names: dict[tuple[object, ...], str]) -> str:
        if node.op in _SILENT or node.op.endswith(("-done", "-update")):
            return ""
        if node.op in ("custom-call", "custom-call-start", "convolution", "dot", "fft", "cholesky", "triangular-solve"):
            return LIBRARY
        if _COLLECTIVES.match(node.op):
            return COLLECTIVE
        if node.op in ("fusion", "fusion-start") and node.calls:
            body = program.graphs[node.calls[0]]
            if any(inner.op == "custom-call" for inner in body):
                return LIBRARY
            if all(inner.op in _FILLS for inner in body):
                return MEMSET
            if any(inner.op == "sort" for inner in body):
                return SORT + node.id
            if body.name not in bodies:
                bodies[body.name] = _structure(body)
            return names.setdefault(bodies[body.name], f"fusion {node.id}")
        return COPY if node.op in _COPIES else f"{SORT if node.op == 'sort' else 'kernel '}{node.id}"

    def of_node(self, node: NodeKey) -> str:
        """The label of an instruction, or nothing if it launches nothing."""
        return self._by_node.get(node, "")

    def of_kernel(self, name: str) -> str:
        """The label of a kernel, or nothing if no instruction has its name and it belongs to no library."""
        label = self._by_kernel.get(kernel_name(name))
        if label:
            return label
        lower = name.lower()
        if lower.startswith("memset"):
            return MEMSET
        if lower.startswith(("memcpy", "copy")):
            return COPY
        if lower.startswith("nccl") or "allreduce" in lower or "all_reduce" in lower:
            return COLLECTIVE
        return LIBRARY if _LIBRARY_KERNEL.match(name) else ""


def _structure(body: Graph) -> tuple[object, ...]:
    """What makes two fused computations equal: operations, types and data flow, without names."""
    place = {node.id: i for i, node in enumerate(body.nodes)}
    return tuple((node.op, node.type_text, tuple((place[name], index) for name, index in node.inputs)) for node in body.nodes)


def executed_graphs(program: Program) -> list[Graph]:
    """The graphs whose instructions are launched one by one: the entry, and what loops, calls and conditionals run. Callers come first."""
    names = {program.entry: None}
    waiting = [program.entry]
    while waiting:
        for node in program.graphs[waiting.pop()]:
            if runs_its_graphs(node):
                waiting += [called for called in dict.fromkeys(node.calls) if called not in names]
                names.update(dict.fromkeys(node.calls))
    return [graph for graph in reversed(program.callees_first([program.entry])) if graph.name in names]


def runs_its_graphs(node: Node) -> bool:
    """Whether the instructions of the called graphs are launched one by one, as those of a loop or of a compiled forward are and those of a
    fusion are not."""
    return node.op in ("while", "call", "conditional") or (node.op in ("async-start", FORWARD, BACKWARD) and bool(node.calls))


class Schedule:
    """The launches of one run. `seen` is how often each label occurs in the run; it tells how long loops of unknown length were. `names`
    are the kernels that ran; they tell which branch of a conditional did."""

    def __init__(self, program: Program, labels: Labels, seen: Mapping[str, int], names: Iterable[str] = ()) -> None:
        self.program = program
        self.labels = labels
        self.seen = seen
        self.names = {kernel_name(name) for name in names}
        self._launches: dict[str, list[Launch]] = {}
        for graph in reversed(executed_graphs(program)):
            self._launches[graph.name] = self._of_graph(graph)

    @property
    def launches(self) -> list[Launch]:
        return self._launches[self.program.entry]

    def _of_graph(self, graph: Graph) -> list[Launch]:
        launches: list[Launch] = []
        for node in graph:
            if runs_its_graphs(node):
                launches += self._of_call(graph, node, _MOST_RUNS - len(launches))
            else:
                label = self.labels.of_node((graph.name, node.id))
                if (graph.name, node.id) in self.labels.movers and not self.seen.get(label):
                    label = COPY
                if label:
                    launches.append(Launch((graph.name, node.id), label))
        return launches

    def _of_call(self, graph: Graph, node: Node, room: int) -> list[Launch]:
        bodies = [self._launches.get(name, []) for name in node.calls]
        if node.op != "while":
            return max(bodies, key=lambda body: self._evidence(body), default=[]) if node.op == "conditional" else _flat(bodies)
        once = _flat(bodies)
        known = trip_count(self.program, graph, node)
        count = self._guessed_count(once) if known is None else known
        last = bodies[0] if len(bodies) == 2 else []  # the condition, which ends the loop
        return once * max(1, min(count, room // max(len(once), 1))) + last

    def _evidence(self, body: list[Launch]) -> tuple[int, int]:
        """How much of a branch was seen to run: kernels of its own, and others like them."""
        own = sum(1 for launch in body if kernel_name(launch.node[1]) in self.names)
        return own, sum(1 for launch in body if self.seen.get(launch.label))

    def _guessed_count(self, body: list[Launch]) -> int:
        """How often a loop of unknown length ran, by what its kernels say."""
        per_round = Counter(launch.label for launch in body if launch.label not in (LIBRARY, COPY, COLLECTIVE))
        ratios = Counter(self.seen.get(label, 0) // count for label, count in per_round.items())
        return ratios.most_common(1)[0][0] if ratios else 1


def _flat(bodies: Iterable[list[Launch]]) -> list[Launch]:
    return [launch for body in bodies for launch in body]
