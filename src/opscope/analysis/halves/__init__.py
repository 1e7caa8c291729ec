"""Forward and backward half of a program whose source does not say which is which: HLO without op names.

`with_halves` marks its nodes and says that the marks are inferred.
"""

from __future__ import annotations

from opscope.analysis.halves.infer import with_halves

__all__ = ["with_halves"]
