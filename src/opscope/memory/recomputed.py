"""The memory of a joint graph whose model uses `torch.utils.checkpoint`: the graph has every value once, and a run recomputes some."""

from __future__ import annotations

from dataclasses import replace

from opscope.memory.checkpoints import recomputed_in
from opscope.memory.flow import value_key
from opscope.memory.model import Buffer, Memory
from opscope.memory.what_if import Planner
from opscope.program import Program
from opscope.readers.torch.checkpointed import CHECKPOINTED


def with_recomputed(program: Program, memory: Memory) -> Memory:
    """The memory of a run, with what the model recomputes."""
    names = program.attrs.get(CHECKPOINTED)
    if not isinstance(names, list | tuple) or not names or not all(isinstance(name, str) for name in names):  # a file can have anything
        return memory
    planner = Planner(program, memory)
    nodes = recomputed_in(planner.flow, set(names))
    unknown = sum(not name for name in names)
    remark = f"{unknown} calls of torch.utils.checkpoint are not of a module, and counted as if nothing were recomputed" if unknown else ""
    whole = {(value_key(buffer), buffer.born, buffer.last) for buffer in memory.buffers}
    buffers = [
        buffer if (value_key(buffer), buffer.born, buffer.last) in whole else _recomputed(buffer)
        for buffer in planner.what_if((), nodes).memory.buffers
    ]
    return replace(memory, buffers=buffers, remark=remark)


def _recomputed(buffer: Buffer) -> Buffer:
    """A part of the lifetime of a value that is freed in the forward half and computed again, or that stays for others to be."""
    return buffer._replace(kind="temporary", why="torch.utils.checkpoint: recomputed, or others are from it")
