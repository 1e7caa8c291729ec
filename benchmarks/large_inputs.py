"""How long commands take for large inputs, and how much memory: millions of HLO instructions, a large JSON, a node with very many inputs.

    python benchmarks/large_inputs.py [--only hlo,json,wide,memory] [--share 1.0] [--base CHECKOUT] [--keep]

Prints the seconds that a person waits for the whole command, and those of CPU, which a machine that is busy with other work changes less.
Machines differ by a factor of two. With `--base`, the same commands run with an older checkout (a git worktree with its viewer built) right
before, and the share of its CPU seconds is printed too: what a change is worth on any machine. `--share 0.1` takes inputs of a tenth of the
size. The inputs are written once, into `.bench`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from large import BENCH, hlo_file
from results import Figure, keep
from training_graph import training_graph

from opscope import native
from opscope.loading import load
from opscope.program import ProgramBuilder, TensorType

HLO, JSON, WIDE = 3_072_000, 996_000, 200_000
"""Sizes to ask for: `training_graph` makes whole layers, which gives 2.84 million instructions (about 600 MB, with their places in a
source file) and 920,000 nodes (271 MB)."""
_MEASURED = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.perf_counter() - started, use.ru_utime + use.ru_stime, use.ru_maxrss / 1e6]))
"""
base: Path | None = None
"""The older checkout, if there is one."""


def measured(checkout: Path, *command: str) -> tuple[float, float, float]:
    """Seconds, CPU seconds and gigabytes of an opscope command."""
    arguments = [sys.executable, "-c", _MEASURED, sys.executable, "-m", "opscope", *command]
    run = subprocess.run(arguments, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(checkout / "src")})
    return tuple(json.loads(run.stdout.splitlines()[-1]))


def figures(
    name: str, graph: str, size: int, *command: str, seconds: float | None = None, memory: float | None = None, note: str = ""
) -> Iterator[Figure]:
    """What a command takes, and how much of what it took with the base."""
    before = base and measured(base, *command)
    elapsed, cpu, peak = measured(BENCH.parent, *command)
    yield Figure(f"{name}, elapsed", elapsed, "s", graph, size, at_most=seconds, note=note)
    yield Figure(name, cpu, "s of CPU", graph, size, note=note)
    yield Figure(f"{name}, peak memory", peak, "GB", graph, size, at_most=memory)
    if base and before:
        tool = f"opscope {commit_of(base)}"
        yield Figure(f"{name}, elapsed", before[0], "s", graph, size, tool)
        yield Figure(name, before[1], "s of CPU", graph, size, tool)
        yield Figure(f"{name}, peak memory", before[2], "GB", graph, size, tool)
        yield Figure(f"{name}, of the CPU seconds of {commit_of(base)}", 100 * cpu / before[1], "%", graph, size)


def commit_of(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "--short=7", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def written(name: str, text: str) -> Path:
    path = BENCH / name
    BENCH.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def json_file(nodes: int) -> Path:
    path = BENCH / f"train_{nodes}.json"
    return path if path.exists() else written(path.name, native.dumps(training_graph(nodes)))


def wide_file(inputs: int) -> Path:
    """One node with this many inputs."""
    path = BENCH / f"wide_{inputs}.json"
    if path.exists():
        return path
    builder = ProgramBuilder("wide")
    graph = builder.graph("main")
    type = TensorType("f32", (4, 4))
    for number in range(inputs):
        graph.node(f"x{number}", "parameter", outputs=[type], role="parameter")
    graph.node("all", "concatenate", [(f"x{number}", 0) for number in range(inputs)], [type])
    graph.outputs.append(("all", 0))
    return written(path.name, native.dumps(builder.build()))


def of_hlo(share: float, directory: Path) -> Iterator[Figure]:
    path = hlo_file(int(HLO * share), places=True)
    graph, size = "HLO text", round(path.stat().st_size / 1e6)
    for command, name, seconds, most in (
        (("info",), "info", 30, 1.5),
        (("export", "-o", str(directory / "x.svg")), "picture", 60, None),
        (("export", "-o", str(directory / "x.html")), "page", 60, None),
    ):
        yield from figures(name, graph, size, command[0], str(path), *command[1:], seconds=seconds, memory=most, note="size in MB")


def of_json(share: float, directory: Path) -> Iterator[Figure]:
    path = json_file(int(JSON * share))
    yield from figures("info", "JSON", round(path.stat().st_size / 1e6), "info", str(path), seconds=8, memory=1, note="size in MB")


def of_wide(share: float, directory: Path) -> Iterator[Figure]:
    inputs = int(WIDE * share)
    path = wide_file(inputs)
    for name, options in (("picture", ()), ("picture, every node a box", ("--flatten",))):
        command = ("export", str(path), "-o", str(directory / "x.svg"), *options)
        yield from figures(name, "one node with many inputs", inputs, *command, seconds=3)


def of_memory(share: float, directory: Path) -> Iterator[Figure]:
    """What Python holds of a program once it is loaded. The system counts more: memory that is free again is not all given back."""
    for graph, path in (("HLO text", hlo_file(int(HLO * share / 10))), ("JSON", json_file(int(JSON * share / 10)))):
        tracemalloc.start()
        program = load(path)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        yield Figure("memory per node", held / program.node_count, "bytes", graph, program.node_count, at_most=250)
        del program


PARTS = {"memory": of_memory, "wide": of_wide, "json": of_json, "hlo": of_hlo}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="some of: " + ", ".join(PARTS))
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--base", type=Path, help="a checkout of an older commit to measure too")
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/large_inputs.jsonl")
    arguments = parser.parse_args()
    global base
    base = arguments.base
    with tempfile.TemporaryDirectory() as directory:
        for part in arguments.only.split(","):
            for figure in PARTS[part](arguments.share, Path(directory)):
                missed = f" (MISSED: target {figure.target})" if figure.met is False else ""
                print(f"{figure.graph:28} {figure.tool:16} {figure.name:48} {figure.value:10.2f} {figure.unit}{missed}", flush=True)
                if arguments.keep:
                    keep("large_inputs", [figure])


if __name__ == "__main__":
    main()
