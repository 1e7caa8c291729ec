"""Times opscope's HLO reader against XLA's C++ parser, by CPU time, alternating in one run, best of nine each, and measures peak memory.

    python benchmarks/parse_hlo.py                 the compiled 24-layer training step (made first if missing)
    python benchmarks/parse_hlo.py --layers 4      a small one
    python benchmarks/parse_hlo.py FILE.hlo        any HLO text
    --json prints the figures for other programs, --keep appends them to benchmarks/results/parse_hlo.jsonl

Exits with 1 if opscope took longer than XLA, or if `opscope info` needed 600 MB or more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from make_hlo import make
from results import Figure, keep

ROUNDS = 9
MOST_MEMORY = 600
_PEAK = "import resource; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"


def seconds(action: Callable[[], Any]) -> float:
    """The CPU time of one run: the machine may be busy. Its result is freed outside the measured time."""
    started = time.process_time()
    result = action()
    took = time.process_time() - started
    del result
    return took


def peak_memory(path: Path) -> float:
    """The peak memory of `opscope info` in megabytes, as the system reports it for a separate process."""
    command = [sys.executable, "-m", "opscope", "info", str(path)]
    script = f"import subprocess; subprocess.run({command!r}, check=True, stdout=subprocess.DEVNULL); {_PEAK}"
    return float(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout)


def measure(path: Path) -> dict[str, Any]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from jaxlib._hlo import hlo_module_from_text

    from opscope.readers.hlo import parse_hlo

    text = path.read_text()
    ours, xla = [], []
    for _ in range(ROUNDS):
        xla.append(seconds(lambda: hlo_module_from_text(text)))
        ours.append(seconds(lambda: parse_hlo(text)))
    return {
        "file": path.name,
        "bytes": len(text),
        "instructions": sum(program.node_count for program in parse_hlo(text)),
        "ours_seconds": round(min(ours), 4),
        "xla_seconds": round(min(xla), 4),
        "ratio": round(min(ours) / min(xla), 3),
        "info_peak_mb": round(peak_memory(path), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="HLO text; without it the generated train step")
    parser.add_argument("--layers", type=int, default=24, help="layers of the generated train step (default 24)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/parse_hlo.jsonl")
    options = parser.parse_args()
    figures = measure(options.file or make(options.layers)[1])
    if options.json:
        print(json.dumps(figures, indent=1))
    else:
        print(f"{figures['file']}: {figures['instructions']:,} instructions, {figures['bytes']:,} bytes")
        print(f"ours   {figures['ours_seconds']:.3f} s   best of {ROUNDS}, alternating")
        print(f"XLA    {figures['xla_seconds']:.3f} s")
        print(f"ratio  {figures['ratio']:.2f}")
        print(f"peak   {figures['info_peak_mb']:.0f} MB for opscope info")
    if options.keep:
        graph, size = figures["file"], figures["instructions"]
        read = Figure("read HLO text", figures["ours_seconds"], "s", graph, size, at_most=figures["xla_seconds"])
        xla = Figure("read HLO text", figures["xla_seconds"], "s", graph, size, tool="XLA's C++ parser")
        keep(
            "parse_hlo", [read, xla, Figure("peak memory of opscope info", figures["info_peak_mb"], "MB", graph, size, at_most=MOST_MEMORY)]
        )
    sys.exit(figures["ratio"] > 1 or figures["info_peak_mb"] >= MOST_MEMORY)


if __name__ == "__main__":
    main()
