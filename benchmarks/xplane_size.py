"""How long a large profile of JAX takes to read, and how much memory.

    python benchmarks/xplane_size.py [--megabytes 100] [--archive ARCHIVE] [--keep]

repeats the events of every line of a real profile until the file has that size, and reads it in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from attribution import PROFILES, trace_of
from results import Figure, keep

DEFAULT = PROFILES / "h200_jax_train_step_uncaptured.tar.gz"
PLANES, LINES, EVENTS = 1, 3, 4
"""Field numbers of XSpace.planes, XPlane.lines and XLine.events."""


def varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def fields(data: bytes) -> list[tuple[int, bytes, bytes]]:
    """The fields of a message: number, what precedes the content (tag and length), content."""
    parts, at = [], 0
    while at < len(data):
        start = at
        tag, at = number_at(data, at)
        if tag & 7 == 2:
            length, at = number_at(data, at)
        elif tag & 7 == 0:
            _, end = number_at(data, at)
            length = end - at
        else:
            length = 8 if tag & 7 == 1 else 4
        parts.append((tag >> 3, data[start:at], data[at : at + length]))
        at += length
    return parts


def number_at(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def rewritten(data: bytes, path: tuple[int, ...], change: Callable[[bytes], bytes]) -> bytes:
    """A message in which `change` was applied to the messages at a path of field numbers."""
    parts = []
    for number, head, content in fields(data):
        if number == path[0]:
            inner = change(content) if len(path) == 1 else rewritten(content, path[1:], change)
            head, content = varint(number << 3 | 2) + varint(len(inner)), inner
        parts.append(head + content)
    return b"".join(parts)


def enlarged(data: bytes, size: int) -> bytes:
    """The profile with the events of its lines repeated."""

    def repeated(line: bytes, times: int) -> bytes:
        parts = [(number, head + content) for number, head, content in fields(line)]
        events = b"".join(part for number, part in parts if number == EVENTS)
        return b"".join(part for number, part in parts if number != EVENTS) + events * times

    def with_times(times: int) -> bytes:
        return rewritten(data, (PLANES, LINES), partial(repeated, times=times))

    once, twice = len(with_times(1)), len(with_times(2))
    return with_times(1 + max(0, size - once) // (twice - once))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archive", type=Path, default=DEFAULT)
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        from opscope.loading import load_timed

        started = time.process_time()
        timed = load_timed(str(options.read))
        assert timed[0].times is not None
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
        print(json.dumps({"cpu_seconds": time.process_time() - started, "peak_megabytes": peak}))
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "host.xplane.pb")
        path.write_bytes(enlarged(trace_of(options.archive), int(options.megabytes * 1e6)))
        done = subprocess.run([sys.executable, __file__, "--read", path], check=True, stdout=subprocess.PIPE)
        facts, size = json.loads(done.stdout), path.stat().st_size
        print(size, facts)
        if options.keep:
            graph = "JAX profile, train step"
            keep(
                "profile_sizes",
                [
                    Figure("CPU time to read", facts["cpu_seconds"], "s", graph, size, at_most=10),
                    Figure("peak memory", facts["peak_megabytes"], "MB", graph, size),
                ],
            )


if __name__ == "__main__":
    main()
