"""Checks rows and histories of a dump of XLA against its raw text, with a reader of its own: names, opcodes, op_names and original values.

    python benchmarks/histories.py DIRECTORY …   dumps of one program each, best those that `original_values.py --label` compiled
    python benchmarks/histories.py --seed 7 …    other rows and histories: the matcher was changed where the first ones were wrong

opscope reads the dumps without labels. Of the rows (one per pass that changed something), some are chosen at random: a row is right if
nodes before and after agree with the text, if added + copied - removed - merged is their difference, and if nothing is called added or
removed whose name is in both texts with the same opcode. Of the histories of nodes of the last program, some are chosen at random: a step
is "right" if the text ties every node after it to one before it: by name, by the label that XLA moved, by an equal opcode and op_name, or
as a fusion of one of them; if both compute the same (`expressions.py`) from the program's inputs, or from instructions that kept their
names, in whatever order and shape; or if it is new and only such nodes take it, as they take the reciprocal of a divisor. It is "wrong"
if the label of a node after it was on other nodes than those named; "incomplete" if a node is called added or removed, and its label was
or is on another. Without labels, an added node is for the eye if one of its opcode and op_name is gone. What this reader does not decide
is "for the eye": a person reads the text, and `histories_read.jsonl` has what that person decided about a step. A decision is about these
nodes in this pass of this dump; a step without one is printed as a line to fill in. The note of "right" says how many histories a person
decided, and how many nobody. The first history compares all passes; the others are timed. `--keep` appends the figures to
benchmarks/results/histories.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from expressions import Expressions
from original_values import without_labels
from results import Figure, keep

from opscope.program import NodeKey
from opscope.recording.history import Step
from opscope.recording.model import Recording, Snapshot
from opscope.recording.rows import row_of
from opscope.recording.sources import open_recording

READ = Path(__file__).with_name("histories_read.jsonl")
_SEED = 2026
_ROWS, _HISTORIES = 24, 20
_TRIVIAL = frozenset(("constant", "parameter"))
"""Many of these compute the same by chance."""
_LINE = re.compile(r"^\s+(?:ROOT )?%(?P<name>[\w.-]+) = .*? (?P<op>[a-z][\w-]*)\(")
_HEAD = re.compile(r"^(?:ENTRY )?%([\w.-]+) .*\{$")
_ORIGIN = re.compile(r", origin=\{((?:[^{}]|\{[^{}]*\})*)\}")
_OP_NAME = re.compile(r'op_name="([^"]*)"')
_CALLS = re.compile(r"(?:calls|to_apply)=%([\w.-]+)")


class Instruction(NamedTuple):
    op: str
    op_name: str
    label: str
    calls: tuple[str, ...]


class Text:
    """The instructions of one file, by graph and name."""

    def __init__(self, path: Path) -> None:
        self.expressions = Expressions(path)
        self.of: dict[NodeKey, Instruction] = {}
        self.members: dict[str, list[NodeKey]] = defaultdict(list)
        graph = ""
        for line in path.read_text().splitlines():
            if head := _HEAD.match(line):
                graph = head[1]
            elif graph and (found := _LINE.match(line)):
                label, op_name = _ORIGIN.search(line), _OP_NAME.search(line)
                key = graph, found["name"]
                self.members[graph].append(key)
                self.of[key] = Instruction(
                    found["op"], op_name[1] if op_name else "", label[1] if label else "", tuple(_CALLS.findall(line))
                )
        self.labelled: dict[str, set[NodeKey]] = defaultdict(set)
        for key, instruction in self.of.items():
            if instruction.label:
                self.labelled[instruction.label].add(key)

    def inside(self, keys: Iterable[NodeKey]) -> set[NodeKey]:
        """The nodes, and everything in the graphs that they call."""
        found, waiting = set(keys), list(keys)
        while waiting:
            for called in self.of[waiting.pop()].calls:
                fresh = [key for key in self.members[called] if key not in found]
                found.update(fresh)
                waiting += fresh
        return found


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


def judged(step: Step, before: Text, after: Text) -> str:
    """ "right", "incomplete", "wrong" or "for the eye"."""
    if step.kind == "undecided":
        return "right"
    old, new = before.inside(step.old), after.inside(step.new)
    labels_before = {before.of[key].label for key in old} - {""}
    labels_after = {after.of[key].label for key in new} - {""}
    if step.kind == "added":
        if any(before.labelled.get(label) for label in labels_after):
            return "incomplete"
        went = {(now.op, now.op_name) for key, now in before.of.items() if key not in after.of and now.op_name}
        return (
            "for the eye" if not after.labelled and any((after.of[key].op, after.of[key].op_name) in went for key in step.new) else "right"
        )
    if step.kind == "removed":
        return "incomplete" if any(after.labelled.get(label) for label in labels_before) else "right"
    names = {id for _, id in old}
    inlined = {(before.of[key].op, before.of[key].op_name) for key in old}
    work = {(before.of[key].op, before.of[key].op_name) for key in old if before.of[key].op_name}
    places = {before.of[key].op_name for key in old if before.of[key].op_name}
    untied: list[NodeKey] = []
    for key in step.new:
        tied = after.of[key].op_name in places or any(
            id in names or id.rpartition(".")[0] in names or now.label in labels_before or (now.op, now.op_name) in work
            for id, now in ((each[1], after.of[each]) for each in after.inside([key]))
        )
        now = after.of[key]
        if not tied and not any(op == now.op and op_name and now.op_name.endswith(f"/{op_name}") for op, op_name in inlined):
            if _is_same_expression(before, old, after, key):
                continue
            untied.append(key)
    names_before = {id for _, id in before.of}
    for key in reversed(untied):  # users are after what they take
        users = after.expressions.users(key) if key[1] not in names_before else set()
        others = users - ({*step.new} - {*untied})
        if users and all(_is_same_expression(before, old, after, user) for user in others):
            untied.remove(key)
    if not untied:
        return "right"
    elsewhere = [before.labelled.get(after.of[key].label, set()) for key in untied if after.of[key].label]
    return "wrong" if any(each and not each & old for each in elsewhere) else "for the eye"


def _is_same_expression(before: Text, old: Iterable[NodeKey], after: Text, new: NodeKey) -> bool:
    """Whether a node, or one inside it, computes what one of the nodes before computed, or the same elements in another order or shape: of
    the inputs of the program, or of instructions that kept their names."""
    those, news = [key for key in old if before.of[key].op not in _TRIVIAL], after.inside([new])
    return any(
        not {one.elements_of(key) for key in those}.isdisjoint(other.elements_of(key) for key in news if after.of[key].op not in _TRIVIAL)
        for one, other in ((before.expressions, after.expressions), _of_what_stayed(before, after))
    )


@lru_cache(maxsize=1)
def _of_what_stayed(before: Text, after: Text) -> tuple[Expressions, Expressions]:
    return before.expressions.of_what_stayed(after.expressions), after.expressions.of_what_stayed(before.expressions)


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


def measure(directory: Path, seed: int) -> list[Figure]:
    read = decisions()
    chance = random.Random(seed)
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
                by_script.append(judged(step, text(earlier), text(step.snapshot)))
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
        Figure("history of a node, slowest but the first", max(seconds[1:]), "s of CPU", name, len(recording), at_most=0.2),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=_SEED)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    sys.setrecursionlimit(200_000)  # expressions are as deep as programs
    figures = [figure for directory in arguments.directories for figure in measure(directory, arguments.seed)]
    for outcome in ("right", "incomplete", "for the eye", "wrong"):
        those = [figure for figure in figures if figure.name == f"histories: {outcome}" and figure.size]
        size = sum(figure.size or 0 for figure in those)
        share = sum((figure.value or 0) * (figure.size or 0) for figure in those) / size
        note = "; ".join(f"{figure.graph}: {figure.note}" for figure in those if figure.note)
        least, most = 97 if outcome == "right" else None, 0 if outcome == "wrong" else None
        figures.append(
            Figure(f"histories: {outcome}", share, "%", f"all {len(those)} dumps", size, at_least=least, at_most=most, note=note)
        )
    for figure in figures:
        goal = "" if figure.met is None else f" ({figure.target}: {'met' if figure.met else 'MISSED'})"
        print(f"{figure.graph}: {figure.name} {figure.value:.4g} {figure.unit} of {figure.size}{goal}")
    if arguments.keep:
        keep("histories", figures)


if __name__ == "__main__":
    main()
