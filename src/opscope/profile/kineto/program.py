"""Operators of a trace as nodes, in the order in which they ran and in their modules. A trace has no data flow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from opscope.profile.kineto.calls import Call, Calls
from opscope.profile.kineto.nesting import COMPILED, NONE
from opscope.profile.kineto.place import LAUNCH_ATTR
from opscope.profile.kineto.times import Placement, timed_by_calls
from opscope.profile.place import Times
from opscope.program import BACKWARD_OF, DIRECTION_ATTR, GraphBuilder, Link, Path, Program, ProgramBuilder
from opscope.program.own_text import TextWithNew

ENTRY = "main"
OUTSIDE = "not compiled"
"""The group of what ran outside of compiled code: the loss, the optimizer."""


class _Key(NamedTuple):
    """What makes calls of different steps one node."""

    phase: str
    modules: tuple[str, ...]
    name: str
    ordinal: int


def program_of_calls(calls: Calls, name: str) -> tuple[Program, Times]:
    """A node for each operator of a step, and their times over all steps."""
    builder = ProgramBuilder(name, ENTRY)
    nodes = _add_nodes(builder.graph(ENTRY), calls, range(len(calls.calls)))
    (timed,) = timed_by_calls([builder.build()], calls, {i: (0, (ENTRY, node)) for i, node in nodes.items()})
    return timed


def with_outside(programs: Sequence[Program], calls: Calls, placement: Placement) -> tuple[list[Program], Placement]:
    """Compiled programs, with a node for each operator that launched something and is not in their code: between two calls of it, or where
    CUDA graphs copy its inputs. Of several programs, the one that took most of the device's time has these nodes."""
    seconds: dict[int, float] = {}
    for work in calls.launched:
        if work.call in placement:
            number = placement[work.call][0]
            seconds[number] = seconds.get(number, 0.0) + work.seconds
    launching = {work.call for work in calls.launched}
    known = {NONE, *(calls.calls[i].place.graph for i in placement)}
    in_code = {str(node.attrs.get(LAUNCH_ATTR)) for program in programs for graph in program for node in graph}

    def is_outside(call: Call) -> bool:
        return call.place.graph == NONE or (call.place.graph in known and not call.is_kernel and call.name not in in_code)

    outside = [i for i, call in enumerate(calls.calls) if i in launching and i not in placement and is_outside(call)]
    if not outside or not seconds:
        return list(programs), placement
    number = max(seconds, key=lambda each: seconds[each])
    program = programs[number]
    main = program.main
    builder = ProgramBuilder(program.name, main.name)
    nodes = _add_nodes(builder.graph(main.name), calls, outside, main, (OUTSIDE,))
    results = next((i for i, node in enumerate(main.nodes) if node.role == "output"), len(main))
    new = builder.build().main.nodes
    graph = replace(main, nodes=(*main.nodes[:results], *new, *main.nodes[results:]))
    text = None if program.own_text is None else TextWithNew(program.own_text, main.name, results, len(new))
    extended = replace(program, graphs=MappingProxyType({**program.graphs, main.name: graph}), own_text=text)
    places = {i: (number, (main.name, node)) for i, node in nodes.items()}
    return [*programs[:number], extended, *programs[number + 1 :]], {**placement, **places}


def _add_nodes(graph: GraphBuilder, calls: Calls, chosen: Iterable[int], taken: Container[str] = (), scope: Path = ()) -> dict[int, str]:
    """Add a node for each of the chosen calls of a step, with ids that are not taken; the node of each call."""
    keys = _keys(calls)
    nodes: dict[_Key, str] = {}
    used: Counter[str] = Counter()
    places: dict[int, str] = {}
    for i in chosen:
        call, key = calls.calls[i], keys[i]
        if key in nodes:
            places[i] = nodes[key]
            continue
        base = _short(call)
        while (node := f"{base}_{used[base]}" if used[base] else base) in taken:
            used[base] += 1
        used[base] += 1
        nodes[key] = places[i] = node
        forward = calls.of_span(call.forward)
        links = [Link(BACKWARD_OF, nodes[keys[forward]])] if forward != NONE and keys[forward] in nodes else []
        attrs: dict[str, Any] = {DIRECTION_ATTR: key.phase}
        frames = [call.place.frame] if call.place.frame else []
        graph.node(
            node,
            call.name.replace("::", "."),
            attrs=attrs,
            scope=(*scope, *(module for module in key.modules if not scope or not module.startswith(COMPILED))),
            source=frames,
            links=links,
        )
    return places


def _short(call: Call) -> str:
    """The name of an operator without its namespace, or of a kernel without its parameters."""
    name = re.split(r"[<(]", call.name)[0] if call.is_kernel else call.name
    return name.strip().rpartition("::")[2].rpartition(" ")[2] or call.name


def _keys(calls: Calls) -> list[_Key]:
    """The key of each call: the first `addmm` of a module in one step is the first in every step."""
    keys = []
    counts: Counter[tuple[int, str, tuple[str, ...], str]] = Counter()
    for call in calls.calls:
        occurrence = (call.step, call.place.phase, call.place.modules, call.name)
        keys.append(_Key(call.place.phase, call.place.modules, call.name, counts[occurrence]))
        counts[occurrence] += 1
    return keys
