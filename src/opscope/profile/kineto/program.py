"""A trace as a program: its operators in the order in which they ran, in their modules, with their times. A trace has no data flow."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

from opscope.profile.kineto.calls import Call, Calls
from opscope.profile.kineto.nesting import NONE
from opscope.profile.kineto.times import timed_by_calls
from opscope.profile.place import Times
from opscope.program import BACKWARD_OF, DIRECTION_ATTR, Link, Program, ProgramBuilder

ENTRY = "main"


class _Key(NamedTuple):
    """What makes calls of different steps one node."""

    phase: str
    modules: tuple[str, ...]
    name: str
    ordinal: int


def program_of_calls(calls: Calls, name: str) -> tuple[Program, Times]:
    """A node for each operator of a step, and their times over all steps."""
    keys = _keys(calls)
    nodes: dict[_Key, str] = {}
    builder = ProgramBuilder(name, ENTRY)
    graph = builder.graph(ENTRY)
    used: Counter[str] = Counter()
    for call, key in zip(calls.calls, keys, strict=True):
        if key in nodes:
            continue
        base = _short(call)
        node = f"{base}_{used[base]}" if used[base] else base
        used[base] += 1
        nodes[key] = node
        forward = calls.of_span(call.forward)
        links = [Link(BACKWARD_OF, nodes[keys[forward]])] if forward != NONE and keys[forward] in nodes else []
        attrs: dict[str, Any] = {DIRECTION_ATTR: key.phase}
        frames = [call.place.frame] if call.place.frame else []
        graph.node(node, call.name.replace("::", "."), attrs=attrs, scope=key.modules, source=frames, links=links)
    placement = {i: (0, (ENTRY, nodes[key])) for i, key in enumerate(keys)}
    (timed,) = timed_by_calls([builder.build()], calls, placement)
    return timed


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
