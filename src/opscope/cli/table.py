"""Aligned columns of plain text. They are for people; `--json` is for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opscope.terminal import one_line

_WIDEST = 400
"""Characters. A longer cell moves the rest of its own row: if it were a column's width, every row would be as long."""


def table(rows: Iterable[Sequence[str]], right: str = "") -> list[str]:
    """Lines with columns as wide as their widest cell, up to a limit. `right` has a letter per column: "r" aligns it right ("lrr")."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [min(max(map(len, column)), _WIDEST) for column in zip(*cells, strict=True)]
    alignments = [str.rjust if right[i : i + 1] == "r" else str.ljust for i in range(len(widths))]
    lines = ("  ".join(align(cell, width) for align, cell, width in zip(alignments, row, widths, strict=True)) for row in cells)
    return [line.rstrip() for line in lines]


BARS = "▁▂▃▄▅▆▇█"


def rest(total: int, most: int | None, what: str = "") -> list[str]:
    """The line below a table that shows only the first `most` of `total` rows; none if it shows all."""
    more = f"more {what}".rstrip()
    return [f"… {total - most:,} {more} (--all lists them)"] if most is not None and total > most else []


def modules(rows: Sequence[Sequence[str]], right: str) -> list[str]:
    """What a command says about a source with several modules: one row for each, below the heading."""
    return blocks([f"{len(rows) - 1} modules; --module NAME shows one"], table(rows, right))


def blocks(*parts: list[str]) -> list[str]:
    """The lines of all parts, with an empty line between two parts."""
    return [line for i, part in enumerate(parts) for line in ([""] if i else []) + part]


def count(number: int, noun: str) -> str:
    """`1 step`, `1,200 steps`."""
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"
