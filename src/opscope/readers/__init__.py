"""Readers: one module per kind of source. This file is the table of them and the two ways in: `read` and `capture_object`.

A reader module has `sniff(source) -> Verdict` and `read(source, progress) -> list[Program]`; one that takes live objects has
`capture(obj, *args, **options) -> Program | None`. Rows are data, so that listing the formats imports nothing, and frameworks are
imported only inside the functions that need them. Outside packages add rows through the entry-point group `opscope.readers`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

from opscope.errors import OpscopeError, SourceError, in_source
from opscope.naming import suggest
from opscope.ops import Dialect
from opscope.plugin import Plugin, outside_rows
from opscope.plugin import Progress as Progress
from opscope.program import Program
from opscope.readers.mistakes import known_mistake, nearest_way
from opscope.readers.source import Source


class Verdict(NamedTuple):
    """How sure a reader is that a source is its own (0 no … 1 certainly), and why."""

    confidence: float
    reason: str


@dataclass(frozen=True)
class Reader(Plugin):
    """A row of the table of readers."""

    objects: tuple[str, ...] = ()
    """Top-level modules of the live objects that this reader takes ("torch")."""
    dialects: tuple[Dialect, ...] = ()
    """What the operations of a reader from outside are; opscope's own are in `opscope.ops.rows`."""

    @property
    def objects_missing(self) -> bool:
        """Whether there can be no such object here, because their framework is not installed."""
        return bool(self.objects) and all(find_spec(name) is None for name in self.objects)


BUILT_IN: tuple[Reader, ...] = (
    Reader("native", "opscope.readers.native", "opscope's own JSON", (".json",)),
    Reader("hlo", "opscope.readers.hlo", "XLA HLO text: dumps, jax as_text, XLA's tests", (".hlo", ".txt")),
    Reader(
        "torch", "opscope.readers.torch", "PyTorch: .pt2 files (without torch), modules, tensors", (".pt2",),
        package="opscope[torch]", objects=("torch",),
    ),
    Reader("mlir", "opscope.readers.mlir", "StableHLO and other MLIR, text or bytecode", (".mlir",), ("jaxlib",), "opscope[jax]"),
    Reader("model-explorer", "opscope.readers.model_explorer", "Model Explorer's graph JSON", (".json",)),
    Reader(
        "jax", "opscope.readers.jax", "JAX functions, jaxprs, Lowered, Compiled, Exported, Flax modules",
        package="opscope[jax]", objects=("jax", "flax"),
    ),
    Reader("hidet", "opscope.readers.hidet", "hidet's netron JSON, FlowGraphs", (".json",), (), "hidet", ("hidet",)),
    Reader("onnx", "opscope.readers.onnx", "ONNX models", (".onnx",), ("onnx",), "opscope[onnx]", ("onnx",)),
    Reader("aitemplate", "opscope.readers.aitemplate", "AITemplate's debug dumps, tensors", (".json",), objects=("aitemplate",)),
)  # fmt: skip


def readers() -> list[Reader]:
    """Built-in rows first, then those of other packages."""
    return [*BUILT_IN, *outside_rows("opscope.readers")]


def find_reader(source: Source, name: str | None = None) -> Reader:
    """The reader that is surest. Refuses with who looked and why each declined."""
    rows = readers()
    if name is not None:
        for row in rows:
            if row.name == name:
                return row
        raise OpscopeError(f"no format named {name!r} can be read{suggest(name, [row.name for row in rows])}")
    mistake = known_mistake(source)
    if mistake:
        raise SourceError(mistake, source.name)
    looked: list[str] = []
    best: tuple[float, Reader] | None = None
    for row in rows:
        if not row.suffixes:
            continue
        verdict: Verdict = row.load().sniff(source)
        if verdict.confidence > 0 and (best is None or verdict.confidence > best[0]):
            best = (verdict.confidence, row)
        looked.append(f"{row.name} ({verdict.reason})")
    if best is None:
        raise SourceError(nearest_way(source) or "no reader takes this. Looked: " + "; ".join(looked), source.name)
    return best[1]


def read(source: Source, format: str | None = None, progress: Progress | None = None) -> list[Program]:
    """The programs of a source: one, or several where a file holds several modules."""
    row = find_reader(source, format)
    if row.refusal:
        raise SourceError(f"reading {row.refusal}", source.name)
    with in_source(source.name):
        programs: list[Program] = row.load().read(source, progress)
    return programs


def capture_object(obj: Any, *args: Any, **options: Any) -> Program:
    """A live object as a Program, by the reader that knows the object's framework. Frameworks are never imported for it:
    an object of a framework exists only where that framework is loaded."""
    own = getattr(obj, "__opscope_program__", None)
    if own is not None:
        program: Program = own(*args, **options)
        return program
    families = {cls.__module__.partition(".")[0] for cls in type(obj).__mro__}
    tried = []
    for row in _candidates(readers(), families):
        captured: Program | None = row.load().capture(obj, *args, **options)
        if captured is not None:
            return captured
        tried.append(row.name)
    said = f" (asked: {', '.join(tried)})" if tried else ""
    raise OpscopeError(
        f"cannot capture a {type(obj).__module__}.{type(obj).__qualname__}{said}; "
        "give a module, a tensor with a gradient, an exported program, a function with its inputs, or a graph"
    )


def _candidates(rows: Iterable[Reader], families: set[str]) -> list[Reader]:
    """Readers of the object's own framework first, then those whose framework is loaded: plain functions belong to JAX."""
    rows = [row for row in rows if row.objects]
    own = [row for row in rows if families & set(row.objects)]
    return own + [row for row in rows if row not in own and any(name in sys.modules for name in row.objects)]
