"""Facts about a program as a whole, as fields of the wire's directory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from opscope.analysis.derivatives import explanations
from opscope.analysis.groupings import MODULE, GroupTree
from opscope.analysis.info import notes_of
from opscope.analysis.roofline import estimated_for
from opscope.analysis.summary_table import table_of
from opscope.profile.lane import lane_facts
from opscope.program import Path, Program
from opscope.readers.result_paths import RESULTS
from opscope.render.wire.file_styles import looks_of


def facts_of(program: Program, trees: Iterable[GroupTree]) -> dict[str, Any]:
    """Notes, derivative rules and, if there are any, the summary, the file's own styles, the device that times are estimated for,
    the kernel lane and the names of the results. `trees` are the program's groupings."""
    starts = dict(zip(program.graphs, accumulate((len(graph) for graph in program), initial=0), strict=False))
    return {
        "notes": list(notes_of(program)),
        "derivatives": explanations(program),
        **_summary(program, trees),
        **looks_of(program, starts),
        **_device(program),
        **lane_facts(program, starts),
        **_results(program),
    }


def _results(program: Program) -> dict[str, Any]:
    """The names of what the entry returns, if the source states them."""
    names = program.attrs.get(RESULTS)
    return {"results": names} if isinstance(names, list) and all(isinstance(name, str) for name in names) else {}


def _device(program: Program) -> dict[str, Any]:
    device = estimated_for(program.attrs)
    return {} if device is None else {"device": device.to_dict()}


def _summary(program: Program, trees: Iterable[GroupTree]) -> dict[str, Any]:
    """The table of modules, each row with the number of its group (-1 if nothing of it is drawn)."""
    table = table_of(program)
    if table is None:
        return {}
    entry = list(program.graphs).index(program.entry)
    numbers: dict[tuple[int, str], int] = {}
    for tree in trees:
        if tree.name == MODULE:
            numbers = {(tree.parents[g], name): g for g, name in enumerate(tree.names) if tree.graphs[g] == entry}
    groups: dict[Path, int] = {(): -1}
    for scope in table.scopes:
        if scope:
            groups[scope] = numbers.get((groups.get(scope[:-1], -1), scope[-1]), -1)
    return {"summary": {**table._asdict(), "scopes": [groups[scope] for scope in table.scopes]}}
