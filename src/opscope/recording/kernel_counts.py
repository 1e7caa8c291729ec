"""How many kernels a compiler made of the operations that it was given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opscope.program import Program
from opscope.recording.model import Snapshot

_GENERATED = "code generation"
_LOWERING = ("scheduler", _GENERATED)


class KernelCount(NamedTuple):
    part: str
    """The forward or the backward; empty if there is only one part."""
    operations: int
    kernels: int

    def __str__(self) -> str:
        counts = f"{_counted(self.operations, 'operation')} → {_counted(self.kernels, 'kernel')}"
        return f"{self.part}: {counts}" if self.part else counts


def kernel_counts(snapshots: Iterable[Snapshot]) -> list[KernelCount]:
    """For each part of a module for which code was generated: the operations before Inductor lowered them, and the kernels launched."""
    counts = []
    lowered: Snapshot | None = None
    for snapshot in snapshots:
        stage, *parts = snapshot.pipeline or ("",)
        if stage == _GENERATED and lowered is not None:
            part = parts[0] if parts else ""
            counts.append(KernelCount(part, _operations(lowered.program, part), _operations(snapshot.program, part)))
        elif stage not in _LOWERING:
            lowered = snapshot
    return counts


def _operations(program: Program, part: str) -> int:
    return sum(node.role == "op" for node in program.graphs.get(part, program.main))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
