"""Readers: one module per kind of source. This file has the table of readers and the two entry points, `read` and `capture_object`.

A reader module has `sniff(source) -> Verdict` and `read(source, progress) -> list[Program]`; a reader of live objects has
`capture(obj, *args, **options) -> Program | None`. Rows are data, so listing the formats imports nothing; frameworks are imported
only inside the functions that need them. Other packages add rows through the entry-point group `opscope.readers`.
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
from opscope.readers.source import Source


class Verdict(NamedTuple):
    """How confident a reader is that it can read a source (0 to 1), and why."""

    confidence: float
    reason: str


@dataclass(frozen=True)
class Reader(Plugin):
    """A row of the table of readers."""

    group = "opscope.readers"
    objects: tuple[str, ...] = ()
    """Top-level modules of the live objects that this reader captures ("torch")."""
    dialects: tuple[Dialect, ...] = ()
    """Operation facts for a reader from another package; the built-in ones are in `opscope.ops.rows`."""

    @property
    def objects_missing(self) -> bool:
        """Whether no such object can exist here, because its framework is not installed."""
        return bool(self.objects) and all(find_spec(name) is None for name in self.objects)


BUILT_IN: tuple[Reader, ...] = (
    Reader("native", "opscope.readers.native", "opscope's own JSON", (".json",)),
    Reader("hlo", "opscope.readers.hlo", "XLA HLO text: dumps, jax as_text, XLA's tests", (".hlo", ".txt")),
    Reader("hlo-proto", "opscope.readers.hlo_proto", "XLA HLO protos: xla_dump_hlo_as_proto, snapshots", (".pb",)),
    Reader("xplane", "opscope.readers.xplane", "profiles of JAX (jax.profiler.trace), with times", (".pb",)),
    Reader("kineto", "opscope.readers.kineto", "traces of PyTorch's profiler (export_chrome_trace), with times", (".json",)),
    Reader("torch-memory", "opscope.readers.torch_memory", "memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot)", (".pickle",)),
    Reader(
        "torch", "opscope.readers.torch", "PyTorch: .pt2 files (without torch), modules, tensors", (".pt2",),
        package="opscope[torch]", objects=("torch",),
    ),
    Reader("fx-text", "opscope.readers.torch.fx_text", "fx graphs as PyTorch prints them (print_readable), without torch", (".py",)),
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
    """The built-in rows, then those of other packages."""
    return [*BUILT_IN, *outside_rows(Reader.group)]


def find_reader(source: Source, name: str | None = None) -> Reader:
    """The most confident reader. If none accepts the source, the error lists what each of them said."""
    rows = readers()
    if name is not None:
        for row in rows:
            if row.name == name:
                return row
        raise OpscopeError(f"no reader for format {name!r}{suggest(name, [row.name for row in rows])}")
    from opscope.readers.mistakes import common_mistake, unsupported_format

    mistake = common_mistake(source)
    if mistake:
        raise SourceError(mistake, source.name)
    verdicts: list[str] = []
    best: tuple[float, Reader] | None = None
    for row in rows:
        if not row.suffixes:
            continue
        verdict: Verdict = row.load().sniff(source)
        if verdict.confidence > 0 and (best is None or verdict.confidence > best[0]):
            best = (verdict.confidence, row)
        verdicts.append(f"{row.name} ({verdict.reason})")
    if best is None:
        raise SourceError(unsupported_format(source) or "unrecognized format. Tried: " + "; ".join(verdicts), source.name)
    return best[1]


def read(source: Source, format: str | None = None, progress: Progress | None = None) -> list[Program]:
    """The programs of a source: one per module in the file."""
    row = find_reader(source, format)
    if row.refusal:
        raise SourceError(f"reading {row.refusal}", source.name)
    with in_source(source.name):
        programs: list[Program] = row.load().read(source, progress)
    return programs


def capture_object(obj: Any, *args: Any, **options: Any) -> Program:
    """Capture a live object as a Program, with the reader of the object's framework. No framework is imported for this: an object
    exists only where its framework is already loaded."""
    method = getattr(obj, "__opscope_program__", None)
    if method is not None:
        program: Program = method(*args, **options)
        return program
    families = {cls.__module__.partition(".")[0] for cls in type(obj).__mro__}
    tried = []
    for row in _candidates(readers(), families):
        captured: Program | None = row.load().capture(obj, *args, **options)
        if captured is not None:
            return captured
        tried.append(row.name)
    readers_tried = f" (tried: {', '.join(tried)})" if tried else ""
    raise OpscopeError(
        f"cannot capture a {type(obj).__module__}.{type(obj).__qualname__}{readers_tried}; "
        "pass a module, a tensor with a gradient, an exported program, a function with its inputs, or a graph"
    )


def _candidates(rows: Iterable[Reader], families: set[str]) -> list[Reader]:
    """Readers of the object's framework first, then those whose framework is loaded: a plain function may be JAX's."""
    rows = [row for row in rows if row.objects]
    matching = [row for row in rows if families & set(row.objects)]
    return matching + [row for row in rows if row not in matching and any(name in sys.modules for name in row.objects)]
