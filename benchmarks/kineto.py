"""How long a large trace of PyTorch's profiler takes to read, and how much memory.

    python benchmarks/kineto.py [--trace TRACE.json] [--gigabytes 1] [--keep]

repeats the events of a real trace, with other times and ids, until the file has that size, and reads it in a process of its own. The
default trace is the eager training step in ../shared/data/profiles.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from attribution import PROFILES
from results import Figure, keep

DEFAULT = PROFILES / "h200_torch_train_step.tar.gz"
NUMBERS = re.compile(r'("(?:ts|External id|correlation|Sequence number|id)": )(\d+)')


def real_trace(path: Path | None) -> str:
    if path is not None:
        return path.read_text("utf-8")
    with tarfile.open(DEFAULT) as files:
        (member,) = [each for each in files.getmembers() if each.name.endswith("eager.json")]
        stream = files.extractfile(member)
        assert stream is not None
        return stream.read().decode()


def write_large(text: str, target: Path, size: int) -> int:
    """Write the trace again and again, each time later and with other ids. Returns how often."""
    begin = text.index("[", text.index('"traceEvents"')) + 1
    end = text.rindex("]")
    pieces = NUMBERS.split(text[begin:end])
    literals, names, numbers = pieces[0::3], pieces[1::3], [int(number) for number in pieces[2::3]]
    steps = [30_000_000 if "ts" in name else 1_000_000 for name in names]
    copies = 0
    with target.open("w", encoding="utf-8") as stream:
        stream.write(text[:begin])
        while stream.tell() < size:
            if copies:
                stream.write(",")
            shifted = (f"{name}{number + copies * step}" for name, number, step in zip(names, numbers, steps, strict=True))
            stream.write("".join(part for pair in zip(literals, shifted, strict=False) for part in pair) + literals[-1])
            copies += 1
        stream.write(text[end:])
    return copies


def read(path: Path) -> None:
    """Read a trace, and print what it took."""
    from opscope.loading import load_timed

    started, cpu = time.perf_counter(), time.process_time()
    (timed,) = load_timed(str(path))
    assert timed.times is not None
    facts = {
        "seconds": round(time.perf_counter() - started, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000),
        "nodes": timed.program.node_count,
        "device_seconds": timed.times.device_seconds,
        "placed": timed.times.placed_seconds / timed.times.device_seconds,
    }
    print(json.dumps(facts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read(options.read)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "large.json"
        copies = write_large(real_trace(options.trace), path, int(options.gigabytes * 1e9))
        print(f"{path.stat().st_size / 1e9:.2f} GB, {copies} copies of the trace", flush=True)
        done = subprocess.run([sys.executable, __file__, "--read", str(path)], check=True, stdout=subprocess.PIPE)
        facts = json.loads(done.stdout)
        print(json.dumps(facts))
        if options.keep:
            graph, size = "PyTorch trace, eager step", path.stat().st_size
            keep(
                "profile_sizes",
                [
                    Figure("CPU time to read", facts["cpu_seconds"], "s", graph, size, at_most=30),
                    Figure("peak memory", facts["peak_megabytes"], "MB", graph, size, at_most=1000),
                ],
            )


if __name__ == "__main__":
    main()
