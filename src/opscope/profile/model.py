"""A profile: what ran, when, and for how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

PICOSECONDS = 1e-12
MOST_SECONDS = 2.0**33
"""270 years. A time beyond it is damaged; within it, no sum of times and no other unit of them is infinite."""


class Event(NamedTuple):
    """A kernel, a copy, or an operation that ran on a CPU."""

    name: str
    op: str
    """The instruction that the profiler names, or the command buffer that launched the kernel, or nothing."""
    start: int
    """In picoseconds, like `duration`."""
    duration: int
    """Without the events inside it: a loop's body is not part of the loop's own time."""
    program: int
    """The id of the module."""
    run: int
    """The id of the run of the module, or 0."""
    captured: int
    """The id of the node in a CUDA graph, or 0."""
    stream: str = ""
    """The line of the profile: a stream of a device, or a thread."""


@dataclass
class Module:
    """A module that ran: its name, and its HloProto where the profile has it."""

    name: str
    hlo: bytes = b""


@dataclass
class Profile:
    """One file of a profiler."""

    modules: dict[int, Module] = field(default_factory=dict)
    device: list[Event] = field(default_factory=list)
    host: list[Event] = field(default_factory=list)
    """What the host did for an instruction, if the profile has a device beside it."""
    device_name: str = ""
    problem: str = ""
    """What is wrong with the file, if it could be read in part."""

    def of_module(self, program: int) -> list[Event]:
        """The device's events of a module, in order."""
        return sorted((event for event in self.device if event.program == program), key=lambda event: (event.start, event.captured))

    def heaviest(self) -> list[int]:
        """The modules that used the device, most of it first."""
        totals: dict[int, int] = {}
        for event in self.device:
            if event.program in self.modules:
                totals[event.program] = totals.get(event.program, 0) + event.duration
        return sorted(totals, key=lambda program: -totals[program])
