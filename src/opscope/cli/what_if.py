"""`opscope memory --what-if` and `--suggest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from opscope.cli.progress import progress
from opscope.cli.source import read_one
from opscope.cli.table import blocks, table
from opscope.quantities import short_bytes, short_number
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.memory.what_if import Change, Suggestion, WhatIf


def show(source: str, module: str | None, format: str | None, what_if: tuple[str, ...], suggests: bool, as_json: bool) -> None:
    """Print the peak as it is and with the changes that were asked for, or that are suggested."""
    from opscope.memory.shown import memory_of, remember_source
    from opscope.memory.what_if import Planner, advice

    changes = [_change(text) for text in what_if]
    program = read_one(source, format, module)
    remember_source(source, program)
    with progress(f"planning {source}"):
        planner = Planner(program, memory_of(program))
        suggestions = planner.suggest(changes) if suggests else []
        changes += [change for each in suggestions for change in each.changes]
        result = planner.what_if(changes)
    lines = advice(program, suggestions) if suggestions else []
    before = planner.memory.live_peak
    if as_json:
        say_json(_json(before, result, suggestions, lines), indent=1)
        return
    facts = [
        ("program", program.name),
        ("in use at the peak", f"{short_bytes(before)}, with these changes {short_bytes(result.memory.live_peak)}, estimated"),
        ("computed again", f"{short_number(result.flops)} FLOP" + (f", unknown for {result.unknown}" if result.unknown else "")),
    ]
    if planner.memory.remark:
        facts.append(("note", planner.memory.remark))
    if result.moved:
        facts.append(("moved", f"{short_bytes(result.moved)} off the device and back"))
    if suggests and not suggestions:
        facts.append(("suggested", "nothing: no value that is saved for backward lowers the peak"))
    say(*blocks(table(facts), *([_rows(suggestions), lines] if suggestions else [])))


def _change(text: str) -> Change:
    from opscope.memory.what_if import ACTIONS, Change

    action, sign, node = text.partition("=")
    for each in ACTIONS:
        if sign and node and action == each:
            return Change(each, node)
    raise click.UsageError(f"--what-if takes one of {', '.join(f'{each}=NODE' for each in ACTIONS)}, not {text!r}.")


def _rows(suggestions: list[Suggestion]) -> list[str]:
    rows = [("recompute", "values", "bytes", "FLOP", "peak", "type", "module", "source")]
    for suggestion in suggestions:
        first, sizes = suggestion.buffers[0], (short_bytes(suggestion.bytes), short_number(suggestion.flops), short_bytes(suggestion.peak))
        rows.append((first.node, str(len(suggestion.buffers)), *sizes, str(first.type), "/".join(first.scope), first.source))
    return table(rows, "lrrrr")


def _json(before: int, result: WhatIf, suggestions: list[Suggestion], lines: list[str]) -> dict[str, Any]:
    rows = [
        {"nodes": [buffer.node for buffer in each.buffers], "bytes": each.bytes, "flops": each.flops, "peak_bytes": each.peak}
        for each in suggestions
    ]
    return {
        "bytes": before,
        "bytes_after": result.memory.live_peak,
        "flops": result.flops,
        "unknown_flops": result.unknown,
        "moved_bytes": result.moved,
        "curve": [list(point) for point in result.memory.curve],
        "suggestions": rows,
        "advice": lines,
    }
