"""Metrics on the wire: a row number for each node, and tables with the values of each row (`web/src/core/program/metrics.ts` reads them).

Equal operations of equal layers have equal values, so a program of 100,000 nodes has a few hundred rows, and a node that no pass of a
recording changes keeps its row.
"""

from __future__ import annotations

from dataclasses import asdict
from math import nan
from typing import Any

from opscope.program import Graph, Metric, Program
from opscope.render.wire.sections import Numbers, SectionWriter


class MetricRows:
    """Collects the numbers of one program, or of all programs of a recording."""

    def __init__(self) -> None:
        self._metrics: dict[Metric, int] = {}
        self._rows: dict[tuple[tuple[int, float], ...], int] = {(): 0}

    def of(self, program: Program, graph: Graph) -> list[int]:
        """The row of each node of a graph. Row 0 is for nodes without numbers."""
        numbers = {name: self._metrics.setdefault(metric, len(self._metrics)) for name, metric in program.metrics.items()}
        columns = [(numbers[name], column) for name, column in graph.metrics.items() if column]
        rows = self._rows
        if not columns:
            return [0] * len(graph)
        of_values: Numbers[tuple[float | None, ...]] = Numbers()
        found = list(map(of_values.__getitem__, zip(*(map(column.get, graph.ids) for _, column in columns), strict=True)))
        numbered = []
        for values in of_values:
            key = tuple([(number, value) for (number, _), value in zip(columns, values, strict=True) if value is not None])
            numbered.append(rows.setdefault(key, len(rows)))
        return list(map(numbered.__getitem__, found))

    def write(self, out: SectionWriter) -> list[dict[str, Any]]:
        """Write the tables, one column for each metric that is not a ratio. Returns the definitions, for the directory."""
        for metric, number in self._metrics.items():
            if metric.ratio is None:
                out.floats(f"metrics.{number}", [dict(row).get(number, nan) for row in self._rows])
        return [asdict(metric) for metric in self._metrics]
