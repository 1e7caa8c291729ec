"""The output formats of a summary: text for a terminal, HTML for a notebook, CSV for everything else."""

from __future__ import annotations

import csv
import io
from html import escape
from typing import TYPE_CHECKING

from opscope.ellipsis import ellipsize

if TYPE_CHECKING:
    from opscope.analysis.summary import Summary

WIDEST_CELL = 48


def as_text(summary: Summary) -> str:
    """A table with columns as wide as they need to be, rules above and below the rows, and totals at the end."""
    headings = ["Layer", *(column.heading for column in summary.columns)]
    right = [False, *(column.right for column in summary.columns)]
    rows = [[row.prefix + row.label, *(ellipsize(column.text(row), WIDEST_CELL) for column in summary.columns)] for row in summary.rows]
    widths = [max(map(len, cells)) for cells in zip(headings, *rows, strict=True)]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    lines = [_line(headings, widths, right), rule, *(_line(row, widths, right) for row in rows), rule]
    totals = summary.total_lines()
    label = max(len(name) for name, _ in totals)
    lines += [f"{name:<{label}}  {text}" for name, text in totals]
    return "\n".join(lines)


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    parts = [cell.rjust(width) if to_right else cell.ljust(width) for cell, width, to_right in zip(cells, widths, right, strict=True)]
    return "  ".join(parts).rstrip()


def as_csv(summary: Summary) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["path", "class", "depth", *summary.column_names])
    for row in summary.rows:
        values = [column.value(row) for column in summary.columns]
        shown = [" ".join(map(str, value)) if isinstance(value, list) else value for value in values]
        writer.writerow([row.layer.path, row.layer.cls, row.layer.depth, *shown])
    return out.getvalue()


def as_html(summary: Summary) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in ["Layer", *(column.heading for column in summary.columns)])
    body = []
    for row in summary.rows:
        name = f'<td style="text-align:left;white-space:pre">{escape(row.prefix + row.label)}</td>'
        cells = (
            f'<td style="text-align:{"right" if column.right else "left"}">{escape(column.text(row))}</td>' for column in summary.columns
        )
        body.append(f"<tr>{name}{''.join(cells)}</tr>")
    totals = "<br>".join(f"{escape(name)}: <b>{escape(text)}</b>" for name, text in summary.total_lines())
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table><p>{totals}</p>"
