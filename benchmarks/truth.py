"""Measures whether links between the nodes before and after a pass are true. The ground truth comes from passes of our own.

    python benchmarks/truth.py                programs: the transformer of make_hlo.py, lowered and compiled
    python benchmarks/truth.py FILE.hlo …     other HLO
    python benchmarks/truth.py --wrong        also print wrong links

`synthetic_passes.py` applies thirteen kinds of passes to real programs and knows what became of every node. The programs before and after
are compared as two snapshots of a recording of XLA are, and every node that the pass touched is counted: "right" if the diff says exactly
what became of it, "part" if it says a part of it, "missing" if nothing, "undecided" if it only names candidates, "wrong" if it names a node
that it did not become. `--keep` appends the figures to benchmarks/results/truth.jsonl.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from pathlib import Path

from make_hlo import make
from results import Figure, keep
from synthetic_passes import PASSES, Truth, apply

from opscope.program import NodeKey, Program
from opscope.readers.hlo import parse_hlo
from opscope.recording.diff import Diff, diff_passes

OUTCOMES = ("right", "part", "missing", "undecided", "wrong")


def outcomes(before: Program, truth: Truth, difference: Diff, kind: str, show: bool) -> Counter[str]:
    """How many of the touched nodes, and of the new fusions, have each outcome. A wrong link of any other node counts too."""
    links = links_of(difference)
    candidates = {key for match in difference.undecided for key in match.a}
    counts: Counter[str] = Counter()
    for graph in before:
        for node in graph:
            key = graph.name, node.id
            expected = truth.became.get(key, frozenset([key]))
            outcome = outcome_of(expected, links[key], key in candidates)
            if key in truth.became or outcome == "wrong":
                counts[outcome] += 1
            if show and outcome == "wrong":
                names = [[id for _, id in sorted(keys)] for keys in (expected, links[key])]
                print(f"  {kind}: {node.id} became {names[0]}, not {names[1]}")
    fusions = {fusion.new: frozenset(fusion.old) for fusion in difference.fusions}
    counts.update(outcome_of(members, fusions.get(key, frozenset()), False) for key, members in truth.fused.items())
    return counts


def links_of(difference: Diff) -> dict[NodeKey, set[NodeKey]]:
    links: dict[NodeKey, set[NodeKey]] = defaultdict(set)
    for match in difference.matched:
        for key in match.a:
            links[key].update(match.b)
    return links


def outcome_of(expected: frozenset[NodeKey], links: set[NodeKey] | frozenset[NodeKey], undecided: bool) -> str:
    if links - expected:
        return "wrong"
    if links == expected:
        return "right"
    return "part" if links else "undecided" if undecided else "missing"


def measure(programs: dict[str, Program], seeds: int, show: bool) -> list[Figure]:
    figures = []
    print(f"{'pass':24} {'nodes':>7} " + " ".join(f"{outcome:>9}" for outcome in OUTCOMES))
    total: Counter[str] = Counter()
    for kind in PASSES:
        counts: Counter[str] = Counter()
        for program in programs.values():
            for seed in range(seeds):
                truth = apply(kind, program, seed)
                counts += outcomes(program, truth, diff_passes(program, truth.program, ids="names"), kind, show)
        total += counts
        figures += _figures(kind, counts)
        print(_line(kind, counts))
    print(_line("all", total))
    return [*figures, *_figures("all", total)]


def _line(kind: str, counts: Counter[str]) -> str:
    nodes = max(1, counts.total())
    return f"{kind:24} {counts.total():7,} " + " ".join(f"{counts[outcome] / nodes:9.2%}" for outcome in OUTCOMES)


def _figures(kind: str, counts: Counter[str]) -> list[Figure]:
    nodes = counts.total()
    return [
        Figure(
            f"links of a pass: {outcome}", 100 * counts[outcome] / nodes, "%", kind, nodes,
            at_least=97 if outcome == "right" else None, at_most=1 if outcome == "wrong" else None,
        )
        for outcome in OUTCOMES
        if nodes
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=3, help="how often each pass is applied to each program (default 3)")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    programs = {path.name: parse_hlo(path.read_text())[0] for path in arguments.files or make(4)}
    figures = measure(programs, arguments.seeds, arguments.wrong)
    if arguments.keep:
        keep("truth", figures)


if __name__ == "__main__":
    main()
