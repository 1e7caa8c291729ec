"""How many links of backward operations lead to the line that they differentiate, and whether what is saved is what JAX says.

    python benchmarks/backward_lines.py [--keep] [--links] [STEP …]

The truth is not read by opscope: names and stack frames come from the texts of StableHLO and HLO and from JAX's equations. JAX keeps the
line of an operation through transposition, so a right link leads to a forward operation of the same line, or, for the backward function of
a custom_vjp, which has the line of its call, to one of the function that has this rule, called from this line. Where several calls share a
line, the truth is that of a twin with each of them on a line of its own.

What jax.checkpoint computes again is of two kinds. A repeat has a forward operation of its line with the same operation, type, constants
and operands, as far back as the recomputation goes; its link must lead to such a one. The others are steps of derivatives (the 2·x of x²,
the comparisons of a maximum), which nothing in the forward half computes; theirs must lead to the line that they differentiate.
Saved values are compared with `saved_residuals`, unless only `--links` are asked for.
`--keep` appends the figures to benchmarks/results/backward_lines.jsonl.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
from jax._src.ad_checkpoint import saved_residuals
from jax._src.source_info_util import user_frames
from jax_steps import STEPS, Step
from results import Figure, keep

import opscope
from opscope.analysis.gradients import with_backward_links
from opscope.ops import plain_name
from opscope.program import BACKWARD_OF, RECOMPUTES, Node, NodeKey, Program
from opscope.render.saved import saved_for_backward

Lines = tuple[tuple[str, int, str], ...]
"""Files, lines and functions."""


_LOOP = re.compile(r"/while/(?:body/(?:jit\(dynamic_\w+\)/)?[^/]*|cond.*)$")
"""What a loop does beside its body: its counter, and slices of stacks."""


class Place(NamedTuple):
    """Where an operation comes from: JAX's names around it, and lines of source, innermost first."""

    names: str
    lines: Lines
    computes: bool = True
    """Calls and what only passes values on do not."""

    @property
    def is_recomputed(self) -> bool:
        return self.computes and "rematted_computation" in self.names

    @property
    def is_backward(self) -> bool:
        """Counters and slices of a loop are not: they have no derivative."""
        return self.computes and "transpose(" in self.names and not self.is_recomputed and not _LOOP.search(self.names)


_SECTION = re.compile(r"^(FileNames|FunctionNames|FileLocations|StackFrames)\n((?:\d+ .*\n)+)", re.M)
_FIELD = re.compile(r"(\w+)=(\d+)")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^  (?:ROOT )?%?([\w.\-]+) = (.*)$")
_CALLED = re.compile(r"(?:to_apply|body|condition|calls)=%?([\w.\-]+)")
_MOVES = re.compile(r" (?:parameter|constant|tuple|get-tuple-element|call|while|conditional|opt-barrier|custom-call)\(")
_COMBINES = re.compile(r" (?:reduce|reduce-window|scatter|select-and-scatter|sort|all-reduce)\(")


def places_of_hlo(text: str) -> dict[NodeKey, Place]:
    """Those of the instructions, with the names of the calls around them. Reducers are left out."""
    rows = {name: dict(row.split(" ", 1) for row in body.splitlines()) for name, body in _SECTION.findall(text)}

    def lines(frame: int) -> Iterator[tuple[str, int, str]]:
        while frame > 0:
            fields = dict(_FIELD.findall(rows["StackFrames"][str(frame)]))
            location = dict(_FIELD.findall(rows["FileLocations"][fields["file_location_id"]]))
            function = rows["FunctionNames"][location["function_name_id"]].strip('"')
            yield rows["FileNames"][location["file_name_id"]], int(location["line"]), function
            frame = int(fields["parent_frame_id"]) - 1  # printed plus one

    found: dict[NodeKey, Place] = {}
    prefixes: dict[str, str] = {}
    reducers: set[str] = set()
    graph = ""
    instructions: list[tuple[str, str, str]] = []
    for row in text.splitlines():
        if match := _COMPUTATION.match(row):
            graph = match[1]
        elif match := _INSTRUCTION.match(row):
            instructions.append((graph, match[1], match[2]))
    for graph, name, rest in reversed(instructions):  # callers are printed after what they call
        op_name, frame = re.search(r'op_name="([^"]*)"', rest), re.search(r"stack_frame_id=(\d+)", rest)
        names = f"{prefixes.get(graph, '')}/{op_name[1] if op_name else ''}"
        for called in _CALLED.findall(rest):
            prefixes[called] = names
            if _COMBINES.search(rest):
                reducers.add(called)
        if frame:
            found[graph, name] = Place(names, tuple(lines(int(frame[1]))), not _MOVES.search(rest))
    return {key: place for key, place in found.items() if key[0] not in reducers and place.lines}


_LOCATION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.M)
_FUNCTION = re.compile(r"^  func\.func \w+ @([\w.\-]+)\(")
_OPERATION = re.compile(r'^ *(%[\w.\-]+)(?::\d+)? = "?([\w.]+)"?')
_LOCATED = re.compile(r"loc\((#loc\d*)\)$")
_NAMED, _CALLSITE, _FILE = re.compile(r'"(.*)"\((.*)\)'), re.compile(r"callsite\((.*) at (.*)\)"), re.compile(r'("[^"]*"):(\d+):.*')
_MOVES_IN_MLIR = frozenset(
    ["call", "func.call", "stablehlo.constant", "stablehlo.while", "stablehlo.case", "stablehlo.optimization_barrier"]
)


def places_of_stablehlo(text: str) -> dict[NodeKey, Place]:
    """Those of the operations, with the names of the calls around them. Reducers are left out."""
    aliases = dict(_LOCATION.findall(text))

    def lines(location: str) -> Iterator[tuple[str, int, str]]:
        waiting, function = [location], ""
        while waiting:
            location = aliases.get(waiting[-1], waiting[-1])
            waiting.pop()
            if match := _FILE.fullmatch(location):
                yield match[1], int(match[2]), function
            elif match := _CALLSITE.fullmatch(location):
                waiting += [match[2], match[1]]
            elif match := _NAMED.fullmatch(location):
                function = match[1]
                waiting.append(match[2])

    operations: list[tuple[str, str, str, str, str]] = []
    graphs: list[str] = []
    node = ""
    for row in text.splitlines():
        words = row.strip()
        if match := _FUNCTION.match(row):
            graphs = [match[1]]
        elif words == "cond {":
            graphs.append(f"{graphs[-1]}/{node}.0")
        elif words == "} do {":
            graphs[-1] = f"{graphs[-1][:-2]}.1"
        elif words.startswith("}"):
            graphs = graphs[:-1]
        elif match := _OPERATION.match(row):
            node = match[1]
            located, callee = _LOCATED.search(row), re.search(r" @([\w.\-]+)\(", row)
            operations.append((graphs[-1], node, match[2], located[1] if located else "", callee[1] if callee else ""))
            if row.endswith("({"):
                graphs.append("")  # what a scatter does with two values
    found: dict[NodeKey, Place] = {}
    prefixes: dict[str, str] = {}
    for graph, node, op, location, called in operations:  # callers are printed before what they call
        named = _NAMED.fullmatch(aliases.get(location, ""))
        names = f"{prefixes.get(graph.partition('/')[0], '')}/{named[1] if named else ''}"
        if called:
            prefixes[called] = names
        if graph and named:
            found[graph, node] = Place(names, tuple(lines(location)), op not in _MOVES_IN_MLIR)
    return {key: place for key, place in found.items() if place.lines}


def places_of_jaxpr(program: Program, jaxpr: Any) -> dict[NodeKey, Place]:
    """Those of the equations. Graphs have the equations of their jaxpr in its order."""
    places: dict[NodeKey, Place] = {}
    waiting = [(program.entry, jaxpr, "")]
    while waiting:
        name, jaxpr, around = waiting.pop()
        nodes = [node for node in program[name] if node.role == "op"]
        for node, equation in zip(nodes, jaxpr.eqns, strict=True):
            assert node.op == str(equation.primitive), (node.op, equation.primitive)
            names = f"{around}/{equation.source_info.name_stack}/{equation.primitive}"
            inner = [each for value in equation.params.values() for each in (value if isinstance(value, tuple | list) else (value,))]
            jaxprs = [getattr(each, "jaxpr", each) for each in inner if hasattr(getattr(each, "jaxpr", each), "eqns")]
            waiting += [(called, each, names) for called, each in zip(node.calls, jaxprs, strict=False)]
            lines = tuple((frame.file_name, frame.start_line, frame.function_name) for frame in user_frames(equation.source_info.traceback))
            places[name, node.id] = Place(names, lines, not node.calls)
    return {key: place for key, place in places.items() if place.lines}


class Counts(NamedTuple):
    backward: int
    linked: int
    right: int
    repeats: int
    repeats_right: int
    """Those that are linked to a forward operation that they may repeat."""
    derived: int
    """Recomputed operations that repeat nothing."""
    derived_right: int


_PARAMETERS = ("y", "direction", "comparison_direction", "dimensions", "axes", "permutation", "dimension_numbers", "slice")
"""Attributes that make another operation of one: x² and x³, = and <."""
_LEAVES = frozenset(["get_tuple_element", "opt_barrier", "optimization_barrier", "dynamic_slice", "while", "scan"])


class Repeated:
    """Which recomputed operations have a forward one that they repeat."""

    def __init__(self, program: Program, places: dict[NodeKey, Place]) -> None:
        self._program = program
        self._places = places
        self._equal: dict[tuple[NodeKey, NodeKey], bool] = {}
        self._of_line: dict[tuple[str, int, str], list[NodeKey]] = {}
        for key, place in places.items():
            if not place.is_recomputed and "transpose(" not in place.names:
                self._of_line.setdefault(place.lines[0], []).append(key)

    def is_repeat(self, key: NodeKey) -> bool:
        """Other modules run the same lines."""
        names, lines, _ = self._places[key]
        within = names.rpartition("rematted_computation")[2]
        forwards = [each for each in self._of_line.get(lines[0], ()) if self._places[each].names.endswith(within)]
        return any(self.repeats(key, forward) for forward in forwards)

    def repeats(self, key: NodeKey, forward: NodeKey) -> bool:
        known = self._equal.get((key, forward))
        if known is None:
            known = self._equal[key, forward] = self._compare(key, forward)
        return known

    def _compare(self, key: NodeKey, forward: NodeKey) -> bool:
        """Operands that come from outside, or that one half has and the other receives, are equal if their types are."""
        ours, theirs = (self._program[graph][name] for graph, name in (key, forward))
        if ours.op != theirs.op or ours.outputs[:1] != theirs.outputs[:1] or len(ours.inputs) != len(theirs.inputs):
            return False
        if ours.role == "constant":
            return ours.attrs.get("value") == theirs.attrs.get("value")
        if not ours.calls and any(ours.attrs.get(name) != theirs.attrs.get(name) for name in _PARAMETERS):
            return False
        for (mine, output), (its, other) in zip(ours.inputs, theirs.inputs, strict=True):
            first, second = self._program[key[0]][mine], self._program[forward[0]][its]
            if self._is_leaf(first) or self._is_leaf(second):
                if first.outputs[output] != second.outputs[other]:
                    return False
            elif not self.repeats((key[0], mine), (forward[0], its)):
                return False
        return True

    def _is_leaf(self, node: Node) -> bool:
        return node.is_argument or bool(node.calls) or plain_name(node.op) in _LEAVES


def comes_from(place: Place, forward: Place, rules: frozenset[str]) -> bool:
    """Whether a forward operation has the line of another, or is in a function with a rule that this line called."""
    calls = zip(forward.lines, forward.lines[1:], strict=False)
    return place.lines[0] == forward.lines[0] or any(caller == place.lines[0] and callee[2] in rules for callee, caller in calls)


def count(program: Program, places: dict[NodeKey, Place], rules: frozenset[str]) -> Counts:
    linked = with_backward_links(program)
    places = {key: place for key, place in places.items() if key[1] in program[key[0]].position}
    truth = Repeated(program, places)

    def targets(key: NodeKey, kind: str) -> list[NodeKey]:
        links = [link for link in linked[key[0]][key[1]].links if link.kind == kind]
        return [target for link in links if (target := (link.graph or key[0], link.node)) in places]

    def right(key: NodeKey, kind: str) -> bool:
        forwards = targets(key, kind)
        return bool(forwards) and all(comes_from(places[key], places[forward], rules) for forward in forwards)

    backward = [key for key, place in places.items() if place.is_backward]
    recomputed = [key for key, place in places.items() if place.is_recomputed]
    repeats = [key for key in recomputed if truth.is_repeat(key)]
    derived = [key for key in recomputed if not truth.is_repeat(key)]
    return Counts(
        len(backward),
        sum(bool(targets(key, BACKWARD_OF)) for key in backward),
        sum(right(key, BACKWARD_OF) for key in backward),
        len(repeats),
        sum(right(key, RECOMPUTES) and any(truth.repeats(key, forward) for forward in targets(key, RECOMPUTES)) for key in repeats),
        len(derived),
        sum(right(key, BACKWARD_OF) for key in derived),
    )


def links_of(step: Step) -> dict[str, Counts]:
    traced = jax.jit(step.train).trace(*step.arguments)
    lowered = traced.lower()
    if step.apart:
        jax.clear_caches()  # functions that both call have the lines of the first call otherwise
    apart = jax.jit(step.apart).trace(*step.arguments) if step.apart else traced
    lowered_apart = apart.lower()
    jaxpr = opscope.capture(traced.jaxpr)
    stages = {
        "jaxpr": (jaxpr, places_of_jaxpr(jaxpr, apart.jaxpr.jaxpr)),
        "stablehlo": (opscope.capture(lowered, stage="stablehlo"), places_of_stablehlo(lowered_apart.as_text(debug_info=True))),
        "hlo": (opscope.capture(lowered, stage="hlo"), places_of_hlo(lowered_apart.as_text("hlo", debug_info=True))),
    }
    return {stage: count(program, places, step.rules) for stage, (program, places) in stages.items()}


def saved_of(step: Step) -> dict[str, tuple[int, int]]:
    """How many values are saved, and their bytes: as JAX says, without arguments and literals, and as opscope says."""
    residuals = [kind for kind, source in saved_residuals(step.loss, *step.loss_arguments) if not source.startswith("from ")]
    saved = {"JAX": (len(residuals), sum(kind.size * kind.dtype.itemsize for kind in residuals))}
    for stage in ("jaxpr", "stablehlo", "hlo", "optimized"):
        values = saved_for_backward(opscope.capture(step.train, *step.arguments, stage=stage))
        saved[stage] = len(values), sum(value.bytes or 0 for value in values)
    return saved


def main(words: list[str]) -> None:
    warnings.filterwarnings("ignore")
    names = [word for word in words if not word.startswith("--")] or list(STEPS)
    figures = []
    print(f"{'step':24} {'stage':9} {'backward':>8} {'linked':>7} {'same line':>16} ", end="")
    print(f"{'repeats':>8} {'right':>16} {'derived':>8} {'same line':>16}")
    for name in names:
        for stage, counts in links_of(STEPS[name]()).items():
            parts = [
                (counts.backward, counts.right, "links to the same line"),
                (counts.repeats, counts.repeats_right, "recomputed operations linked to what they repeat"),
                (counts.derived, counts.derived_right, "recomputed steps of derivatives linked to their line"),
            ]
            cells = [f"{right} ({100 * right / every:.1f} %)" if every else "" for every, right, _ in parts]
            print(f"{name:24} {stage:9} {counts.backward:8} {counts.linked:7} {cells[0]:>16} ", end="")
            print(f"{counts.repeats:8} {cells[1]:>16} {counts.derived:8} {cells[2]:>16}")
            for every, right, title in parts:
                if every:
                    figures.append(Figure(title, 100 * right / every, "%", f"{name} ({stage})", every, at_least=95))
            figures.append(
                Figure("links to another line", counts.linked - counts.right, "", f"{name} ({stage})", counts.backward, at_most=0)
            )
    if "--links" in words:
        names = []
    else:
        print(f"\n{'step':24} {'':10} {'values':>7} {'bytes':>12}")
    for name in names:
        saved = saved_of(STEPS[name]())
        for stage, (values, size) in saved.items():
            print(f"{name if stage == 'JAX' else '':24} {stage:10} {values:7} {size:12,}")
            if stage not in ("JAX", "optimized"):
                share = 100 * size / saved["JAX"][1]
                figures.append(Figure("bytes saved for backward, of saved_residuals", share, "%", f"{name} ({stage})", values))
    if "--keep" in words:
        keep("backward_lines", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
