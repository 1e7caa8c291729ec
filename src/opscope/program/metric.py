"""Metric: a quantity on nodes, such as FLOPs, seconds or bytes. Every number that opscope shows about a node is a metric.

A Program defines its metrics once, by name. The numbers are on each Graph: one column per metric, `{node id: number}`, with only the
nodes that have one. A metric says how its numbers combine, so that a group of nodes has the same number wherever it is shown.

A number describes one run of the node, with everything that the node calls: a loop's FLOPs include those of its body, for every
iteration. So a group combines the nodes of its own graph, and nothing of the graphs that they call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from opscope.errors import OpscopeError
from opscope.program.values import NodeKey

MetricOrigin: TypeAlias = Literal["estimated", "measured", "given"]
ORIGINS: tuple[MetricOrigin, ...] = ("estimated", "measured", "given")
COMBINES = ("sum", "max", "last")
_RATIO = "ratio:"
CHANGE = " change"
"""How the name of a metric ends that is a difference of two programs, after − before. The viewer writes its sign, and colours more and less
apart."""

Column: TypeAlias = Mapping[str, float]
"""Node ids and their numbers."""
NodeValues: TypeAlias = Mapping[str, float] | Mapping[NodeKey, float] | Mapping[str | NodeKey, float]
"""Numbers by node id, for nodes of the entry graph, or by (graph name, node id)."""


@dataclass(frozen=True)
class Metric:
    """What a column of numbers means.

    `unit` is "s", "B", "FLOP", "1" for a plain number, or any other short text. `combine` is how a group gets its number from its nodes:
    "sum", "max", "last" (of the last node that has one), or "ratio:a/b", the metric `a` of the group divided by its metric `b`. A ratio
    has no numbers of its own. `origin` is where they come from: "estimated" from the program, "measured" in a run, or "given" by a file.
    """

    name: str
    unit: str = "1"
    combine: str = "sum"
    origin: MetricOrigin = "given"

    def __post_init__(self) -> None:
        if not self.name:
            raise OpscopeError("a metric needs a name, such as flops")
        if not self.unit:
            raise OpscopeError(f'metric {self.name!r} needs a unit: "s", "B", "FLOP", or "1" for a plain number')
        if self.origin not in ORIGINS:
            raise OpscopeError(f"metric {self.name!r}: origin must be one of {', '.join(ORIGINS)}, not {self.origin!r}")
        if self.combine not in COMBINES and not self.ratio:
            raise OpscopeError(f"metric {self.name!r}: combine must be {', '.join(COMBINES)} or ratio:a/b, not {self.combine!r}")

    @property
    def ratio(self) -> tuple[str, str] | None:
        """The names of the two metrics that a ratio divides."""
        above, slash, below = self.combine.removeprefix(_RATIO).partition("/")
        return (above, below) if self.combine.startswith(_RATIO) and slash and above and below and "/" not in below else None


def number(value: Any) -> float:
    """A finite number as a Python int or float; raises a ValueError that says what it is instead."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise ValueError(f"must be a number, not {value!r}")
    try:
        finite = isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise ValueError(f"must be a finite number, not {str(value)[:12]}")
    return int(value) if isinstance(value, Integral) else float(value)


def check_ratio(metric: Metric, metrics: Mapping[str, Metric]) -> None:
    """Check that a ratio divides two metrics of the program that are not ratios."""
    for name in metric.ratio or ():
        if name not in metrics:
            raise OpscopeError(f"metric {metric.name!r} is a ratio of {name!r}, which is not a metric of the program")
        if metrics[name].ratio:
            raise OpscopeError(f"metric {metric.name!r} is a ratio of {name!r}, which is itself a ratio")
