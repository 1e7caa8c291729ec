"""Profiles for programs that were opened from elsewhere: which kind a file is, and its times on the nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath

from opscope.errors import SourceError, in_source
from opscope.naming import listed
from opscope.profile.node_table import Table, is_csv, is_json, read_csv, read_json
from opscope.profile.node_times import NodeTimes, Run, is_onnxruntime, is_tensorrt, place_named, read_onnxruntime, read_tensorrt
from opscope.profile.place import Times, with_times
from opscope.program import Metric, Program
from opscope.readers import Progress, etdump, kineto, xplane
from opscope.readers.source import Source
from opscope.readers.timed import LEAST_SHARE, Timed

TIMED: Mapping[str, Callable[[Source, Progress | None], list[Timed]]] = {
    "xplane": xplane.timed_programs,
    "kineto": kineto.timed_programs,
}
"""The readers of profiles that are programs by themselves."""


def timed_with(programs: Sequence[Program], path: str | PathLike[str]) -> list[Timed]:
    """Programs with the times of a profile. Raises an error that says why if the profile is of none of them."""
    source = Source(fspath(path))
    if source.is_directory:
        return xplane.timed_with(programs, source)
    with in_source(source.name):
        if is_onnxruntime(source.head):
            return _named(programs, read_onnxruntime(source.read_bytes()), _OPTIMIZED)
        if is_tensorrt(source.head):
            return _named(programs, read_tensorrt(source.read_bytes()), "; open the ONNX model that the engine was built from")
        if source.name.lower().endswith(".csv") or is_csv(source.head):
            return _of_table(programs, read_csv(source.read_bytes()))
        if etdump.is_etdump(source.head):
            return etdump.timed_with(programs, source)
        if kineto.is_trace(source):
            return kineto.timed_with(programs, source)
        if is_json(source.head):
            return _of_table(programs, read_json(source.read_bytes()))
    return xplane.timed_with(programs, source)


_OPTIMIZED = (
    "; ONNX Runtime optimizes a model before it runs it: open the model that it saves with SessionOptions.optimized_model_filepath, "
    "or profile with graph_optimization_level = ORT_DISABLE_ALL"
)


def _of_table(programs: Sequence[Program], table: Table) -> list[Timed]:
    """Programs with the values of a table: times, or a metric."""
    return _named(programs, NodeTimes(1, [Run(node, value) for node, value in table.rows]), "", table.metric)


def _named(programs: Sequence[Program], measured: NodeTimes, hint: str, metric: Metric | None = None) -> list[Timed]:
    nodes = {run.node for run in measured.runs}
    placed = [place_named(program, measured) for program in programs]
    is_it = [bool(nodes) and len(nodes) - len(times.unplaced) >= LEAST_SHARE * len(nodes) for times in placed]
    if any(is_it):
        return [
            (_with_values(program, metric, times) if metric else Timed(with_times(program, times), times))
            if of_it
            else Timed(program, None)
            for program, times, of_it in zip(programs, placed, is_it, strict=True)
        ]
    raise SourceError(
        f"is a profile of another program: it has {listed(sorted(nodes))}, and less than half of them are in "
        f"{listed([program.name for program in programs])}{hint}"
    )


def _with_values(program: Program, metric: Metric, placed: Times) -> Timed:
    """The program with a metric that is not a time, and a note if the table has nodes that the program does not have."""
    program = program.with_metric(metric, placed.seconds)
    if placed.unplaced:
        note = f"{metric.name}: the program does not have {listed(sorted(placed.unplaced))}"
        program = replace(program, attrs={**program.attrs, "notes": (*program.attrs.get("notes", ()), note)})
    return Timed(program, None)
