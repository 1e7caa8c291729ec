"""Measures links between the nodes before and after a pass against compilers that say what became of every node.

    python benchmarks/recorded_truth.py                  the toy compiler, torch.compile, and hidet where it is installed
    python benchmarks/recorded_truth.py FILE.opscope …   other recordings with provenance
    python benchmarks/recorded_truth.py --wrong          also print wrong links

What the compiler recorded is kept aside, and its programs are matched as a dump without it would be: with the names that they have, and
with names that mean nothing. Every node that the compiler says something about is counted by what became of it: "kept" (the same
operation), "copied" (it is computed several times), "rewritten" (into other operations), "merged" (with others into one), "removed". It is
"right" if the links are exactly the truth, "part" if they are a part of it, "undecided" if only candidates are named, "missing" if nothing
is said, "wrong" if a link leads to a node that it did not become. `--keep` appends the figures to benchmarks/results/recorded_truth.jsonl.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from results import HERE, Figure, keep
from toy_compiler import compile_and_record
from truth import OUTCOMES, links_of, outcome_of

from opscope.program import NodeKey, Program
from opscope.recording.diff import Diff, diff_passes
from opscope.recording.model import Recording, Snapshot
from opscope.recording.sources import open_recording

KINDS = ("kept", "copied", "rewritten", "merged", "removed")
_ASIDE = frozenset({"AOTAutograd: backward of"})
"""Rules that say what a node was made for, and not what it is."""
_SEEDS = range(6)
Became = dict[NodeKey, frozenset[NodeKey]]


class Truth(NamedTuple):
    became: Became
    """What became of nodes, for all that the compiler says something about."""
    aside: set[tuple[NodeKey, NodeKey]]
    """Links that are neither right nor wrong."""
    unknown: set[NodeKey]
    """New nodes of which the compiler does not say where they came from; links to them are neither right nor wrong."""


def truth_of(before: Program, snapshot: Snapshot, ids: str, says_all: bool) -> Truth:
    """If ids have a meaning, nodes with equal ids that the compiler says nothing about are the same. Others are gone, or new, if the
    compiler `says_all`, and otherwise not known."""
    became: dict[NodeKey, set[NodeKey]] = defaultdict(set)
    aside: set[tuple[NodeKey, NodeKey]] = set()
    said: set[NodeKey] = set()
    for origin in snapshot.origins:
        for old in origin.old:
            if origin.rule in _ASIDE:
                aside.update((old, new) for new in origin.new)
            else:
                became[old].update(origin.new)
        said.update(origin.new)
    after = _keys(snapshot.program)
    for key in _keys(before):
        if key not in became:
            stays = ids != "positions" and key in after and key not in said
            if stays or says_all:
                became[key] = {key} if stays else set()
                said.update(became[key])
    return Truth({key: frozenset(news) for key, news in became.items()}, aside, set() if says_all else after - said)


def _keys(program: Program) -> set[NodeKey]:
    return {(graph.name, node.id) for graph in program for node in graph}


def kind_of(key: NodeKey, became: Became, sources: Counter[NodeKey], before: Program, after: Program) -> str:
    news = became[key]
    if not news:
        return "removed"
    op = before[key[0]][key[1]].op
    same = [after[graph][id].op == op for graph, id in news]
    if all(same) and len(news) > 1:
        return "copied"
    if any(sources[new] > 1 for new in news):
        return "merged"
    return "kept" if len(news) == 1 and all(same) else "rewritten"


def judged(truth: Truth, difference: Diff, show: str = "") -> Counter[tuple[str, str]]:
    links = links_of(difference)
    candidates = {key for match in difference.undecided for key in match.a}
    sources = Counter(new for news in truth.became.values() for new in news)
    counts: Counter[tuple[str, str]] = Counter()
    for key, expected in truth.became.items():
        if difference.a[key[0]][key[1]].is_argument:
            continue
        found = {new for new in links[key] if new in expected or not ((key, new) in truth.aside or new in truth.unknown)}
        outcome = outcome_of(expected, found, key in candidates)
        kind = kind_of(key, truth.became, sources, difference.a, difference.b)
        counts[kind, outcome] += 1
        if show and outcome == "wrong":
            print(f"  {show}: {key[1]} ({kind}) became {sorted(id for _, id in expected)}, not {sorted(id for _, id in found)}")
    return counts


def pass_by_pass(recording: Recording, ids: str, show: bool) -> Counter[tuple[str, str]]:
    meaning = str(recording.attrs.get("ids") or "positions")
    counts: Counter[tuple[str, str]] = Counter()
    for snapshot in recording:
        before = recording.before(snapshot)
        if before is None or recording.repeats(snapshot):
            continue
        truth = truth_of(before.program, snapshot, meaning, recording.attrs.get("producer") == "toy")
        difference = diff_passes(before.program, snapshot.program, ids=ids)
        counts += judged(truth, difference, f"{recording.name.rpartition('/')[2]} {snapshot.name} {ids}" if show else "")
    return counts


def recordings(directory: Path, files: list[Path]) -> Iterator[tuple[str, Path]]:
    """Names of compilers, and recordings of them."""
    if files:
        yield from ((path.name, path) for path in files)
        return
    for seed in _SEEDS:
        for stable in (True, False):
            path = directory / f"toy{seed}{'' if stable else '_renumbered'}.opscope"
            compile_and_record(seed, path, stable)
            yield "toy compiler", path
    subprocess.run([sys.executable, HERE.parent / "examples/passes_torch.py", directory], check=True, capture_output=True)
    yield "torch.compile", directory / "run.opscope"
    for python in sorted(HERE.parent.glob(".venv-hidet-*/bin/python")):
        path = directory / f"{python.parent.parent.name[6:]}.opscope"
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src")}
        subprocess.run([python, HERE.parent / "examples/passes_hidet.py", path], capture_output=True, env=environment, cwd=directory)
        if path.exists():
            yield path.stem, path


def measure(files: list[Path], show: bool) -> list[Figure]:
    counts: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as directory:
        for name, path in recordings(Path(directory), files):
            recording = open_recording(path)
            if recording.attrs.get("ids") not in (None, "positions"):
                counts[name, "names kept"] += pass_by_pass(recording, "names", show)
            counts[name, "names removed"] += pass_by_pass(recording, "positions", show)
    figures = []
    print(f"{'':48} {'nodes':>7} " + " ".join(f"{outcome:>9}" for outcome in OUTCOMES))
    for (name, names), of in sorted(counts.items()):
        for kind in (*KINDS, "all"):
            shares = Counter({outcome: sum(of[each, outcome] for each in (KINDS if kind == "all" else (kind,))) for outcome in OUTCOMES})
            if total := shares.total():
                print(f"{f'{name}, {names}: {kind}':48} {total:7,} " + " ".join(f"{shares[each] / total:9.2%}" for each in OUTCOMES))
                figures += _figures(f"{name}, {names}", kind, shares)
    return figures


def _figures(graph: str, kind: str, shares: Counter[str]) -> list[Figure]:
    total = shares.total()
    return [
        Figure(
            f"{kind}: {outcome}", 100 * shares[outcome] / total, "%", graph, total,
            at_least=97 if outcome == "right" and kind == "kept" else None, at_most=1 if outcome == "wrong" and kind == "all" else None,
        )
        for outcome in OUTCOMES
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    figures = measure(arguments.files, arguments.wrong)
    if arguments.keep:
        keep("recorded_truth", figures)


if __name__ == "__main__":
    main()
