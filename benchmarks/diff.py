"""Measures how accurate and how fast matching is. The ground truth comes from removing names.

    python benchmarks/diff.py                      the 4-layer transformer's dump (made if missing)
    python benchmarks/diff.py DIRECTORY …          other XLA dumps
    python benchmarks/diff.py --speed              100,000 nodes against 100,000
    python benchmarks/diff.py --without-metadata   also without op_name, scopes and source lines

`--keep` appends the figures to benchmarks/results/diff.jsonl.

For each pair of consecutive snapshots, every instruction and computation in the text of the second gets a random name; nothing else
changes. The programs are matched without names, and the result is compared with the original names. Nodes whose name is in both
programs "survive"; a surviving node (of either side) that is matched to another node is "wrong". "Alike" are wrong nodes in uncalled
graphs that are otherwise identical: only names can distinguish them.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from pathlib import Path

from make_dump import dump
from results import Figure, keep

from opscope.program import Program
from opscope.readers.hlo import parse_hlo
from opscope.recording.diff import diff, diff_passes
from opscope.recording.dumps.xla import Step, find_steps

_NAME = re.compile(r"%([A-Za-z_][\w.-]*)")
_PARAMETER = re.compile(r"(?<=[(,] )?([A-Za-z_][\w.-]*)(?=: )")
_METADATA = re.compile(r", metadata=\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\")*\}")


def renamed(text: str, seed: int) -> tuple[str, dict[str, str]]:
    """The text with a new random name for every instruction and computation, and the new names by the old ones."""
    names = sorted(set(_NAME.findall(text)))
    fresh = [f"r{i}" for i in range(len(names))]
    random.Random(seed).shuffle(fresh)
    new: dict[str, str] = dict(zip(names, fresh, strict=True))
    lines = []
    for line in text.split("\n"):
        if line.endswith("{") and line.startswith(("%", "ENTRY")):
            line = _PARAMETER.sub(lambda match: new.get(match[1], match[1]), line)
        lines.append(_NAME.sub(lambda match: "%" + new[match[1]], line))
    return "\n".join(lines), new


def nodes(program: Program) -> dict[str, tuple[str, str]]:
    return {node.id: (graph.name, node.id) for graph in program for node in graph}


def truth_of(directory: Path, metadata: bool) -> list[Figure]:
    """Print a line for each changed step; returns the shares over all steps, and those of the worst step."""
    steps, _ = find_steps(directory)
    worst_right, worst_wrong = 1.0, 0.0
    survived = all_right = all_wrong = changed = 0
    before: tuple[str, Program] | None = None
    print(f"\n{directory.name}{'' if metadata else ', without metadata'}")
    print(f"{'survive':>8} {'right':>8} {'wrong':>7} {'alike':>7} {'seconds':>8}  step")
    for step in steps:
        text = step.path.read_text()
        text = text if metadata else _METADATA.sub("", text)
        if before is not None and text == before[0]:
            continue
        (program,) = parse_hlo(text)
        if before is not None and before[1] != program:
            line, right, wrong, total = compare(before[1], text, step, seed=changed)
            print(line)
            changed += 1
            survived, all_right, all_wrong = survived + total, all_right + right, all_wrong + wrong
            worst_right, worst_wrong = min(worst_right, right / total), max(worst_wrong, wrong / total)
        before = (text, program)
    shares = f"{all_right / survived:.3%} right, {all_wrong / survived:.3%} wrong"
    print(f"{changed} changed steps, {survived:,} surviving nodes: {shares}")
    print(f"worst step: {worst_right:.2%} right (target: 97 %), {worst_wrong:.2%} wrong (target: under 1 %)")
    graph = directory.name + ("" if metadata else ", without metadata")
    return [
        *shares_of(graph, survived, all_right / survived, all_wrong / survived),
        *shares_of(f"{graph}, worst step", None, worst_right, worst_wrong),
    ]


def shares_of(graph: str, survived: int | None, right: float, wrong: float) -> list[Figure]:
    matched = Figure("surviving nodes matched, names removed", 100 * right, "%", graph, survived, at_least=97)
    return [matched, Figure("surviving nodes matched wrongly", 100 * wrong, "%", graph, survived, at_most=1)]


def compare(a: Program, text: str, step: Step, seed: int) -> tuple[str, int, int, int]:
    hidden, new = renamed(text, seed)
    (b,) = parse_hlo(hidden)
    in_a = nodes(a)
    key_b = nodes(b)
    truth = {key: key_b[new[name]] for name, key in in_a.items() if name in new and new[name] in key_b}
    back = set(truth.values())
    started = time.perf_counter()
    comparison = diff_passes(a, b, ids="positions")
    pairs = [(x, y) for x, y in comparison.pairs()]
    seconds = time.perf_counter() - started
    right = sum(truth.get(x) == y for x, y in pairs)
    wrong = sum((x in truth or y in back) and truth.get(x) != y for x, y in pairs)
    total = max(1, len(truth))
    alike = sum(x in truth and truth[x] != y and _dead_and_alike(b, truth[x][0], y[0]) for x, y in pairs)
    shares = f"{right / total:8.2%} {wrong / total:7.2%} {alike / total:7.2%}"
    line = f"{len(truth):8,} {shares} {seconds:8.2f}  {step.pipeline} / {step.name}"
    return line, right, wrong, total


def _dead_and_alike(program: Program, one: str, other: str) -> bool:
    def text(name: str) -> list[tuple[object, ...]]:
        graph = program[name]
        return [(node.op, node.outputs, [(graph.position[id], index) for id, index in node.inputs]) for node in graph]

    return one not in program.callers and other not in program.callers and text(one) == text(other)


def speed() -> list[Figure]:
    """The compiled 24-layer step against itself: with its names, with other names, and with the same names on other nodes."""
    from make_hlo import make

    _, compiled = make(24)
    text = compiled.read_text()
    (a,) = parse_hlo(text)
    (b,) = parse_hlo(renamed(text, 1)[0])
    figures = [timed("by names", a, a, True), timed("without names", a, b, False)]
    for title, other in (("same names", text), ("renumbered names", renumbered(text))):
        (b,) = parse_hlo(other)
        figures.append(timed(f"by default, {title}", a, b, None))
    return figures


def timed(title: str, a: Program, b: Program, match_by_name: bool | None) -> Figure:
    """One comparison of two programs that differ only in names."""
    started = time.perf_counter()
    comparison = diff(a, b, match_by_name=match_by_name)
    seconds = time.perf_counter() - started
    counts = f"+{len(comparison.added):,} −{len(comparison.removed):,} ~{len(comparison.changed):,}, names {comparison.names}"
    print(f"{a.node_count:,} against {b.node_count:,} nodes {title}: {seconds:.1f} s ({counts}; target: under 20 s)")
    size = sum(len(graph.nodes) for graph in a)
    return Figure(f"compare with itself {title}", seconds, "s", "compiled 24-layer HLO", size, at_most=20)


def renumbered(text: str) -> str:
    """The text as if seven more instructions had been numbered early on: most names now belong to another node."""
    return re.sub(r"%([A-Za-z_][\w-]*)\.(\d+)\b", lambda name: f"%{name[1]}.{int(name[2]) + 7 * (int(name[2]) > 500)}", text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--without-metadata", action="store_true")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if options.speed:
        figures = speed()
    else:
        directories = options.sources or [dump(4)]
        figures = [figure for directory in directories for figure in truth_of(directory, not options.without_metadata)]
    if options.keep:
        keep("diff", figures)
    sys.exit(not options.speed and not options.without_metadata and any(figure.met is False for figure in figures))


if __name__ == "__main__":
    main()
