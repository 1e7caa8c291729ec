"""`opscope memory --what-if` and `--suggest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opscope.cli.progress import progress
from opscope.cli.source import read_one
from opscope.cli.table import blocks, table
from opscope.naming import Part
from opscope.quantities import short_bytes, short_number
from opscope.terminal import say, say_json

if TYPE_CHECKING:
    from opscope.memory.what_if import Answer, Suggestion


def show(source: str, module: str | None, format: str | None, part: Part, what_if: tuple[str, ...], suggests: bool, as_json: bool) -> None:
    """Print the peak as it is and with the changes that were asked for, or that are suggested."""
    from opscope.memory.shown import planner_of, remember_source
    from opscope.memory.what_if import change_of

    changes = [change_of(text) for text in what_if]
    program = read_one(source, format, module, part)
    remember_source(source, program)
    with progress(f"planning {source}"):
        planner = planner_of(program)
        answer = planner.answer(changes, suggests)
    result, before = answer.result, planner.memory.live_peak
    if as_json:
        say_json(_json(before, answer), indent=1)
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
    if suggests and not answer.suggestions:
        facts.append(("suggested", "nothing: no value that is saved for backward lowers the peak"))
    say(*blocks(table(facts), *([_rows(answer.suggestions), answer.advice] if answer.suggestions else [])))


def _rows(suggestions: list[Suggestion]) -> list[str]:
    rows = [("recompute", "values", "bytes", "FLOP", "peak", "type", "module", "source")]
    for suggestion in suggestions:
        first, sizes = suggestion.buffers[0], (short_bytes(suggestion.bytes), short_number(suggestion.flops), short_bytes(suggestion.peak))
        rows.append((first.node, str(len(suggestion.buffers)), *sizes, str(first.type or ""), "/".join(first.scope), first.source))
    return table(rows, "lrrrr")


def _json(before: int, answer: Answer) -> dict[str, Any]:
    result = answer.result
    rows = [
        {"nodes": [buffer.node for buffer in each.buffers], "bytes": each.bytes, "flops": each.flops, "peak_bytes": each.peak}
        for each in answer.suggestions
    ]
    return {
        "bytes": before,
        "bytes_after": result.memory.live_peak,
        "flops": result.flops,
        "unknown_flops": result.unknown,
        "moved_bytes": result.moved,
        "curve": [list(point) for point in result.memory.curve],
        "suggestions": rows,
        "advice": answer.advice,
    }
