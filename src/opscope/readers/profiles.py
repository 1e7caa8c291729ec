"""Profiles for programs that were opened from elsewhere: which kind a file is, and its times on the nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath

from opscope.errors import SourceError, in_source
from opscope.naming import listed
from opscope.profile.node_times import NodeTimes, is_onnxruntime, is_tensorrt, place_named, read_onnxruntime, read_table, read_tensorrt
from opscope.profile.place import with_times
from opscope.program import Program
from opscope.readers import Progress, kineto, xplane
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
        if source.name.lower().endswith(".csv"):
            return _named(programs, read_table(source.read_text()), "")
        if kineto.is_trace(source):
            return kineto.timed_with(programs, source)
    return xplane.timed_with(programs, source)


_OPTIMIZED = (
    "; ONNX Runtime optimizes a model before it runs it: open the model that it saves with SessionOptions.optimized_model_filepath, "
    "or profile with graph_optimization_level = ORT_DISABLE_ALL"
)


def _named(programs: Sequence[Program], measured: NodeTimes, hint: str) -> list[Timed]:
    nodes = {run.node for run in measured.runs}
    timed = []
    for program in programs:
        times = place_named(program, measured)
        is_it = bool(nodes) and len(times.seconds) >= LEAST_SHARE * len(nodes)
        timed.append(Timed(with_times(program, times), times) if is_it else Timed(program, None))
    if any(one.times for one in timed):
        return timed
    raise SourceError(
        f"is a profile of another program: it has {listed(sorted(nodes))}, and less than half of them are in "
        f"{listed([program.name for program in programs])}{hint}"
    )
