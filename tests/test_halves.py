"""Halves without names, on samples that need no framework: a real step with every kind of control flow, and hostile shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from opscope.analysis.directions import directions
from opscope.analysis.halves import with_halves
from opscope.analysis.halves.propagate import Propagation, TooIntricateError
from opscope.analysis.halves.seed import candidates
from opscope.program import BACKWARD, INFERRED_ATTR, RECOMPUTED, UPDATE, ProgramBuilder, TensorType
from opscope.readers import read
from opscope.readers.hlo.module import parse_hlo
from opscope.readers.source import Source

SAMPLES = Path(__file__).resolve().parent / "samples" / "hlo"


def test_a_step_with_a_loop_a_branch_a_sort_and_a_recomputed_layer() -> None:
    (named,), (plain,) = (read(Source(SAMPLES / name)) for name in ("step_lowered.hlo", "step_short.hlo"))
    inferred = with_halves(plain)
    truth, marks = directions(named), directions(inferred)
    for graph in named:
        wrong = [
            (node.id, stated, mark)
            for node, stated, mark in zip(graph, truth[graph.name], marks[graph.name], strict=True)
            if node.role == "op" and mark != (BACKWARD if stated == RECOMPUTED else stated)  # only names say what is recomputed
        ]
        assert wrong == []
    assert {BACKWARD, UPDATE} < set(marks[plain.entry]) and INFERRED_ATTR in inferred.attrs


def test_a_program_with_names_is_left_alone() -> None:
    (named,) = read(Source(SAMPLES / "step_lowered.hlo"))
    assert with_halves(named) is named


@pytest.mark.slow
def test_nothing_is_recursive_over_calls_or_depth() -> None:
    """3,000 graphs that call each other, and a graph that calls itself, which no compiler writes."""
    calls = "".join(
        f"f{i} {{\n  p{i} = f32[4]{{0}} parameter(0)\n  ROOT c{i} = f32[4]{{0}} call(p{i}), to_apply=f{i + 1}\n}}\n\n" for i in range(3000)
    )
    last = "f3000 {\n  q = f32[4]{0} parameter(0)\n  ROOT n = f32[4]{0} negate(q)\n}\n\n"
    main = """ENTRY main {
  x = f32[4]{0} parameter(0)
  c = f32[] constant(2)
  b = f32[4]{0} broadcast(c), dimensions={}
  m = f32[4]{0} multiply(x, b)
  ROOT r = f32[4]{0} call(m), to_apply=f0
}
"""
    (program,) = parse_hlo("HloModule deep\n\n" + calls + last + main)
    propagation = Propagation(program, candidates(program))
    assert propagation.entry.results[0].linear == 1
    assert with_halves(program) is program


def test_a_program_that_would_take_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    (plain,) = read(Source(SAMPLES / "step_short.hlo"))
    monkeypatch.setattr("opscope.analysis.halves.propagate._MOST_VISITS", -100)
    with pytest.raises(TooIntricateError):
        Propagation(plain, candidates(plain))
    assert with_halves(plain) is plain


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div", "neg", "reshape", "broadcast_in_dim"])
def test_operations_with_too_few_operands_are_looked_at_like_any_other(op: str) -> None:
    """A program of another tool may keep a number as an attribute: add(x, 1) has one operand."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    main.node("none", op, [], [TensorType("f32")])
    main.node("one", op, [("none", 0)], [TensorType("f32")])
    main.outputs.append(("one", 0))
    assert len(with_halves(builder.build()).main) == 2


def test_a_cycle_of_numbers_ends() -> None:
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    for name, operand in (("a", "b"), ("b", "a")):
        main.node(name, "neg", [(operand, 0)], [TensorType("f32")])
    main.outputs.append(("b", 0))
    assert len(with_halves(builder.build()).main) == 2
