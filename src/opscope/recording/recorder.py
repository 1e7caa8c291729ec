"""`opscope.record`: records a compiler pass by pass while it runs.

    with opscope.record("run.opscope") as rec:
        rec.snapshot(graph, "as written")
        graph = rec.watch(my_pass)(graph)

The hooks into compilers (`rec.jax`, `rec.hidet`, `rec.aitemplate`, …) are in `hooks/` and only call `snapshot`.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from opscope.errors import OpscopeError
from opscope.naming import checks_keywords
from opscope.program import EMPTY, Frame, Graph, NodeKey, Program
from opscope.recording.model import Origin, Recording, Snapshot
from opscope.recording.store.store import StoreError, StoreWriter
from opscope.terminal import printable, say
from opscope.whole_file import whole_file

F = TypeVar("F", bound=Callable[..., Any])

Provenance = Mapping[Any, Iterable[Any]] | Iterable[Origin]
"""{new: [old, …]} with node ids or (graph, id) pairs, or a list of Origins."""


@checks_keywords
def record(
    path: str | Path | None = None,
    *,
    overwrite: bool = False,
    times: bool = False,
    directory: str | Path | None = None,
    sources: bool = False,
) -> Recorder:
    """Start a recording. Use it as a context manager.

    Without a path, it is in memory. `times` prints each pass when it starts, and its seconds when it ends; `directory` also gets each
    snapshot as JSON. `sources` keeps the Python files that nodes come from, as they are now: whoever gets the recording can read them.
    """
    if path is not None and Path(path).suffix != ".opscope":
        raise OpscopeError(f"{path}: is not the name of a recording; use one that ends in .opscope, such as run.opscope")
    return Recorder(path, overwrite=overwrite, times=times, directory=directory, sources=sources)


class Recorder:
    def __init__(
        self, path: str | Path | None, *, overwrite: bool, times: bool, directory: str | Path | None, sources: bool = False
    ) -> None:
        self._writer = StoreWriter(path, overwrite=overwrite, patient=True)
        self._times = times
        self._directory = None if directory is None else _empty_directory(Path(directory))
        self._sources: dict[str, str] | None = {} if sources else None
        self._pipelines = threading.local()
        self._last: dict[str, Program] = {}
        self._last_index: dict[str, int] = {}
        self._cleanups: list[Callable[[], None]] = []
        self._attrs: dict[str, Any] = {}
        """Attributes that are not written yet."""
        self._lists: dict[str, list[Any]] = {}
        self._remarks: list[str] = []
        self._lost: dict[str, int] = {}
        """By the reason, how many snapshots could not be written."""
        self._has_gap: set[str] = set()
        """Modules whose last snapshot could not be written."""
        self.path = path

    def __enter__(self) -> Recorder:
        if "torch" in sys.modules:
            from opscope.recording.hooks.torch_compile import listen

            listen(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close(finished=kind is None)

    def close(self, finished: bool = True) -> None:
        """End the recording. All snapshots are already on disk; without `finished`, the recording counts as interrupted."""
        while self._cleanups:
            self._cleanups.pop()()
        self._write_attrs()
        with suppress(StoreError):  # it counts as interrupted then
            self._writer.close(finished)
        if self._lost:
            say(f"opscope: {self.path}: {'; '.join(self._losses())}", err=True)

    def _losses(self) -> list[str]:
        return [f"{count} snapshot{'s' * (count > 1)} could not be recorded: {reason}" for reason, count in self._lost.items()]

    def remark(self, sentence: str) -> None:
        """Note what the recording lacks; `opscope passes` and the viewer show it."""
        if sentence not in self._remarks:
            self._remarks.append(sentence)
            self._write_attrs()

    def on_close(self, undo: Callable[[], None]) -> None:
        """Call `undo` when the recording ends. Hooks restore what they replaced this way."""
        self._cleanups.append(undo)

    def set(self, **attrs: Any) -> None:
        """Set attributes of the whole recording, such as the compiler and its version. On a full disk, they are written later."""
        self._attrs |= attrs
        self._write_attrs()

    def append(self, name: str, rows: Iterable[Any]) -> None:
        """Add to an attribute of the whole recording that is a list."""
        kept = self._lists.setdefault(name, [])
        kept.extend(rows)
        if kept:
            self.set(**{name: kept})

    def _write_attrs(self) -> None:
        remarks = [*self._remarks, *self._losses()]
        attrs = self._attrs | ({"remarks": remarks} if remarks else {})
        if attrs:
            with suppress(StoreError):
                self._writer.set(**attrs)
                self._attrs = {}

    @property
    def recording(self) -> Recording:
        """The recording so far."""
        return self._writer.recording()

    def snapshot(
        self,
        graph: Any,
        name: str,
        *,
        pipeline: str | Iterable[str] | None = None,
        module: str = "",
        seconds: float | None = None,
        provenance: Provenance = (),
        attrs: Mapping[str, Any] = EMPTY,
    ) -> int:
        """Record a program after the pass `name`, and return the index of the snapshot, or -1 if it could not be written.

        `graph` is a Program, a Graph, or anything that `opscope.capture` takes. `provenance` says which nodes came from which nodes of the
        snapshot before: `{new id: [old id, …]}`. A bare id refers to the entry graph, `(graph, id)` to any other.

        A full disk never fails the program that is watched: the recording gets a remark, and goes on when there is room again.
        """
        program = as_program(graph)
        path = self._path if pipeline is None else (pipeline,) if isinstance(pipeline, str) else tuple(pipeline)
        origins = [] if module in self._has_gap else self._origins(provenance, program, self._last.get(module, program))
        is_stored = self._last.get(module) is program
        try:
            content = self._writer.content_of(self._last_index[module]) if is_stored else program
            index = self._writer.add(content, name, pipeline=path, module=module, seconds=seconds, origins=origins, attrs=attrs)
        except StoreError as error:
            self._lose(str(error).removeprefix(printable(f"{self.path}: ")), module)
            return -1
        self._has_gap.discard(module)
        if not is_stored:
            self._keep_sources(program)
        self._last[module], self._last_index[module] = program, index
        self._print_time("" if seconds is None else f"{seconds:.3f} s", path, f"{name}  {program.node_count:,} nodes")
        if self._directory is not None:
            self._write_json(program, Snapshot(index, name, path, module, seconds, program.node_count))
        return index

    def _keep_sources(self, program: Program) -> None:
        if self._sources is None:
            return
        from opscope.analysis.source_files import SOURCES, source_texts

        new = source_texts([program], self._sources)
        if new:
            self._sources |= new
            self.set(**{SOURCES: self._sources})

    def started(self, name: str, pipeline: Iterable[str] = ()) -> None:
        """A pass starts. With `times`, it is printed, so that a pass that never ends has a name."""
        self._print_time("started …", (*pipeline,), name)

    def _print_time(self, time_text: str, pipeline: tuple[str, ...], what: str) -> None:
        if self._times:
            say(f"{time_text:>12}  {' / '.join((*pipeline, what))}", err=True)

    def _lose(self, reason: str, module: str) -> None:
        """Note that a snapshot was not written. What came from which node of it cannot be said any more."""
        self._has_gap.add(module)
        self._lost[reason] = self._lost.get(reason, 0) + 1
        self._write_attrs()

    @property
    def _path(self) -> tuple[str, ...]:
        return getattr(self._pipelines, "path", ())

    @contextmanager
    def pipeline(self, name: str) -> Iterator[None]:
        """Snapshots inside the block belong to the pipeline `name`. Pipelines nest."""
        outer = self._path
        self._pipelines.path = (*outer, name)
        try:
            yield
        finally:
            self._pipelines.path = outer

    def watch(self, function: F | None = None, *, name: str = "", module: str = "") -> Any:
        """Wrap a pass so that it records its result: `graph = rec.watch(my_pass)(graph)`, or `@rec.watch`.

        The first argument is the graph. A pass that returns None is assumed to have changed it in place. Watched passes that it calls are
        nested under it, and its seconds include theirs.
        """
        if function is None:
            return functools.partial(self.watch, name=name, module=module)
        title = name or getattr(function, "__name__", type(function).__name__)

        @functools.wraps(function)
        def watched(graph: Any, *args: Any, **options: Any) -> Any:
            if module not in self._last:
                self.snapshot(graph, "before passes", module=module, pipeline=())
            self.started(title, self._path)
            started = time.perf_counter()
            with self.pipeline(title):
                result = function(graph, *args, **options)
            seconds = time.perf_counter() - started
            self.snapshot(graph if result is None else result, title, module=module, seconds=seconds)
            return result

        return watched

    def _origins(self, provenance: Provenance, new: Program, old: Program) -> list[Origin]:
        if not isinstance(provenance, Mapping):
            return list(provenance)
        return [
            Origin(tuple(_key(o, old) for o in ([olds] if isinstance(olds, str) else olds)), (_key(name, new),))
            for name, olds in provenance.items()
        ]

    def _write_json(self, program: Program, snapshot: Snapshot) -> None:
        from opscope.native import dumps

        assert self._directory is not None
        words = re.sub(r"[^\w.-]+", "_", ".".join(filter(None, (snapshot.module, *snapshot.pipeline, snapshot.name))))
        path = self._directory / f"{snapshot.index:04}_{words[:120]}.json"
        try:
            with whole_file(path) as part:
                part.write_text(dumps(program), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            self.remark(f"{path.name} could not be written: {error.strerror or error}")

    def jax(self, function: Callable[..., Any], *args: Any, every_pass: bool = False, **options: Any) -> Any:
        """Compile a JAX function for these arguments and record what XLA does to it. Returns the compiled function."""
        from opscope.recording.hooks.jax import record_jax

        return record_jax(self, function, args, every_pass=every_pass, **options)

    def torch(
        self,
        function: Callable[..., Any],
        *args: Any,
        codegen: bool = False,
        compile_options: Mapping[str, Any] = EMPTY,
        **kwargs: Any,
    ) -> Any:
        """Compile a module or function with torch.compile, run it, and record what the compiler does. Returns the result.

        Without `codegen`, Inductor's passes run but its code generation does not, which takes seconds instead of a minute.
        `compile_options` go to torch.compile (`{"dynamic": True}`), everything else to the function.
        """
        from opscope.recording.hooks.torch_compile import record_torch

        return record_torch(self, function, args, kwargs, codegen=codegen, compile_options=dict(compile_options))

    def torch_compile(self, *, codegen: bool = False) -> AbstractContextManager[Any]:
        """Record everything that torch.compile compiles inside the block: `with rec.torch_compile(codegen=True): train_step()`.

        Without code generation, a recording does this by itself.
        """
        from opscope.recording.hooks.torch_compile import watching

        return watching(self, codegen)

    def hidet(self) -> Any:
        """An instrument for hidet: `ctx.instruments.append(rec.hidet())` inside `with hidet.graph.PassContext() as ctx`."""
        from opscope.recording.hooks.hidet import HidetInstrument

        return HidetInstrument(self)

    def aitemplate(self, module: str = "") -> None:
        """Record every transform that AITemplate runs until the recording ends."""
        from opscope.recording.hooks.aitemplate import watch_transforms

        watch_transforms(self, module)


def as_program(graph: Any) -> Program:
    """The Program of whatever a pass works on."""
    if isinstance(graph, Program):
        return graph
    if isinstance(graph, Graph):
        return Program(
            graph.name, {graph.name: replace(graph, metrics=EMPTY)}, graph.name
        )  # metrics are defined by their program, which is not here
    from opscope.readers import capture_object

    return capture_object(graph)


def _key(name: Any, program: Program) -> NodeKey:
    graph, id = (program.entry, name) if isinstance(name, str) else (str(name[0]), str(name[1]))
    if graph not in program.graphs or id not in program.graphs[graph]:
        raise OpscopeError(
            f"provenance names {id!r} of graph {graph!r}, which is not a node of {program.name!r}; use ids of the two snapshots"
        )
    return graph, id


def _empty_directory(directory: Path) -> Path:
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise OpscopeError(f"{directory} already exists and is not an empty directory; choose another one")
    directory.mkdir(parents=True, exist_ok=True)
    return directory


__all__ = ["Frame", "Origin", "Recorder", "as_program", "record"]
