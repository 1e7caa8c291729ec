"""What to know about the count of a program's operations: which are estimates, and what is outside of the program."""

from __future__ import annotations

from collections import Counter

from opscope.analysis.factorizations import ROUTINES, estimated, routine_of
from opscope.analysis.library_calls import HOST_CALLS, call_target, is_host_call
from opscope.ops import plain_name
from opscope.program import Program


def count_notes(program: Program) -> tuple[str, ...]:
    """One sentence for each kind of remark. Only custom calls and the operations with such names are looked at."""
    estimates: Counter[str] = Counter()
    host: Counter[str] = Counter()
    for graph in program:
        if not any(_matters(op) for op in set(graph.ops)):
            continue
        for i, op in enumerate(graph.ops):
            if not _matters(op):
                continue
            node = graph.nodes[i]
            name, target = plain_name(op), call_target(node)
            if is_host_call(node):
                host[target or name] += 1
            elif estimated(routine_of(target) or name):
                estimates[target or name] += 1
    notes = []
    if estimates:
        notes.append(f"The FLOPs of {', '.join(estimates)} are estimates: how often such a routine iterates depends on the values.")
    if host:
        calls = "1 host call" if host.total() == 1 else f"{host.total()} host calls"
        notes.append(f"{calls} ({', '.join(host)}): what the Python function does is outside of the program and is not counted.")
    return tuple(notes)


def _matters(op: str) -> bool:
    name = plain_name(op)
    return name == "custom_call" or name in HOST_CALLS or (name in ROUTINES and estimated(name))
