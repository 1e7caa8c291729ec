"""Repeated blocks of a program that nobody named, found by shape alone: the grouping "structure"."""

from __future__ import annotations

from opscope.analysis.structure.enriching import with_structure
from opscope.analysis.structure.find import STRUCTURE, add_structure
from opscope.analysis.structure.titles import within_half

__all__ = ["STRUCTURE", "add_structure", "with_structure", "within_half"]
