"""Several runs of a program whose nodes were timed one by one: medians, spread, and how much the timing disturbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median, quantiles

from opscope.profile.place import Times, with_times
from opscope.program import Metric, Program
from opscope.quantities import short_seconds

SPREAD = Metric("time spread", "s", "max", "measured")
"""Seconds between the fastest and the slowest quarter of a node's runs."""


@dataclass
class Measurement:
    """The seconds of each run: of the whole program without timing, and of every node."""

    whole: list[float] = field(default_factory=list)
    nodes: dict[str, list[float]] = field(default_factory=dict)

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add one run."""
        for node, each in seconds.items():
            self.nodes.setdefault(node, []).append(each)

    @property
    def medians(self) -> dict[str, float]:
        return {node: median(seconds) for node, seconds in self.nodes.items()}

    def on(self, program: Program, times: Times) -> Program:
        """The program with the times of its nodes, their spread, and a note on how the sum compares with an undisturbed run."""
        program = with_times(program, times)
        spread = {
            node: quantiles(seconds, n=4)[2] - quantiles(seconds, n=4)[0]
            for node, seconds in self.nodes.items()
            if node in program.main and len(seconds) > 1
        }
        return noted(program.with_columns({SPREAD: {program.entry: spread}}), median(self.whole), times.device_seconds, len(self.whole))


def noted(program: Program, whole: float, total: float, runs: int) -> Program:
    """The program with a note on how much the measuring disturbs."""
    note = (
        f"measured in {runs} runs: an undisturbed run takes {short_seconds(whole)}, "
        f"and its nodes, timed one by one, add up to {short_seconds(total)} ({total / whole:.0%})"
    )
    attrs = {**program.attrs, "notes": (*program.attrs.get("notes", ()), note), "seconds": whole}
    return replace(program, attrs=attrs)
