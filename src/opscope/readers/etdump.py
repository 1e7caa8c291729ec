"""ETDump files of ExecuTorch's runtime, through its Inspector: the times of a program's operators.

The runtime writes one event for each instruction, by the name of its kernel. The instructions are those of the edge program in order, so
events are aligned with its nodes. What a backend runs inside of a delegate is part of the delegate's time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from opscope.child import answer_apart, fate, read_apart
from opscope.errors import SourceError, about_data
from opscope.naming import listed
from opscope.profile.align import align
from opscope.profile.model import MOST_SECONDS
from opscope.profile.place import Times, add_work, with_times
from opscope.program import Node, Program
from opscope.readers.source import Source
from opscope.readers.timed import LEAST_SHARE, Timed
from opscope.temporary import scratch_directory

_IDENTIFIER = b"ED00"
_KERNEL = "native_call_"
_DELEGATE = "DELEGATE_CALL"


Inspected = list[list[tuple[str, int, list[float]]]]
"""The events of each block: name, instruction, and the seconds of each run."""


class _Event(NamedTuple):
    name: str
    instruction: int
    seconds: list[float]
    """Of each run."""


def is_etdump(head: bytes) -> bool:
    """Whether a file begins like a flatbuffer of this kind, with its size in front or without."""
    return _IDENTIFIER in (head[8:12], head[4:8])


def timed_with(programs: Sequence[Program], source: Source) -> list[Timed]:
    """Programs with the times of their operators. Raises an error that says why if the dump is of none of them."""
    return timed(programs, _read(source))


def timed(programs: Sequence[Program], blocks: Inspected) -> list[Timed]:
    operators = [events for block in blocks if (events := _operators([_Event(*event) for event in block]))]
    if not operators:
        raise SourceError("has no event of an operator; build ExecuTorch's runtime with EXECUTORCH_ENABLE_EVENT_TRACER and run the program")
    ran = {event.instruction for events in operators for event in events}
    for number, program in enumerate(programs):
        times = _placed(program, operators)
        if len(times.seconds) >= LEAST_SHARE * len(ran):
            return [Timed(with_times(one, times), times) if i == number else Timed(one, None) for i, one in enumerate(programs)]
    names = dict.fromkeys(event.name.removeprefix(_KERNEL) for events in operators for event in events)
    raise SourceError(
        f"is a profile of another program: it ran {listed(list(names))}, and less than half of it is in "
        f"{listed([program.name for program in programs])}; open the edge program, which opscope.save(opscope.capture(edge), FILE) stores"
    )


def inspected(path: str) -> Inspected:
    """What ExecuTorch's Inspector finds in a file."""
    from executorch.devtools import Inspector
    from executorch.devtools.inspector import TimeScale

    try:
        blocks = Inspector(etdump_path=path, target_time_scale=TimeScale.S).event_blocks
    except MemoryError:
        raise
    except Exception as error:  # whatever its code fails on in damaged data
        reason = "it is truncated or damaged" if isinstance(error, subprocess.CalledProcessError) else about_data(error)[:200]
        raise SourceError(f"ExecuTorch's Inspector cannot read this ETDump: {reason}") from None
    kept = [[event for event in block.events if event.perf_data and not event.is_delegated_op] for block in blocks]
    return [[(event.name, event._instruction_id, event.perf_data.raw) for event in block] for block in kept]


def _read(source: Source) -> Inspected:
    """The Inspector has a process of its own, because ExecuTorch logs to the terminal, and calls a compiler that does so too."""
    if find_spec("executorch") is None:
        raise SourceError("is an ETDump, which ExecuTorch's Inspector reads; pip install executorch")
    with scratch_directory("opscope-etdump-") as directory:
        dump = directory / "run.etdp"
        dump.write_bytes(source.read_bytes())
        size = dump.stat().st_size
        try:
            blocks: Inspected = json.loads(read_apart("opscope.readers.etdump", size, str(dump)))
        except subprocess.SubprocessError as error:
            raise SourceError(f"ExecuTorch's Inspector {fate(error, size)} on this ETDump; it is damaged") from None
        return blocks


def _operators(events: Sequence[_Event]) -> list[_Event]:
    """One event for each instruction: its kernel or its delegate. What the runtime adds around it, and loading, is left out."""
    chosen = {event.instruction: event for event in events if event.name.startswith(_KERNEL) or event.name == _DELEGATE}
    valid = [event for _, event in sorted(chosen.items()) if all(0 <= each <= MOST_SECONDS for each in event.seconds)]
    if len(valid) < len(chosen):
        raise SourceError("has an event whose time is not a time")
    return valid


def _placed(program: Program, blocks: Sequence[Sequence[_Event]]) -> Times:
    nodes = [node for node in program.main if node.role == "op"]
    labels = [_label(node) for node in nodes]
    times = Times(max(sum(max(len(event.seconds) for event in events) for events in blocks), 1))
    for events in blocks:
        names = [event.name.removeprefix(_KERNEL).partition(".")[0] for event in events]
        for event, at in zip(events, align(names, labels), strict=True):
            node = None if at is None else (program.entry, nodes[at].id)
            for seconds in event.seconds:
                add_work(times, node, event.name, seconds)
    return times


def _label(node: Node) -> str:
    """`addmm` for a node `aten.addmm.default`."""
    parts = node.op.removeprefix("torch.ops.").split(".")
    return _DELEGATE if "call_delegate" in node.op else parts[min(1, len(parts) - 1)]


if __name__ == "__main__":
    answer_apart(lambda: json.dumps(inspected(sys.argv[1])).encode(), Path(sys.argv[1]).stat().st_size)
