"""Puts the calls of an eager run on the nodes of an exported graph: the same operators in the same order.

A graph may have the operator that the model calls (`aten.linear`) or those that it is made of (`aten.addmm`), so the calls of a trace are
those that the graph has. What autocast adds, such as the cast of a weight, belongs to the only operator of the same call of a module. A
graph without a backward gets the time of backward functions on the nodes whose gradients they compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from opscope.profile.align import align
from opscope.profile.kineto.calls import Calls
from opscope.profile.kineto.nesting import NONE
from opscope.profile.kineto.times import Placement
from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, Node, Program

_CASTS = frozenset(["aten::to", "aten::_to_copy", "aten::copy_", "aten::contiguous", "aten::clone"])
_LEAST_SHARE = 0.5
"""The share of a graph's operators that a trace must have to be of that graph."""


def vocabulary_of(programs: Iterable[Program]) -> frozenset[str]:
    """The operators of programs, as a profiler names them."""
    return frozenset(label for program in programs for node in program.main if (label := _label(node)))


def _label(node: Node) -> str:
    """`aten::linear` for a node `aten.linear.default`, or nothing if it is not an operator."""
    parts = node.op.removeprefix("torch.ops.").split(".")
    return f"{parts[0]}::{parts[1]}" if node.role == "op" and len(parts) >= 2 else ""


def place_operators(programs: Sequence[Program], calls: Calls) -> Placement:
    """The node of each call, in the first program whose operators ran."""
    for number, program in enumerate(programs):
        halves: dict[str, list[Node]] = {FORWARD: [], BACKWARD: []}
        for node in program.main:
            if _label(node):
                halves[BACKWARD if node.attrs.get(DIRECTION_ATTR) == BACKWARD else FORWARD].append(node)
        nodes = _aligned(calls, halves[FORWARD], FORWARD)
        if not nodes or len(set(nodes.values())) < _LEAST_SHARE * len(halves[FORWARD]):
            continue
        _add_casts(calls, nodes)
        nodes |= _aligned(calls, halves[BACKWARD], BACKWARD) if halves[BACKWARD] else _of_backward(calls, nodes)
        return {i: (number, (program.entry, node)) for i, node in nodes.items()}
    return {}


def _aligned(calls: Calls, nodes: Sequence[Node], phase: str) -> dict[int, str]:
    """The node of each call of a phase, step by step."""
    steps: dict[int, list[int]] = {}
    for i, call in enumerate(calls.calls):
        if call.place.phase == phase:
            steps.setdefault(call.step, []).append(i)
    labels = [_label(node) for node in nodes]
    aligned: dict[tuple[str, ...], list[int | None]] = {}
    places: dict[int, str] = {}
    for step in steps.values():
        names = tuple([calls.calls[i].name for i in step])
        if names not in aligned:
            aligned[names] = align(names, labels)
        places.update((i, nodes[at].id) for i, at in zip(step, aligned[names], strict=True) if at is not None)
    return places


def _add_casts(calls: Calls, nodes: dict[int, str]) -> None:
    """Place the casts of a module that has one node."""
    only: dict[tuple[int, tuple[str, ...]], set[str]] = {}
    for i, node in nodes.items():
        call = calls.calls[i]
        only.setdefault((call.step, call.place.modules), set()).add(node)
    for i, call in enumerate(calls.calls):
        around = only.get((call.step, call.place.modules), set())
        if i not in nodes and call.place.phase == FORWARD and call.name in _CASTS and call.place.modules and len(around) == 1:
            nodes[i] = next(iter(around))


def _of_backward(calls: Calls, nodes: Mapping[int, str]) -> dict[int, str]:
    """The nodes whose gradients backward calls compute."""
    forward = {i: calls.of_span(call.forward) for i, call in enumerate(calls.calls) if call.place.phase == BACKWARD}
    return {i: nodes[j] for i, j in forward.items() if j != NONE and j in nodes}
