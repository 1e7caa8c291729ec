"""How much of a GPU's time opscope puts on instructions, and how much of it on the right one.

    python benchmarks/attribution.py ../shared/data/profiles/h200_jax*.tar.gz [--keep]

The truth comes from profiles without command buffers, in which every kernel names its instruction: the names are hidden, and the kernels
placed by the schedule alone. `long` repeats the steps of a profile, to show how the time grows with the trace.
"""

from __future__ import annotations

import sys
import tarfile
import time
from pathlib import Path

from results import Figure, keep

from opscope.profile.model import Event, Profile
from opscope.profile.place import place
from opscope.profile.xplane import read_xplane
from opscope.program import Program
from opscope.readers.hlo_proto import hlo_proto, program_of

LONG = 100


def trace_of(archive: Path) -> bytes:
    with tarfile.open(archive) as files:
        (member,) = [one for one in files.getmembers() if one.name.endswith(".xplane.pb")]
        trace = files.extractfile(member)
        return b"" if trace is None else trace.read()


def repeated(events: list[Event], times: int) -> list[Event]:
    """A longer trace: the same steps again and again."""
    length = events[-1].start + events[-1].duration - events[0].start + 1
    return [event._replace(start=event.start + i * length) for i in range(times) for event in events]


def figures(archive: Path) -> list[Figure]:
    data = trace_of(archive)
    name = archive.name.removesuffix(".tar.gz")
    started = time.perf_counter()
    profile: Profile = read_xplane(data)
    reading = time.perf_counter() - started
    module = profile.heaviest()[0]
    program: Program = program_of(hlo_proto(profile.modules[module].hlo)["hlo_module"])
    events = profile.of_module(module)
    total = sum(event.duration for event in profile.device) * 1e-12
    is_named = any(event.op in graph for event in events for graph in program)
    hidden = [event._replace(op="command_buffer_1") for event in events]
    started = time.perf_counter()
    times = place(program, hidden)
    placing = time.perf_counter() - started
    long = repeated(hidden, LONG)
    started = time.perf_counter()
    place(program, long)
    longer = time.perf_counter() - started
    measured = [
        Figure("device time placed", times.placed_seconds / total, "", name, len(events), at_least=0.995),
        Figure("node times / device time", times.device_seconds / total, "", name, len(events), at_least=0.999, at_most=1.001),
        Figure("read profile", reading, "s", name, len(data)),
        Figure("place", placing, "s", name, len(events)),
        Figure(f"place, {LONG} times the steps", longer, "s", name, len(long)),
    ]
    if is_named:
        truth = place(program, events)
        right = sum(min(seconds, times.seconds.get(node, 0.0)) for node, seconds in truth.seconds.items())
        measured.insert(1, Figure("device time on the right instruction", right / total, "", name, len(events), at_least=0.99))
    return measured


def main() -> None:
    measured = [figure for path in sys.argv[1:] if not path.startswith("--") for figure in figures(Path(path))]
    for figure in measured:
        print(f"{figure.graph:34} {figure.name:40} {figure.value:.6g} {figure.unit} {figure.target}")
    if "--keep" in sys.argv:
        keep("attribution", measured)


if __name__ == "__main__":
    main()
