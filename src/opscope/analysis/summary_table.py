"""The summary of a program for the viewer's table of modules: columns, cells with numbers or text, and totals as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opscope.analysis.layers import has_modules, layers_of
from opscope.analysis.summary import COLUMNS, MEASURED, Summary, total_lines
from opscope.program import Path, Program

_ORDER = ("path", "class", "input", "output", "params", "share", "inside", "mult_adds", "saved", "kernel", "trainable")
_HEADINGS = {"path": "module", "inside": "parameters inside", **{name: column.heading.lower() for name, column in COLUMNS.items()}}
_UNITS = {"params": "count", "share": "share", "inside": "count", "mult_adds": "count", "saved": "bytes"}


class SummaryTable(NamedTuple):
    """One row per module call, callers first."""

    columns: list[dict[str, str]]
    rows: list[list[str | float | None]]
    scopes: list[Path]
    """The group of each row; empty for the model itself."""
    totals: list[tuple[str, str]]


def table_of(program: Program) -> SummaryTable | None:
    """The measured table, or one derived from the graph; None for a program without modules. Empty columns are left out."""
    try:
        return _table(program.attrs[MEASURED])
    except (LookupError, TypeError, ValueError, AttributeError):  # there is none, or the program's file uses the name for something else
        return _table(Summary(layers_of(program), None, ()).to_dict()) if has_modules(program) else None


def _table(summary: Mapping[str, Any]) -> SummaryTable:
    scopes: list[Path] = []
    above: list[str] = []
    numbers: dict[tuple[int, str], int] = {}
    around, parents, groups = [0], [0], []
    """The numbers of the groups around a row, the group around each group, and the group of each row; the model itself is 0."""
    for row in summary["rows"]:
        kept = max(row["depth"] - 1, 0)
        del above[kept:], around[kept + 1 :]
        if row["depth"]:
            above.append(row["label"])
            number = numbers.setdefault((around[-1], row["label"]), len(parents))
            if number == len(parents):
                parents.append(around[-1])
            around.append(number)
        scopes.append(tuple(above))
        groups.append(around[-1])
    lines = [_cells(row, summary["model"]) for row in summary["rows"]]
    inside = [0] * len(parents)
    for group, line in zip(groups, lines, strict=True):
        inside[group] += line["params"]
    for number in range(len(parents) - 1, 0, -1):  # a group has a higher number than the one around it
        inside[parents[number]] += inside[number]
    for group, line in zip(groups, lines, strict=True):
        line["inside"] = inside[group]
    names = [name for name in _ORDER if any(line[name] not in (None, "", 0) for line in lines)]
    columns = [{"name": _HEADINGS.get(name, name), "unit": _UNITS.get(name, "")} for name in names]
    return SummaryTable(columns, [[line[name] for name in names] for line in lines], scopes, total_lines(summary["totals"]))


def _cells(row: Mapping[str, Any], model: str) -> dict[str, Any]:
    """A row of `Summary.to_dict()` with shapes as text."""
    again = f"@{row['repeat']}" if row["repeat"] else ""
    return {
        **row,
        "path": f"{row['path']}{again}" if row["path"] else model,
        "input": ", ".join(map(_shape, row["input"])),
        "output": ", ".join(map(_shape, row["output"])),
        "kernel": " × ".join(map(str, row["kernel"])),
    }


def _shape(sizes: list[Any] | None) -> str:
    return "?" if sizes is None else f"[{', '.join(map(str, sizes))}]"
