"""Checks rows and histories of a dump of XLA against its raw text, with a reader of its own: names, opcodes, op_names and original values.

    python benchmarks/histories.py DIRECTORY …   dumps of one program each, best those that `original_values.py --label` compiled
    python benchmarks/histories.py --seed 7 …    other rows and histories: the matcher was changed where the first ones were wrong

opscope reads the dumps without labels. Of the rows (one per pass that changed something), some are chosen at random: a row is right if
nodes before and after agree with the text, if added + copied - removed - merged is their difference, and if nothing is called added or
removed whose name is in both texts with the same opcode. Of the histories of nodes of the last program, some are chosen at random, and each
step is judged by the texts before and after the pass (`step_judge.py`): "right" if everything that it says has evidence there; "wrong" if
XLA moved the label of a node elsewhere; "incomplete" if a node is called added or removed, and its label was or is on another. What the
texts do not decide is "for the eye": a person reads them, and `histories_read.jsonl` has what that person decided about a step. A decision
is about these nodes in this pass of this dump; a step without one is printed as a line to fill in. The note of "right" says how many
histories a person decided, and how many nobody.

How much "right" means is measured: in every step that the judge calls right, the nodes before are exchanged for random ones of the same
opcode that compute something else, once all of them and once a single one. The share that the judge still accepts is printed beside the
results (`--exchanged` prints the steps).

The first history compares all passes; the others are timed. `--keep` appends the figures to benchmarks/results/histories.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from original_values import without_labels
from results import Figure, keep
from step_judge import judge_of
from texts import Text

from opscope.program import NodeKey
from opscope.recording.history import Step
from opscope.recording.model import Recording, Snapshot
from opscope.recording.rows import row_of
from opscope.recording.sources import open_recording

READ = Path(__file__).with_name("histories_read.jsonl")
_SEED = 2026
_ROWS, _HISTORIES = 24, 20
_LINKS = frozenset(("changed", "fused", "became"))
"""The kinds of steps that say what became of what."""


def row_is_right(recording: Recording, snapshot: Snapshot, before: Text, after: Text) -> bool:
    row = row_of(recording, snapshot)
    difference = recording.diff(snapshot.index)
    assert difference is not None
    gained = row.added + row.copied - row.removed - row.merged
    counts = snapshot.nodes == len(after.of) and gained == len(after.of) - len(before.of)
    ops_before = {(name, instruction.op) for (_, name), instruction in before.of.items()}
    ops_after = {(name, instruction.op) for (_, name), instruction in after.of.items()}
    stayed = {name for name, _ in ops_before & ops_after}
    moved = [id for _, id in (*difference.added, *difference.removed) if id in stayed]
    if not counts or moved:
        print(f"  row {snapshot.index} {snapshot.name}: {row}, text {len(before.of), len(after.of)}, {moved[:5]}")
    return counts and not moved


def exchanged(step: Step, before: Text, chance: random.Random, most: int) -> list[NodeKey] | None:
    """The nodes before a step, up to `most` of them exchanged for random ones of the same opcode that compute something else; None if there
    are none."""
    inside, expressions = before.inside(step.old), before.expressions
    result = list(step.old)
    for at in chance.sample(range(len(result)), len(result)):
        key = result[at]
        was, value = before.of[key], expressions.elements_of(key)
        those = [
            other
            for other, now in before.of.items()
            if now.op == was.op and other not in inside and other not in result and expressions.elements_of(other) != value
        ]
        if those and most:
            result[at], most = chance.choice(those), most - 1
    return result if result != list(step.old) else None


def decisions() -> dict[str, str]:
    """{step: "right", "incomplete" or "wrong"}: what a person decided who read the text."""
    rows = [json.loads(line) for line in READ.read_text("utf-8").splitlines()]
    return {_about(row["dump"], row["pass"], row["old"], row["new"]): row["verdict"] for row in rows}


def _about(dump: str, name: str, old: Sequence[str], new: Sequence[str]) -> str:
    return json.dumps([dump, name, sorted(old), sorted(new)])


def _decided(dump: str, step: Step, verdict: str, read: dict[str, str]) -> str:
    """The verdict, or if that is for the eye, what was decided about the step."""
    name, old, new = f"{step.snapshot.index} {step.snapshot.name}", [id for _, id in step.old], [id for _, id in step.new]
    decided = read.get(_about(dump, name, old, new), verdict) if verdict == "for the eye" else verdict
    if decided == "for the eye":
        print(json.dumps({"dump": dump, "pass": name, "old": old, "new": new, "verdict": "", "note": str(step)}, ensure_ascii=False))
    return decided


def measure(directory: Path, seed: int, show: bool = False) -> list[Figure]:
    read = decisions()
    chance, exchanging = random.Random(seed), random.Random(seed)
    accepted: dict[str, list[bool]] = {"all nodes exchanged": [], "one node exchanged": []}
    with tempfile.TemporaryDirectory() as temporary, tempfile.TemporaryDirectory() as cache:
        os.environ["OPSCOPE_CACHE"] = cache
        if any(" origin={" in path.read_text() for path in directory.glob("*before_optimizations.txt")):
            without_labels(directory, Path(temporary))
        else:
            for path in directory.glob("*.txt"):
                (Path(temporary) / path.name).symlink_to(path.resolve())
        recording = open_recording(temporary)
        first = next(directory.glob("*before_optimizations.txt"))
        texts: dict[int, Text] = {}

        def text(snapshot: Snapshot) -> Text:
            if snapshot.index not in texts:
                texts[snapshot.index] = Text(directory / snapshot.attrs.get("file", first.name))
            return texts[snapshot.index]

        changed = [snapshot for snapshot in recording if not recording.repeats(snapshot)]
        rows = sorted(chance.sample(changed, min(_ROWS, len(changed))), key=lambda snapshot: snapshot.index)
        right_rows = 0
        for snapshot in rows:
            earlier = recording.before(snapshot)
            assert earlier is not None
            right_rows += row_is_right(recording, snapshot, text(earlier), text(snapshot))
        last = recording[-1].program
        nodes = [(graph.name, node.id) for graph in last for node in graph if node.role == "op"]
        outcomes: dict[str, int] = defaultdict(int)
        by_hand = 0
        seconds: list[float] = []
        for key in chance.sample(nodes, min(_HISTORIES, len(nodes))):
            started = time.process_time()
            steps = recording.history(key)
            seconds.append(time.process_time() - started)
            found: list[str] = []
            by_script: list[str] = []
            for step in steps:
                earlier = recording.before(step.snapshot)
                assert earlier is not None
                judge = judge_of(text(earlier), text(step.snapshot))
                by_script.append(judge.verdict(step.kind, step.old, step.new))
                if by_script[-1] == "right" and step.kind in _LINKS:
                    for those, most in zip(accepted, (len(step.old), 1), strict=True):
                        false = exchanged(step, text(earlier), exchanging, most)
                        if false is not None:
                            accepted[those].append(judge.verdict(step.kind, false, step.new) == "right")
                            if show and accepted[those][-1]:
                                print(f"  accepted with {those}: {step.snapshot.index}: {step}; said to be from {[id for _, id in false]}")
                found.append(_decided(directory.name, step, by_script[-1], read))
                if found[-1] not in ("right", "for the eye"):
                    print(f"  {key[1]}: {found[-1]}: {step.snapshot.index} {step.snapshot.name}: {step} ({step.evidence})")
            outcome = next((each for each in ("wrong", "incomplete", "for the eye") if each in found), "right")
            outcomes[outcome] += 1
            by_hand += "for the eye" in by_script and "for the eye" not in found
    total = sum(outcomes.values())
    name = directory.name
    unknown = outcomes["for the eye"]
    note = "; ".join([f"{by_hand} with a step that a person read"] * bool(by_hand) + [f"{unknown} undecided, not wrong"] * bool(unknown))
    return [
        Figure("rows that agree with the text", 100 * right_rows / len(rows), "%", name, len(rows), at_least=100),
        Figure("histories: right", 100 * outcomes["right"] / total, "%", name, total, at_least=97, note=note),
        Figure("histories: incomplete", 100 * outcomes["incomplete"] / total, "%", name, total),
        Figure("histories: for the eye", 100 * outcomes["for the eye"] / total, "%", name, total),
        Figure("histories: wrong", 100 * outcomes["wrong"] / total, "%", name, total, at_most=0),
        *(
            Figure(f"steps that the judge accepts with {those}", 100 * sum(each) / max(1, len(each)), "%", name, len(each))
            for those, each in accepted.items()
        ),
        Figure("history of a node, slowest but the first", max(seconds[1:]), "s of CPU", name, len(recording), at_most=0.2),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--exchanged", action="store_true", help="print the false steps that the judge accepts")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    sys.setrecursionlimit(200_000)  # expressions are as deep as programs
    figures = [figure for directory in arguments.directories for figure in measure(directory, arguments.seed, arguments.exchanged)]
    for outcome in ("right", "incomplete", "for the eye", "wrong"):
        those = [figure for figure in figures if figure.name == f"histories: {outcome}" and figure.size]
        size = sum(figure.size or 0 for figure in those)
        share = sum((figure.value or 0) * (figure.size or 0) for figure in those) / size
        note = "; ".join(f"{figure.graph}: {figure.note}" for figure in those if figure.note)
        least, most = 97 if outcome == "right" else None, 0 if outcome == "wrong" else None
        figures.append(
            Figure(f"histories: {outcome}", share, "%", f"all {len(those)} dumps", size, at_least=least, at_most=most, note=note)
        )
    for exchange in ("all nodes exchanged", "one node exchanged"):
        shares = [figure for figure in figures if figure.name.endswith(f"accepts with {exchange}")]
        size = sum(figure.size or 0 for figure in shares)
        share = sum((figure.value or 0) * (figure.size or 0) for figure in shares) / max(1, size)
        figures.append(Figure(f"steps that the judge accepts with {exchange}", share, "%", f"all {len(shares)} dumps", size))
    for figure in figures:
        goal = "" if figure.met is None else f" ({figure.target}: {'met' if figure.met else 'MISSED'})"
        print(f"{figure.graph}: {figure.name} {figure.value:.4g} {figure.unit} of {figure.size}{goal}")
    if arguments.keep:
        keep("histories", figures)


if __name__ == "__main__":
    main()
