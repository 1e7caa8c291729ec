"""The table of types: their text, and their rank, sizes and kind as numbers."""

from __future__ import annotations

from collections.abc import Collection

from opscope.program import DTYPE_KINDS, TensorType, dtype_kind
from opscope.render.wire.sections import Interner, SectionWriter


def write_types(out: SectionWriter, types: Collection[TensorType], strings: Interner) -> None:
    out.integers("types.text", [strings[str(t)] for t in types])
    out.integers("types.dtype", [strings[t.dtype] for t in types])
    out.integers("types.layout", [strings[t.dtype if t.dtype.startswith("(") and "{" in t.dtype else t.layout] for t in types])
    out.integers("types.rank", [len(t.shape) for t in types])
    out.block("types.kind", bytes(DTYPE_KINDS.index(dtype_kind(t.dtype)) for t in types))
    out.floats("types.bytes", [-1 if t.bytes is None else t.bytes for t in types])
    out.floats("types.elements", [-1 if t.elements is None or t.dtype.startswith("(") else t.elements for t in types])
