"""How many links of backward operations lead to the line that they differentiate, and whether what is saved is what JAX says.

    python benchmarks/backward_lines.py [--keep] [--links] [STEP …]

The truth is not read by opscope: names and stack frames come from the text of XLA and from JAX's equations. JAX keeps the line of an
operation through transposition, so a right link leads to a forward operation of the same line, or, for the backward function of a
custom_vjp, which has the line of its call, to one that this line called. Saved values are compared with `saved_residuals`,
unless only `--links` are asked for.
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
from opscope.program import BACKWARD_OF, RECOMPUTES, NodeKey, Program
from opscope.render.saved import saved_for_backward

Lines = tuple[tuple[str, int], ...]


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


_SECTION = re.compile(r"^(FileNames|FileLocations|StackFrames)\n((?:\d+ .*\n)+)", re.M)
_FIELD = re.compile(r"(\w+)=(\d+)")
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^  (?:ROOT )?%?([\w.\-]+) = (.*)$")
_CALLED = re.compile(r"(?:to_apply|body|condition|calls)=%?([\w.\-]+)")
_MOVES = re.compile(r" (?:parameter|constant|tuple|get-tuple-element|call|while|conditional|opt-barrier|custom-call)\(")
_COMBINES = re.compile(r" (?:reduce|reduce-window|scatter|select-and-scatter|sort|all-reduce)\(")


def places_of_hlo(text: str) -> dict[NodeKey, Place]:
    """Those of the instructions, with the names of the calls around them. Reducers are left out."""
    rows = {name: dict(row.split(" ", 1) for row in body.splitlines()) for name, body in _SECTION.findall(text)}

    def lines(frame: int) -> Iterator[tuple[str, int]]:
        while frame > 0:
            fields = dict(_FIELD.findall(rows["StackFrames"][str(frame)]))
            location = dict(_FIELD.findall(rows["FileLocations"][fields["file_location_id"]]))
            yield rows["FileNames"][location["file_name_id"]], int(location["line"])
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
            lines = tuple((frame.file_name, frame.start_line) for frame in user_frames(equation.source_info.traceback))
            places[name, node.id] = Place(names, lines, not node.calls)
    return {key: place for key, place in places.items() if place.lines}


class Counts(NamedTuple):
    backward: int
    linked: int
    right: int
    recomputed: int
    repeats: int
    """Recomputed operations that are linked to one of their line."""


def count(program: Program, places: dict[NodeKey, Place]) -> Counts:
    linked = with_backward_links(program)

    def targets(key: NodeKey, kind: str) -> list[Place]:
        links = [link for link in linked[key[0]][key[1]].links if link.kind == kind]
        return [places[target] for link in links if (target := (link.graph or key[0], link.node)) in places]

    def right(key: NodeKey, kind: str) -> bool:
        return any(places[key].lines[0] in forward.lines for forward in targets(key, kind))

    backward = [key for key, place in places.items() if place.is_backward]
    recomputed = [key for key, place in places.items() if place.is_recomputed]
    return Counts(
        len(backward),
        sum(bool(targets(key, BACKWARD_OF)) for key in backward),
        sum(right(key, BACKWARD_OF) for key in backward),
        len(recomputed),
        sum(right(key, RECOMPUTES) for key in recomputed),
    )


def links_of(step: Step) -> dict[str, Counts]:
    traced = jax.jit(step.train).trace(*step.arguments)
    text = traced.lower().as_text("hlo", debug_info=True)
    program = opscope.capture(traced.jaxpr)
    return {
        "jaxpr": count(program, places_of_jaxpr(program, traced.jaxpr.jaxpr)),
        "hlo": count(opscope.capture(traced.lower(), stage="hlo"), places_of_hlo(text)),
    }


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
    print(f"{'step':24} {'stage':6} {'backward':>8} {'linked':>7} {'same line':>16} {'recomputed':>11} {'same line':>16}")
    for name in names:
        for stage, counts in links_of(STEPS[name]()).items():
            share = 100 * counts.right / counts.backward
            repeats = f"{counts.repeats} ({100 * counts.repeats / counts.recomputed:.1f} %)" if counts.recomputed else ""
            right = f"{counts.right} ({share:.1f} %)"
            print(f"{name:24} {stage:6} {counts.backward:8} {counts.linked:7} {right:>16} {counts.recomputed:11} {repeats:>16}")
            figures.append(Figure("links to the same line", share, "%", f"{name} ({stage})", counts.backward, at_least=95))
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
