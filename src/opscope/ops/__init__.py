"""Facts about operations: one table by name, for every dialect. Readers can add rows; other code looks facts up."""

from __future__ import annotations

from opscope.ops.facts import BARRIERS, CATEGORIES, CONTROL, CUT, FORWARDS, LOOPS, TITLED_BY, Control, Dialect, Facts, Quantization, Rows
from opscope.ops.names import OpName
from opscope.ops.table import category_of, facts_of, name_of, plain_name

__all__ = [
    "BARRIERS",
    "CATEGORIES",
    "CONTROL",
    "CUT",
    "FORWARDS",
    "LOOPS",
    "TITLED_BY",
    "Control",
    "Dialect",
    "Facts",
    "OpName",
    "Quantization",
    "Rows",
    "category_of",
    "facts_of",
    "name_of",
    "plain_name",
]
