"""How long commands take for large inputs, and how much memory: millions of HLO instructions, a large JSON, a node with very many inputs.

    python benchmarks/large_inputs.py [--only hlo,json,wide,memory] [--share 1.0] [--keep]

Times are CPU seconds of the whole command, so that a machine that is busy with other work measures the same; `--share 0.1` takes inputs of
a tenth of the size. The inputs are written once, into `.bench`.
"""

from __future__ import annotations

import argparse
import gc
import json
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
import json, resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
use = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([use.ru_utime + use.ru_stime, use.ru_maxrss / 1e6]))
"""


def measured(*command: str) -> tuple[float, float]:
    """CPU seconds and gigabytes of an opscope command."""
    arguments = [sys.executable, "-c", _MEASURED, sys.executable, "-m", "opscope", *command]
    return tuple(json.loads(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))


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
        cpu, peak = measured(command[0], str(path), *command[1:])
        yield Figure(name, cpu, "s of CPU", graph, size, at_most=seconds, note="size in MB")
        yield Figure(f"{name}, peak memory", peak, "GB", graph, size, at_most=most)


def of_json(share: float, directory: Path) -> Iterator[Figure]:
    path = json_file(int(JSON * share))
    cpu, peak = measured("info", str(path))
    graph, size = "JSON", round(path.stat().st_size / 1e6)
    yield Figure("info", cpu, "s of CPU", graph, size, at_most=8, note="size in MB")
    yield Figure("info, peak memory", peak, "GB", graph, size, at_most=1)


def of_wide(share: float, directory: Path) -> Iterator[Figure]:
    inputs = int(WIDE * share)
    path = wide_file(inputs)
    for name, options in (("picture", ()), ("picture, every node a box", ("--flatten",))):
        cpu, peak = measured("export", str(path), "-o", str(directory / "x.svg"), *options)
        yield Figure(name, cpu, "s of CPU", "one node with many inputs", inputs, at_most=3)
        yield Figure(f"{name}, peak memory", peak, "GB", "one node with many inputs", inputs)


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
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/large_inputs.jsonl")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for part in arguments.only.split(","):
            for figure in PARTS[part](arguments.share, Path(directory)):
                missed = f" (MISSED: target {figure.target})" if figure.met is False else ""
                print(f"{figure.graph:28} {figure.name:32} {figure.value:10.2f} {figure.unit}{missed}", flush=True)
                if arguments.keep:
                    keep("large_inputs", [figure])


if __name__ == "__main__":
    main()
