"""Where a compiler puts the values of a program in memory, as XLA says it about a live object. `opscope.memory` reads it."""

from __future__ import annotations

from typing import NamedTuple


class MemoryPlan(NamedTuple):
    """Serialized messages of XLA, decoded only when somebody asks for the memory."""

    module: bytes
    """The HloModuleProto: the plan names instructions by their numbers in it."""
    assignment: bytes
    """The BufferAssignmentProto."""
