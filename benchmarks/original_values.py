"""Measures links across passes against XLA's own record: `original_value`, which says whose value an instruction has.

    python benchmarks/original_values.py               eight programs, compiled for the CPU
    python benchmarks/original_values.py DIRECTORY …   dumps of programs that were labelled with `--label` (for a GPU, say)
    python benchmarks/original_values.py --label TEXT.hlo DIRECTORY   compile a program for JAX's device with every instruction labelled

Before compiling, every instruction gets its own name as its original value; XLA moves these labels from pass to pass. opscope reads the
dump without them. "Right": a node is linked with one of its label. "Wrong": a node has the label of a node before the pass, but is linked
only with others, or one of its links leads to a node of another label although its own is still there. A node that keeps its name is right:
XLA gives it the label of what it was merged with, so from the first program to the last it has all labels that it had. "Missing": a label
that is on one node before and after, which are not linked. "Unsaid": a node whose label is gone is linked with what a near user of it
became, or with an equal node; XLA has one label per node, so it does not say what became of the others.
`--keep` appends the figures to benchmarks/results/original_values.jsonl.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from results import Figure, keep

from opscope.program import NodeKey, Program
from opscope.recording.diff import COMPOSED, Diff, diff_passes
from opscope.recording.history import compose
from opscope.recording.match.passing import VIEWS
from opscope.recording.model import Recording
from opscope.recording.sources import open_recording

_ORIGIN = re.compile(r", origin=\{((?:[^{}]|\{[^{}]*\})*)\}")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.-]+) = [a-z0-9]+\[")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%([\w.-]+) .*\{$")
_PASS = re.compile(r"\.\d{4}\.|before_optimizations")
_FARTHEST = 3
_OUTCOMES = ("right", "part", "unsaid", "wrong", "missing")
Labels = dict[NodeKey, str]


def compile_labelled(text: str, directory: Path) -> None:
    """Compile HLO with `xla_dump_to`, where the original value of every instruction is its name."""
    from jax._src.lib import xla_client
    from jax.extend.backend import get_backend
    from jaxlib._hlo import XlaComputation, hlo_module_from_text

    lines = [f'{line}, origin={{{{"{found[1]}"}}}}' if (found := _INSTRUCTION.match(line)) else line for line in text.splitlines()]
    computation = XlaComputation(hlo_module_from_text("\n".join(lines)).as_serialized_hlo_module_proto())
    options = xla_client.CompileOptions()
    options.env_option_overrides = [("xla_dump_to", str(directory)), ("xla_dump_hlo_pass_re", ".*")]
    backend = get_backend()
    source = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    backend.compile_and_load(source, xla_client.DeviceList(tuple(backend.local_devices()[:1])), options)


def without_labels(directory: Path, into: Path) -> dict[str, Labels]:
    """Write the texts of a dump without labels, and return these: for each file, those of all instructions that have one array."""
    labels: dict[str, Labels] = {}
    for path in sorted(directory.glob("*.txt")):
        if not _PASS.search(path.name):
            continue
        text, graph, found = path.read_text(), "", {}
        for line in text.splitlines():
            if head := _COMPUTATION.match(line):
                graph = head[1]
            elif (instruction := _INSTRUCTION.match(line)) and (origin := _ORIGIN.search(line)):
                found[graph, instruction[1]] = origin[1]
        if not found:
            raise SystemExit(f"{path.name} has no original values; label the program first (--label)")
        labels[path.name] = found
        (into / path.name).write_text(_ORIGIN.sub("", text))
    return labels


def all_labels(files: list[Labels]) -> dict[NodeKey, frozenset[str]]:
    """All labels that the nodes of the last program had on their way. A node that keeps its name keeps them. A new one has what all nodes
    with its label had before."""
    had = {key: frozenset([label]) for key, label in files[0].items()}
    for before, after in pairwise(files):
        if before is after:
            continue
        named: dict[str, frozenset[str]] = {}
        labelled: dict[str, frozenset[str]] = {}
        for key, label in before.items():
            named[key[1]] = named.get(key[1], had[key]) & had[key]
            labelled[label] = labelled.get(label, had[key]) & had[key]
        had = {key: named.get(key[1], labelled.get(label, frozenset())) | {label} for key, label in after.items()}
    return had


def judged(
    difference: Diff, before: Labels, after: Labels, show: str = "", had: Mapping[NodeKey, frozenset[str]] | None = None
) -> Counter[tuple[str, str]]:
    """{(kind of link, outcome): how many} for every node after a pass that has a label of before; a kind is the evidence, "merged" or
    "copied". `had` is what `all_labels` says, for a comparison over several passes."""
    was, now = _nodes_with(before), _nodes_with(after)
    had, flow, result = had or {}, _Flow(difference.a, before, set(now)), _Flow(difference.b, after, set())
    links: dict[NodeKey, dict[NodeKey, str]] = defaultdict(dict)
    sources: dict[NodeKey, set[NodeKey]] = defaultdict(set)
    for match in difference.matched:
        for old in match.a:
            for new in match.b:
                kind = match.evidence
                if kind != "slot" and (old != match.a[-1] or len(match.b) > 1):
                    kind = "merged" if old != match.a[-1] else "copied"
                links[old][new] = kind
                sources[new].add(old)
    counts: Counter[tuple[str, str]] = Counter()
    for old, news in links.items():
        label = before.get(old)
        own = now.get(label, ()) if label else ()
        elsewhere = [each for each in own if before.get(each) != label]  # a node that had the label before is that node still
        for new, kind in news.items():
            other = after.get(new)
            if new in own or (old[1] == new[1] and kind == "name") or label in had.get(new, ()):
                counts[kind, "right"] += 1
            elif any(each in news for each in own):
                counts[kind, "part"] += 1
            elif other in was and (elsewhere or not any(before.get(each) == other for each in sources[new])):
                is_unsaid = not elsewhere and any(flow.leads(old, each) or flow.is_same(old, each) for each in was[other])
                counts[kind, "unsaid" if is_unsaid else "wrong"] += 1
                if show and not is_unsaid:
                    print(f"  {show}: {old[1]} ({label}) became {new[1]} ({other}) by {kind}; it is {[id for _, id in own][:3]}")
    for label, olds in was.items():
        homes = now.get(label, [])
        if len(olds) == len(homes) == 1:
            found = olds[0][1] == homes[0][1] or any(each in links[olds[0]] for each in result.behind(homes[0]))
            counts["one node before and after", "right" if found else "part" if links[olds[0]] else "missing"] += 1
            if show and not found:
                names = [id for _, id in links[olds[0]]][:3]
                print(f"  {show}: {olds[0][1]} ({label}) is {homes[0][1]}, not {names or 'gone'}")
    return counts


class _Flow:
    """How values flow through a program with labels. A parameter of a called graph has the value that its only caller passes, and a call
    has the value that the called graph returns, and so uses it."""

    def __init__(self, program: Program, labels: Labels, kept: set[str]) -> None:
        self._program, self._labels, self._kept = program, labels, kept
        self._callers: dict[str, list[NodeKey]] = defaultdict(list)
        self._users: dict[NodeKey, list[NodeKey]] = defaultdict(list)
        for graph in program:
            for node in graph:
                for called in node.calls:
                    self._callers[called].append((graph.name, node.id))
                    for returned, _ in program[called].outputs:
                        self._users[called, returned].append((graph.name, node.id))
                for operand in dict.fromkeys(operand for operand, _ in node.inputs):
                    self._users[graph.name, operand].append((graph.name, node.id))

    def leads(self, start: NodeKey, end: NodeKey) -> bool:
        """Whether a value is used, perhaps through others, for another, and none of these exists after the pass: its label, which is all
        that XLA says, is only on the last of them."""
        reached = {start}
        for _ in range(_FARTHEST):
            users = {user for key in reached for user in self._users[key]}
            if end in users:
                return True
            reached = {user for user in users if self._labels.get(user, "") not in self._kept}
        return False

    def is_same(self, one: NodeKey, other: NodeKey) -> bool:
        """Whether two nodes do the same with the same operands."""
        first, second = (self._program[graph][id] for graph, id in (one, other))
        work = [{name: value for name, value in node.attrs.items() if not name.startswith("metadata.")} for node in (first, second)]
        return (first.op, first.outputs, first.inputs, work[0]) == (second.op, second.outputs, second.inputs, work[1])

    def behind(self, key: NodeKey) -> Iterator[NodeKey]:
        """The node, and what it only passes on or rearranges, as long as that has no label of its own: XLA labels the last of several
        nodes that replace one."""
        yield key
        while (before := self._passed_on(key)) is not None and before not in self._labels:
            key = before
            yield key

    def _passed_on(self, key: NodeKey) -> NodeKey | None:
        graph = self._program[key[0]]
        node = graph[key[1]]
        if node.op in VIEWS and len(node.inputs) == 1:
            return graph.name, node.inputs[0][0]
        callers = self._callers[graph.name]
        if node.is_argument and len(callers) == 1:
            caller = self._program[callers[0][0]][callers[0][1]]
            number = int(node.attrs.get("parameter_number", len(caller.inputs)))
            return (callers[0][0], caller.inputs[number][0]) if number < len(caller.inputs) else None
        if len(node.calls) == 1 and len(outputs := self._program[node.calls[0]].outputs) == 1:
            return node.calls[0], outputs[0][0]
        return None


def _nodes_with(labels: Labels) -> dict[str, list[NodeKey]]:
    nodes: dict[str, list[NodeKey]] = defaultdict(list)
    for key, label in labels.items():
        nodes[label].append(key)
    return nodes


def twins(recording: Recording) -> tuple[int, int]:
    """How many nodes are said to be merged into another, and how many of these have a twin: a new node with the same op and op_name."""
    merged = doubtful = 0
    for difference in _diffs(recording):
        nodes = [difference.b[graph][id] for graph, id in difference.added]
        added = {(node.op, node.attrs.get("metadata.op_name", "")) for node in nodes}
        for match in difference.compared:
            if len(match.a) > 1 and match.evidence not in ("slot", "rewrite"):
                for graph, id in match.a[:-1]:
                    node = difference.a[graph][id]
                    merged += 1
                    doubtful += bool(node.attrs.get("metadata.op_name")) and (node.op, node.attrs["metadata.op_name"]) in added
    return merged, doubtful


def rows_that_do_not_add_up(recording: Recording) -> tuple[int, int]:
    rows = wrong = 0
    for diff in _diffs(recording):
        gained = len(diff.all_added) + diff.copied - len(diff.all_removed) - diff.merged
        rows += 1
        wrong += diff.a.node_count + gained != diff.b.node_count
    return rows, wrong


def _diffs(recording: Recording) -> Iterator[Diff]:
    for snapshot in recording:
        difference = None if recording.repeats(snapshot) else recording.diff(snapshot.index)
        if difference is not None:
            yield difference


def measure(directory: Path, show: bool) -> list[Figure]:
    os.environ["OPSCOPE_CACHE"] = "off"
    with tempfile.TemporaryDirectory() as temporary:
        labels = without_labels(directory, Path(temporary))
        recording = open_recording(temporary)
        files = [labels[snapshot.attrs.get("file") or next(iter(sorted(labels, key=_first)))] for snapshot in recording]
        single: Counter[tuple[str, str]] = Counter()
        for at in range(1, len(recording)):
            difference = None if recording.repeats(recording[at]) else recording.diff(recording[at].index)
            if difference is not None:
                single += judged(difference, files[at - 1], files[at], f"{at} {recording[at].name}" if show else "")
        first, last = recording[0], recording[-1]
        composed = diff_passes(first.program, last.program, origins=compose(recording, first, last), ids=COMPOSED)
        whole = judged(composed, files[0], files[-1], "first to last" if show else "", all_labels(files))
        merged, doubtful = twins(recording)
        rows, wrong = rows_that_do_not_add_up(recording)
    name = directory.name
    return [
        *_table(f"{name}, pass by pass", single),
        *_table(f"{name}, from first to last", whole),
        Figure("merged nodes that have a twin", 100 * doubtful / max(1, merged), "%", name, merged, at_most=1),
        Figure("rows that do not add up", wrong, "", name, rows, at_most=0),
    ]


def _first(name: str) -> bool:
    return "before_optimizations" not in name


def _table(title: str, counts: Counter[tuple[str, str]]) -> list[Figure]:
    figures = []
    print(f"{title:50} {'nodes':>8} " + " ".join(f"{outcome:>9}" for outcome in _OUTCOMES))
    for kind in sorted({kind for kind, _ in counts}):
        total = sum(counts[kind, outcome] for outcome in _OUTCOMES)
        shares = {outcome: 100 * counts[kind, outcome] / total for outcome in _OUTCOMES}
        print(f"  {kind:48} {total:8,} " + " ".join(f"{share:8.2f}%" for share in shares.values()))
        whole = kind == "one node before and after"
        figures.append(Figure(f"{kind}: right", shares["right"], "%", title, total, at_least=95 if whole else None))
        if not whole:
            figures.append(Figure(f"{kind}: wrong", shares["wrong"], "%", title, total, at_most=1))
    judged = {kind for kind, _ in counts} - {"one node before and after"}
    right, wrong, unsaid = (sum(counts[kind, outcome] for kind in judged) for outcome in ("right", "wrong", "unsaid"))
    figures.append(Figure("precision of links", 100 * right / max(1, right + wrong), "%", title, at_least=99))
    figures.append(Figure("precision of links, unsaid as wrong", 100 * right / max(1, right + wrong + unsaid), "%", title))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="*", type=Path)
    parser.add_argument("--label", type=Path, help="compile this HLO with labels, and write its dump into the directory")
    parser.add_argument("--wrong", action="store_true", help="also print wrong and missing links")
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    if arguments.label:
        compile_labelled(arguments.label.read_text(), arguments.directories[0])
        return
    figures = [figure for directory in arguments.directories for figure in measure(directory, arguments.wrong)]
    if not arguments.directories:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        from labelled_programs import programs

        with tempfile.TemporaryDirectory() as temporary:
            for name, lowered in programs():
                directory = Path(temporary) / name
                compile_labelled(lowered.as_text(dialect="hlo", debug_info=True), directory)
                figures += measure(directory, arguments.wrong)
                shutil.rmtree(directory)
    for figure in figures:
        if figure.met is not None:
            print(
                f"{'met   ' if figure.met else 'MISSED'} {figure.graph}: {figure.name} {figure.value:.4g} {figure.unit} ({figure.target})"
            )
    if arguments.keep:
        keep("original_values", figures)


if __name__ == "__main__":
    main()
