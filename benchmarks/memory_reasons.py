"""Why 40 buffers drawn at random are alive: what opscope says today, and what a person decided who read the text of the program.

    python benchmarks/memory_reasons.py                     the table of decisions, with today's reasons
    python benchmarks/memory_reasons.py --text [--seed 14]  each buffer with the text that proves or refutes it, as JSON lines

`memory_reasons.jsonl` has the decisions about the default sample: 40 buffers of three programs, of XLA for a GPU (as reported), of XLA for
the CPU and before optimization (both computed). Where the reason was wrong when it was first read, and has been mended since, `was_wrong`
has it. A test compares the reasons with those of today.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from opscope.loading import load
from opscope.memory.model import Memory
from opscope.memory.schedule import computed_memory
from opscope.memory.xla_files import find_reports, program_of, reported_memory
from opscope.program import Program

ROOT = Path(__file__).resolve().parent.parent
DECISIONS = Path(__file__).with_suffix(".jsonl")
SEED = 14
SAMPLES = {"gpu": 14, "cpu": 13, "lowered": 13}
"""How many buffers of each program."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", action="store_true", help="print the drawn buffers with the text of the program")
    parser.add_argument("--seed", type=int, default=SEED, help="with --text: draw other buffers")
    arguments = parser.parse_args()
    if arguments.text:
        for row in rows(arguments.seed):
            print(json.dumps(row, ensure_ascii=False))
    else:
        print("\n".join(table()))


def table() -> Iterator[str]:
    """The decisions, one line for each buffer."""
    decided = [json.loads(text) for text in DECISIONS.read_text("utf-8").splitlines()]
    yield f"{'program':8} {'buffer':26} {'kind':10} {'right':6} why, as of today"
    for row, today in zip(decided, rows(), strict=True):
        assert row["buffer"] == today["buffer"], "the sample has changed: decide again"
        is_right = "yes" if row["right"] and row["why"] == today["why"] else "NO"
        yield f"{row['program']:8} {row['buffer']:26} {today['kind']:10} {is_right:6} {today['why']}"
    mended = sum("was_wrong" in row for row in decided)
    yield f"{len(decided)} buffers checked by hand; {mended} reasons were wrong when they were first read, and have been mended"


def rows(seed: int = SEED) -> Iterator[dict[str, Any]]:
    """The sample: each buffer, the reason, and the text."""
    random = Random(seed)
    for name, program, memory in programs():
        lines = {node.id: line(program, graph.name, node.id) for graph in program for node in graph}
        for buffer in random.sample(sorted(memory.buffers), SAMPLES[name]):
            end = memory.step_at(buffer.last)
            users = sorted(
                {user for graph in program if buffer.node in graph.position for user in graph.users.get(buffer.node, ())},
                key=list(lines).index,
            )
            yield {
                "program": name,
                "buffer": buffer.name,
                "kind": buffer.kind,
                "why": buffer.why,
                "alive": [buffer.born, buffer.last, len(memory.steps)],
                "last": end,
                "text": [lines[each] for each in dict.fromkeys((buffer.node, *users[-3:], end)) if each in lines],
            }


def programs() -> Iterator[tuple[str, Program, Memory]]:
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(ROOT / "tests" / "corpus" / "xla_gpu_scan_passes.tar.xz") as packed:
            packed.extractall(directory, filter="data")
        assignment = next(Path(directory).rglob("*-buffer-assignment.txt"))
        (reports,) = find_reports(assignment.parent)
        program = program_of(reports)
        assert program is not None
        yield "gpu", program, reported_memory(reports, program)
    for name, source in (("cpu", "demo:passes@-1"), ("lowered", str(ROOT / "tests" / "samples" / "hlo" / "step_lowered.hlo"))):
        program = load(source)
        yield name, program, computed_memory(program)


def line(program: Program, graph: str, id: str) -> str:
    """A node as a line of HLO, with what says which half it belongs to."""
    node = program[graph][id]
    operands = ", ".join(name if len(program[graph][name].outputs) == 1 else f"{name}#{index}" for name, index in node.inputs)
    outputs = ", ".join(map(str, node.outputs))
    root = "ROOT " if any(id == name for name, _ in program[graph].outputs) else ""
    calls = f" calls={','.join(node.calls)}" if node.calls else ""
    name = node.attrs.get("op_name", "")
    return f"{graph}: {root}{id} = ({outputs}) {node.op}({operands}){calls} {name}".rstrip()


if __name__ == "__main__":
    main()
