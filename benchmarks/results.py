"""Keeps what the benchmarks measure: one JSON line per figure in `benchmarks/results/NAME.jsonl`. `report.py` turns them into RESULTS.md.

Every benchmark takes `--keep`; without it, figures are only printed. Benchmarks that are not written in Python pipe their figures in:

    … | python benchmarks/results.py layout
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"


@dataclass(frozen=True)
class Figure:
    """One measured number. `value` is None if nothing was measured; then `note` says why."""

    name: str
    value: float | None
    unit: str = ""
    graph: str = ""
    size: int | None = None
    """Boxes or nodes of the graph."""
    tool: str = "opscope"
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""

    @property
    def target(self) -> str:
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return "" if self.at_least is None else f"≥ {self.at_least:g}"

    @property
    def met(self) -> bool | None:
        """None if there is no target."""
        if not self.target:
            return None
        if self.value is None:
            return False
        return (self.at_most is None or self.value <= self.at_most) and (self.at_least is None or self.value >= self.at_least)


def keep(benchmark: str, figures: Iterable[Figure], measured_on: str = "") -> None:
    """Append the figures to the file of a benchmark, with the commit, the date and the machine, which may be another than this one."""
    origin = {"commit": commit(), "date": time.strftime("%Y-%m-%d"), "machine": measured_on or machine()}
    RESULTS.mkdir(exist_ok=True)
    with (RESULTS / f"{benchmark}.jsonl").open("a", encoding="utf-8") as lines:
        for figure in figures:
            lines.write(json.dumps({**line_of(figure), **origin}, ensure_ascii=False) + "\n")


def line_of(figure: Figure) -> dict[str, Any]:
    value = None if figure.value is None or not math.isfinite(figure.value) else float(f"{figure.value:.5g}")
    return {
        "graph": figure.graph,
        "size": figure.size,
        "tool": figure.tool,
        "name": figure.name,
        "value": value,
        "unit": figure.unit,
        "target": figure.target,
        "met": figure.met,
        "note": figure.note,
    }


def commit() -> str:
    """The commit that was measured; "+" marks changes that are not committed."""
    git = ["git", "-C", str(HERE)]
    name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    changes = subprocess.run(
        [*git, "status", "--porcelain", "--", "../src", "../web/src"], check=True, capture_output=True, text=True
    ).stdout
    return name + "+" * bool(changes)


def machine() -> str:
    """The processor and its cores, on which figures depend, and nothing that identifies the machine."""
    cpuinfo = Path("/proc/cpuinfo")
    models = (
        [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        if cpuinfo.exists()
        else []
    )
    return f"{models[0] if models else platform.processor() or platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def main(benchmark: str) -> None:
    keep(benchmark, [Figure(**json.loads(line)) for line in sys.stdin])


if __name__ == "__main__":
    main(sys.argv[1])
