"""The rows: every operation that opscope knows by name. Names without a prefix apply in every dialect (see `dialects.py`)."""

from __future__ import annotations

from opscope.ops.facts import Rows
from opscope.ops.rows.arithmetic import ARITHMETIC
from opscope.ops.rows.control import CONTROL_FLOW
from opscope.ops.rows.data import DATA
from opscope.ops.rows.reductions import REDUCTIONS

COMMON: Rows = (*ARITHMETIC, *REDUCTIONS, *DATA, *CONTROL_FLOW)
