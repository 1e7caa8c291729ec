"""Puts the calls of a trace on the launches of compiled code, in the order in which they run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from opscope.profile.align import align
from opscope.profile.kineto.calls import Call, Calls
from opscope.profile.kineto.nesting import COMPILED, NONE
from opscope.profile.kineto.times import Placement
from opscope.profile.schedule import LIBRARY
from opscope.program import NodeKey, Program

LAUNCH_ATTR = "opscope.launch"
"""Of a node that launches a kernel: what a profiler calls the operator or the kernel."""

_LEAST_OVERLAP = 0.5
"""What a run and a graph must have in common, as a share of the shorter one, for the graph to be what ran. A library may launch many
kernels for one call."""
_BEFORE = re.compile(r"memset|nchwToNhwc|init_device_workspace", re.IGNORECASE)
"""What a library runs before its main kernel: memory is set, and layouts are changed."""
_HELPER = re.compile(rf"{_BEFORE.pattern}|splitK_?reduce|nhwcToNchw", re.IGNORECASE)
"""What a library runs before or after its main kernel."""
_ATTENTION = re.compile(r"sdpa|fmha|flash|attention|cudnn::fusion", re.IGNORECASE)
"""The kernels of one call of attention, whose names have little else in common."""
_NUMBERED_GRAPH = re.compile(r"graph_\d+_(?=cpp_)")


class _Launches(NamedTuple):
    """A graph of launches, in order."""

    program: int
    name: str
    nodes: list[NodeKey]
    labels: list[str]


def has_launches(program: Program) -> bool:
    """Whether a program is code that launches kernels."""
    return any(LAUNCH_ATTR in node.attrs for graph in program for node in graph)


def place_launches(programs: Sequence[Program], calls: Calls) -> Placement:
    """The launch of each call. What runs between two calls of the compiler's code, such as an optimizer's step, has none."""
    graphs = list(_graphs(programs))
    runs: dict[int, list[int]] = {}
    for i, call in enumerate(calls.calls):
        if call.place.graph != NONE:
            runs.setdefault(call.place.graph, []).append(i)
    aligned: dict[tuple[str, ...], tuple[_Launches, list[int | None]] | None] = {}
    placement: dict[int, tuple[int, NodeKey]] = {}
    for run in runs.values():
        modules = calls.calls[run[0]].place.modules
        region = modules[-1].removeprefix(COMPILED) if modules else ""
        key = (region, *(calls.calls[i].name for i in run))
        if key not in aligned:
            aligned[key] = _aligned(graphs, [calls.calls[i] for i in run], region)
        match = aligned[key]
        if match is not None:
            graph, places = match
            placement.update((i, (graph.program, graph.nodes[at])) for i, at in zip(run, places, strict=True) if at is not None)
    return placement


def _aligned(graphs: Iterable[_Launches], run: Sequence[Call], region: str) -> tuple[_Launches, list[int | None]] | None:
    """The graph that ran, and the launch of each call. Kernels of a CUDA graph have no operator: those of libraries are aligned as such,
    and what else a library runs is placed with the kernel next to it."""
    names = [_NUMBERED_GRAPH.sub("", call.name) for call in run]
    if any(call.is_kernel for call in run):
        graphs = [graph._replace(labels=[LIBRARY if "::" in label else label for label in graph.labels]) for graph in graphs]
        generated = {label for graph in graphs for label in graph.labels}
        names = [LIBRARY if call.is_kernel and name not in generated else name for call, name in zip(run, names, strict=True)]
    graph = _best(graphs, names, region)
    if graph is None:
        return None
    helpers = [bool(_HELPER.search(call.name)) and call.is_kernel for call in run]
    places = align(["" if helper else name for helper, name in zip(helpers, names, strict=True)], graph.labels)
    _fill_library(run, names, graph.labels, places)
    return graph, places


def _fill_library(run: Sequence[Call], names: Sequence[str], labels: Sequence[str], places: list[int | None]) -> None:
    """Place the kernels of libraries between two that Inductor generated. If there are more main kernels than calls, neighbours with
    similar names are of one call; helpers go with the kernel that they follow, or prepare for."""
    start = 0
    for is_library, kernels in groupby(names, key=lambda name: name == LIBRARY):
        stop = start + len(list(kernels))
        if is_library:
            first = -1 if start == 0 else places[start - 1]
            last = len(labels) if stop == len(names) else places[stop]
            calls = [] if first is None or last is None else [j for j in range(first + 1, last) if labels[j] == LIBRARY]
            mains = [[i] for i in range(start, stop) if not _HELPER.search(run[i].name)]
            if 0 < len(calls) < len(mains):
                _merge([run[main[0]].name for main in mains], mains, len(calls))
                for main, call in zip(mains, calls, strict=True):
                    for i in main:
                        places[i] = call
            _place_helpers(run, places, range(start, stop))
        start = stop


def _merge(names: list[str], mains: list[list[int]], count: int) -> None:
    """Merge the most similar neighbours until so many are left."""
    while len(mains) > count:
        at = max(range(len(mains) - 1), key=lambda i: _alike(names[i], names[i + 1]))
        mains[at : at + 2] = [mains[at] + mains[at + 1]]
        names[at : at + 2] = names[at : at + 1]


def _alike(a: str, b: str) -> int:
    """How many characters two names begin with in common; all of them if both belong to attention, none if one does."""
    in_attention = [bool(_ATTENTION.search(name)) for name in (a, b)]
    if any(in_attention):
        return len(a) + len(b) if all(in_attention) else 0
    return next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _place_helpers(run: Sequence[Call], places: list[int | None], block: range) -> None:
    before: int | None = None
    for i in block:
        if places[i] is None and not _BEFORE.search(run[i].name):
            places[i] = before
        before = places[i] if places[i] is not None else before
    after = before
    for i in reversed(block):
        places[i] = after if places[i] is None else places[i]
        after = places[i]


def _graphs(programs: Sequence[Program]) -> Iterable[_Launches]:
    for number, program in enumerate(programs):
        for graph in program:
            launches = [(node.id, str(node.attrs[LAUNCH_ATTR])) for node in graph if LAUNCH_ATTR in node.attrs]
            if launches:
                nodes = [(graph.name, node) for node, _ in launches]
                yield _Launches(number, program.name, nodes, [label for _, label in launches])


def _best(graphs: Iterable[_Launches], labels: Sequence[str], region: str) -> _Launches | None:
    """The graph that has most of what ran; of several, the one of the compilation that the trace names."""
    ran = Counter(labels)
    best: _Launches | None = None
    most = (0.0, False)
    for graph in graphs:
        common = (ran & Counter(graph.labels)).total()
        score = (2 * common / (len(labels) + len(graph.labels)), bool(region) and graph.name.endswith(region))
        if common >= _LEAST_OVERLAP * min(len(labels), len(graph.labels)) and score > most:
            best, most = graph, score
    return best
