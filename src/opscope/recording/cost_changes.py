"""What two programs cost, side by side: through matched nodes, so that a row is the same module even if the compiler renamed everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opscope.analysis.costs import CostRow, Costs, costs_of
from opscope.analysis.devices import Device
from opscope.readers.timed import Timed
from opscope.recording.diff import diff

PERS = ("node", "op", "module", "source")


@dataclass
class ChangedRow:
    """A row in both programs. An amount is None if the program has nothing of the row."""

    name: str
    before: float | None = None
    after: float | None = None

    @property
    def change(self) -> float:
        return (self.after or 0.0) - (self.before or 0.0)


@dataclass
class CostChanges:
    """The rows, those that grew most first."""

    a: Costs
    b: Costs
    per: str
    matched: float
    """The share of B's amount on nodes that have a counterpart in A."""
    rows: list[ChangedRow] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        rows = [{self.per: row.name, "before": row.before, "after": row.after, "change": row.change} for row in self.rows]
        return {
            "a": self.a.program,
            "b": self.b.program,
            "by": self.a.by,
            "per": self.per,
            "unit": self.a.unit,
            "before": self.a.total,
            "after": self.b.total,
            "matched_share": self.matched,
            "rows": rows,
        }


def cost_changes(a: Timed, b: Timed, by: str | None = None, per: str = "module", device: Device | None = None) -> CostChanges:
    """How the cost of each module, operation, source line or node of A changed in B. A node of B counts for what its counterpart in A
    belongs to."""
    before = costs_of(a.program, a.times, by, "node", device)
    after = costs_of(b.program, b.times, before.by, "node", device)
    nodes = {(row.graph, row.name): row for row in before.rows}
    counterparts = {new: nodes[old] for old, new in diff(a.program, b.program).pairs() if old in nodes}
    rows: dict[str, ChangedRow] = {}
    for row in before.rows:
        changed = rows.setdefault(_name(row, per), ChangedRow(_name(row, per)))
        changed.before = (changed.before or 0.0) + row.amounts[before.by]
    matched = 0.0
    for row in after.rows:
        counterpart = counterparts.get((row.graph, row.name))
        name = _name(row if counterpart is None else counterpart, per)
        changed = rows.setdefault(name, ChangedRow(name))
        changed.after = (changed.after or 0.0) + row.amounts[after.by]
        matched += row.amounts[after.by] if counterpart is not None else 0.0
    ordered = sorted(rows.values(), key=lambda row: -row.change)
    return CostChanges(before, after, per, matched / after.total if after.total else 1.0, ordered)


def _name(row: CostRow, per: str) -> str:
    return {"node": row.name, "op": row.op, "module": row.module, "source": row.source}[per] or "(none)"
