"""What two programs cost, side by side: through matched nodes, so that a row is the same module even if the compiler renamed everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opscope.analysis.costs import CostRow, Costs, costs_of
from opscope.analysis.devices import Device
from opscope.profile.kineto.program import OUTSIDE
from opscope.program import Path, Program
from opscope.readers.timed import Timed
from opscope.recording.diff import diff
from opscope.recording.module_pairs import ModulePairs

PERS = ("node", "op", "module", "source")
_FEW_MATCHED = 0.9
"""If less of the cost than this is on nodes that both have, modules are matched too."""
_OUTSIDE = f"{OUTSIDE}/"


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
    by_module: float | None = None
    """The share of B's amount in modules that have a counterpart in A, if modules were matched because nodes could not be."""
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
            **({} if self.by_module is None else {"matched_module_share": self.by_module}),
            "rows": rows,
        }


def cost_changes(a: Timed, b: Timed, by: str | None = None, per: str = "module", device: Device | None = None) -> CostChanges:
    """How the cost of each module, operation, source line or node of A changed in B. A node of B counts for what its counterpart in A
    belongs to."""
    before = costs_of(a.program, a.times, by, "node", device)
    after = costs_of(b.program, b.times, before.by, "node", device)
    nodes = {(row.graph, row.name): row for row in before.rows}
    counterparts = {new: nodes[old] for old, new in diff(a.program, b.program).pairs() if old in nodes}
    matched = sum(row.amounts[after.by] for row in after.rows if (row.graph, row.name) in counterparts)
    is_poor = per == "module" and matched < _FEW_MATCHED * after.total
    pairs = ModulePairs(a.program, b.program) if is_poor else None
    rows: dict[str, ChangedRow] = {}
    for row in before.rows:
        name = _name(row, per)
        if pairs:
            name = _joined(pairs.of_a(_scope(a.program, row))) or name.removeprefix(_OUTSIDE)
        changed = rows.setdefault(name, ChangedRow(name))
        changed.before = (changed.before or 0.0) + row.amounts[before.by]
    in_modules = 0.0
    for row in after.rows:
        counterpart = counterparts.get((row.graph, row.name))
        name = _name(row if counterpart is None else counterpart, per)
        if pairs:
            module = pairs.of_b(_scope(b.program, row))
            name = _joined(module) or name.removeprefix(_OUTSIDE)
            in_modules += row.amounts[after.by] if module is not None or counterpart is not None else 0.0
        changed = rows.setdefault(name, ChangedRow(name))
        changed.after = (changed.after or 0.0) + row.amounts[after.by]
    ordered = sorted(rows.values(), key=lambda row: -row.change)
    shares = [amount / after.total if after.total else 1.0 for amount in (matched, in_modules)]
    return CostChanges(before, after, per, shares[0], shares[1] if pairs else None, ordered)


def _name(row: CostRow, per: str) -> str:
    return {"node": row.name, "op": row.op, "module": row.module, "source": row.source}[per] or "(none)"


def _scope(program: Program, row: CostRow) -> Path:
    return program.graphs[row.graph][row.name].scope


def _joined(module: Path | None) -> str:
    return "/".join(module or ())
