"""Facts about operations, one row per name; nodes refer to rows (`web/src/core/program/ops.ts` reads it)."""

from __future__ import annotations

from collections.abc import Iterable

from opscope.ops import CONTROL, FORWARDS, TITLED_BY, facts_of, name_of
from opscope.render.wire.sections import Interner, SectionWriter


def write_ops(out: SectionWriter, ops: Iterable[str], strings: Interner) -> None:
    """The table of the program's operations, in the order of their row numbers."""
    names = list(ops)
    facts = [facts_of(op) for op in names]
    out.integers("ops.name", [strings[op] for op in names])
    out.integers("ops.title", [strings[name_of(op).title] for op in names])
    out.integers("ops.sign", [strings[fact.sign] for fact in facts])
    out.block("ops.forwards", bytes(FORWARDS.index(fact.forwards) for fact in facts))
    out.block("ops.control", bytes(CONTROL.index(fact.control) for fact in facts))
    out.block("ops.titledBy", bytes(TITLED_BY.index(fact.titled_by) for fact in facts))
    out.block("ops.spreads", bytes(fact.spreads for fact in facts))
    out.block("ops.free", bytes(fact.free for fact in facts))
    out.block("ops.view", bytes(fact.view for fact in facts))
    out.block("ops.unnumbered", bytes(fact.unnumbered for fact in facts))
