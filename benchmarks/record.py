"""Measures the size of a recording, how fast a snapshot opens, and how long it takes to read a directory of dumps.

python benchmarks/record.py                 the 4-layer transformer's dump (made if missing)
python benchmarks/record.py --layers 24     383 MB of text
python benchmarks/record.py DIRECTORY …     other XLA dumps

`--keep` appends the figures to benchmarks/results/record.jsonl.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from make_dump import dump
from results import Figure, keep

from opscope.recording.dumps.xla import read_dump
from opscope.recording.sources import open_recording
from opscope.render.wire.compare_passes import compared_rows


def measure(directory: Path) -> list[Figure]:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "run.opscope")
        started = time.perf_counter()
        recording = read_dump(directory, path=path)
        took = time.perf_counter() - started
        text = sum((directory / snapshot.attrs["file"]).stat().st_size for snapshot in recording)
        stored = path.stat().st_size
        print(
            f"\n{directory.name}: {len(recording)} snapshots, {text / 1e6:.1f} MB of text, last {recording[-1].program.node_count:,} nodes"
        )
        print(f"  read and recorded in {took:.1f} s ({text / 1e6 / took:.1f} MB/s)")
        print(f"  {stored / 1e3:.0f} kB: 1/{text / stored:.0f} of the text (target: 1/50)")
        main_process, children = (resource.getrusage(who).ru_maxrss / 1e6 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        print(f"  memory: at most {main_process:.2f} GB, and {children:.2f} GB in the largest reading process (target: under 2 GB)")
        slowest = max(_seconds_to_open(path, i) for i in range(len(recording)))
        print(f"  slowest snapshot opens in {slowest:.3f} s from a cold file (target: 0.2 s)")
        started = time.perf_counter()
        count = sum(not row.unchanged for row in compared_rows(open_recording(path)))
        compared = time.perf_counter() - started
        print(f"  all passes compared in {compared:.1f} s ({count} changed something)")
    name, size = directory.name, len(recording)
    return [
        Figure("dump read and recorded", took, "s", name, size),
        Figure("text per byte of the recording", text / stored, "×", name, size, at_least=50),
        Figure("peak memory", max(main_process, children), "GB", name, size, at_most=2),
        Figure("slowest snapshot to open", slowest, "s", name, size, at_most=0.2),
        Figure("all passes compared", compared, "s", name, size),
    ]


def _seconds_to_open(path: Path, index: int) -> float:
    started = time.perf_counter()
    assert open_recording(path)[index].program.main
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    figures = [figure for directory in options.directories or [dump(options.layers)] for figure in measure(directory)]
    if options.keep:
        keep("record", figures)


if __name__ == "__main__":
    main()
