"""`opscope memory --what-if` and `--suggest`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opscope.cli.progress import progress
from opscope.cli.source import read_one
from opscope.cli.table import blocks, count, table
from opscope.naming import Part, listed
from opscope.quantities import short_bytes, short_number
from opscope.terminal import say, say_json

_MOST_OTHERS = 8

if TYPE_CHECKING:
    from opscope.memory.suggest import Answer, Suggestion
    from opscope.memory.what_if import WhatIf


def show(source: str, module: str | None, format: str | None, part: Part, what_if: tuple[str, ...], suggests: bool, as_json: bool) -> None:
    """Print the peak as it is and with the changes that were asked for, or that are suggested."""
    from opscope.memory.read_from import remember_source
    from opscope.memory.shown import memory_of, planner_of
    from opscope.memory.suggest import answer as answer_to
    from opscope.memory.what_if import change_of

    changes = [change_of(text) for text in what_if]
    program = read_one(source, format, module, part)
    remember_source(source, program)
    with progress(f"planning {source}"):
        planner = planner_of(program)
        answer = answer_to(planner, changes, suggests)
    result, before = answer.result, planner.memory.live_peak
    if as_json:
        say_json(_json(before, answer), indent=1)
        return
    total = memory_of(program).peak_bytes
    reserved = f" (of {short_bytes(total)} reserved)" if short_bytes(total) != short_bytes(before) else ""
    after = f"{short_bytes(result.memory.live_peak)}, estimated" + (", if you compile it as below" if answer.note else "")
    facts = [
        ("program", planner.memory.name),
        ("in use at the peak", f"{short_bytes(before)}{reserved}, with these changes {after}"),
        ("computed again", _again(result)),
    ]
    if answer.error:
        facts.append(("estimate", answer.error))
    if answer.advice and answer.by_hand:
        names = listed(list(map(str, answer.by_hand)))
        facts.append(("the code below", f"{short_bytes(answer.advice_peak)} in use at the peak: it does not do {names}"))
    if planner.memory.remark:
        facts.append(("note", planner.memory.remark))
    if result.moved:
        facts.append(("moved", f"{short_bytes(result.moved)} off the device and back"))
    if answer.note:
        facts.append(("note", answer.note))
    for buffer, reason in answer.left_out:
        facts.append(("not recomputed", f"{buffer.name} ({short_bytes(buffer.bytes or 0)}): {reason}"))
    if suggests and not answer.suggestions:
        facts.append(("suggested", "nothing: no value that is saved for backward lowers the peak"))
    parts = [table(facts)]
    if answer.suggestions:
        peak = "peak" if len(answer.suggestions) == 1 else "peak, with those above"
        parts.append(_rows("suggested", answer.suggestions, peak))
    if answer.advice:
        parts.append(answer.advice)
    if answer.others:
        parts.append(_rows("or one of these alone", answer.others[:_MOST_OTHERS]))
    say(*blocks(*parts))


def _rows(title: str, suggestions: list[Suggestion], peak: str = "peak") -> list[str]:
    rows = [(title, peak, "FLOP again", "kept at the peak now", "values")]
    for each in suggestions:
        known = "unknown" if each.known_flops is None else ("≥ " if each.unknown else "") + short_number(each.flops)
        rows.append((each.name, short_bytes(each.peak), known, short_bytes(each.bytes), str(len(each.buffers))))
    return table(rows, "lrrrr")


def _again(result: WhatIf) -> str:
    if result.known_flops is None:
        return f"FLOPs unknown ({count(result.unknown, 'operation')})"
    return f"{short_number(result.flops)} FLOP" + (
        f", without {count(result.unknown, 'operation')} of unknown cost" if result.unknown else ""
    )


def _json(before: int, answer: Answer) -> dict[str, Any]:
    result = answer.result
    return {
        "bytes": before,
        "bytes_after": result.memory.live_peak,
        "flops": result.known_flops,
        "unknown_flops": result.unknown,
        "moved_bytes": result.moved,
        "curve": [list(point) for point in result.memory.curve],
        "suggestions": list(map(_suggestion_json, answer.suggestions)),
        "alternatives": list(map(_suggestion_json, answer.others)),
        "not_recomputed": [{"node": buffer.node, "bytes": buffer.bytes, "why": reason} for buffer, reason in answer.left_out],
        "advice": answer.advice,
        "advice_bytes": answer.advice_peak if answer.advice else None,
        "not_in_advice": list(map(str, answer.by_hand)),
        "estimate": answer.error,
        "note": answer.note,
    }


def _suggestion_json(each: Suggestion) -> dict[str, Any]:
    return {
        "name": each.name,
        "changes": list(map(str, each.changes)),
        "nodes": [buffer.node for buffer in each.buffers],
        "bytes": each.bytes,
        "flops": each.known_flops,
        "unknown_flops": each.unknown,
        "peak_bytes": each.peak,
        "advice": list(each.code),
    }
