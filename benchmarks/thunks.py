"""How kernels are put on instructions, against XLA's own list of thunks: what the runtime runs, in order, each with its instruction.

    python benchmarks/thunks.py [ARCHIVE] [--keep]

An archive is a dump of XLA:GPU with its `thunk_sequence.txt` and `thunk_metadata.txt`, by default that in ../shared/data: a program with
loops, conditionals, a sort and copies in asynchronous fusions. A run is written out from the list: a loop has its rounds, a conditional one
of its branches. Its kernels, without instructions, are placed by the schedule alone.
"""

from __future__ import annotations

import argparse
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from attribution import PROFILES
from results import Figure, keep

from opscope.ops.loops import trip_count
from opscope.profile.model import Event
from opscope.profile.place import align_run
from opscope.profile.schedule import Labels, executed_graphs
from opscope.program import Program
from opscope.readers import read
from opscope.readers.source import Source

KERNELS = {"kCopy": "MemcpyD2D", "kConvolution": "cudnn::conv", "kCublasLtMatmul": "nvjet_hsh", "kGemm": "cublas", "kMemzero": "Memset"}
"""What a profiler calls the kernel of a thunk that has no name of its own."""
CUSTOM = "kCustomKernel"
LINE = re.compile(r"( *)(\d+): (\w+)\s*\[[^\]]*\]\s*(\S*)")
METADATA = re.compile(r'profile_annotation: "([^"]*)"\s+thunk_id: (\d+)')


@dataclass
class Thunk:
    number: int
    kind: str
    name: str
    parts: dict[str, list[Thunk]] = field(default_factory=dict)
    """The thunks that it runs: condition and body, branches, or what is inside."""


def thunks(lines: list[str]) -> list[Thunk]:
    """The list as a tree, by its indentation."""
    at = 0

    def block(indent: int) -> list[Thunk]:
        nonlocal at
        found: list[Thunk] = []
        while at < len(lines) and (match := LINE.match(lines[at])) and len(match[1]) >= indent:
            thunk = Thunk(int(match[2]), match[3], match[4])
            found.append(thunk)
            at += 1
            while at < len(lines) and thunk.kind in ("kWhile", "kConditional") and not LINE.match(lines[at]):
                part = lines[at].strip().rstrip(":")
                at += 1
                thunk.parts[part] = block(len(lines[at]) - len(lines[at].lstrip()))
            deeper = LINE.match(lines[at]) if at < len(lines) else None
            if deeper and len(deeper[1]) > len(match[1]):
                thunk.parts["inside"] = block(len(deeper[1]))
        return found

    return block(0)


def run(items: list[Thunk], rounds: dict[int, int], branch: str, inside: int | None = None) -> Iterator[tuple[int, str]]:
    """The kernels of one run, each with the number of the thunk that has its instruction."""
    for thunk in items:
        if thunk.kind == "kWhile":
            for _ in range(rounds[thunk.number]):
                yield from run(thunk.parts["condition"] + thunk.parts["body"], rounds, branch)
            yield from run(thunk.parts["condition"], rounds, branch)
        elif thunk.kind == "kConditional":
            yield from run(thunk.parts[branch], rounds, branch)
        elif thunk.parts:
            yield from run(thunk.parts["inside"], rounds, branch, thunk.number)
        elif thunk.kind == CUSTOM or thunk.kind in KERNELS:
            yield inside or thunk.number, thunk.name if thunk.kind == CUSTOM else KERNELS[thunk.kind]


def figures(archive: Path) -> Iterator[Figure]:
    with tarfile.open(archive) as files:

        def text(ending: str) -> str:
            (member,) = [one for one in files.getmembers() if one.name.endswith(ending)]
            stream = files.extractfile(member)
            return "" if stream is None else stream.read().decode()

        program: Program = read(Source("after.hlo", text("gpu_after_optimizations.txt").encode()))[0]
        instructions = {int(number): name for name, number in METADATA.findall(text("thunk_metadata.txt"))}
        items = thunks([line for line in text("thunk_sequence.txt").splitlines() if line.strip()])
    trips = {node.id: trip_count(program, graph, node) or 1 for graph in program for node in graph if node.op == "while"}
    rounds = {number: trips[name] for number, name in instructions.items() if name in trips}
    nodes = {node.id: (graph.name, node.id) for graph in reversed(executed_graphs(program)) for node in graph}
    labels, name = Labels(program), archive.name.removesuffix(".tar.gz")
    for branch in ("true_branch", "false_branch"):
        kernels = list(run(items, rounds, branch))
        events = [Event(kernel, "command_buffer_1", i, 1, 1, 0, 1) for i, (_, kernel) in enumerate(kernels)]
        placed = align_run(program, labels, events, nodes)
        right = sum(node is not None and instructions.get(thunk) == node[1] for (thunk, _), node in zip(kernels, placed, strict=True))
        count = sum(node is not None for node in placed)
        yield Figure(f"kernels of XLA's thunks placed, {branch}", count / len(kernels), "", name, len(kernels), at_least=0.995)
        yield Figure(f"kernels of XLA's thunks on the right one, {branch}", right / len(kernels), "", name, len(kernels), at_least=0.99)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", nargs="?", type=Path, default=PROFILES.parent / "xla_gpu_scan_passes.tar.gz")
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    measured = list(figures(chosen.archive))
    for figure in measured:
        print(f"{figure.name:60} {figure.value:.6g} {figure.target}")
    if chosen.keep:
        keep("attribution", measured)


if __name__ == "__main__":
    main()
