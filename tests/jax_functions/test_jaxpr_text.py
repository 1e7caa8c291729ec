"""The text panel shows a jaxpr as JAX prints it."""

from __future__ import annotations

import re
from typing import Any

import pytest

import opscope
from opscope.program import Program

pytestmark = pytest.mark.frameworks
jax = pytest.importorskip("jax")
jnp = jax.numpy


def lines_of(program: Program, graph: str) -> dict[str, str]:
    assert program.own_text is not None
    return dict(zip(program.graphs[graph].ids, program.own_text.lines(graph, 0, len(program.graphs[graph])), strict=True))


def printed(function: Any, *args: Any) -> list[str]:
    """The equations that JAX itself prints, each on one line: it breaks long parameters into several."""
    equations: list[str] = []
    for line in str(jax.make_jaxpr(function)(*args)).splitlines()[1:]:
        part = line.strip()
        if equations and equations[-1].count("[") > equations[-1].count("]"):
            equations[-1] += ("" if equations[-1].endswith("[") or part.startswith("]") else " ") + part
        elif not part.startswith("in ("):
            equations.append(part)
    return equations


def test_equations_are_written_as_jax_prints_them() -> None:
    def loss(x: Any, w: Any) -> Any:
        unused = x * 3
        del unused
        return jnp.sin(x @ w).sum()

    x, w = jnp.ones((2, 3)), jnp.ones((3, 4))
    lines = lines_of(opscope.capture(loss, x, w, stage="jaxpr"), "loss")
    assert lines.pop("x") == "a:f32[2,3]" and lines.pop("w") == "b:f32[3,4]"
    equations = [line for line in lines.values() if line]
    assert equations == printed(loss, x, w)
    assert equations[0] == "_:f32[2,3] = mul a 3.0:f32[]" and equations[-1].startswith("e:f32[] = reduce_sum[axes=(0, 1)")


def test_inner_jaxprs_are_named_and_letters_are_those_that_jax_prints() -> None:
    def steps(x: Any, w: Any) -> Any:
        x, _ = jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ w), None), x, None, length=3)
        return jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x) * 2

    x, w = jnp.ones((4, 4)), jnp.ones((4, 4))
    program = opscope.capture(steps, x, w, stage="jaxpr")
    lines = lines_of(program, "steps")
    scan, branch = lines["scan.1"], lines["cond.1"]
    assert re.fullmatch(r"c:f32\[4,4\] = scan\[ ?jaxpr=scan.1 length=3 .*\] b a", scan)
    assert "branches=cond.1.branches_0, cond.1.branches_1]" in branch and "lambda" not in branch
    letters = re.findall(r"(?m)^    (\w+):\S+ = (\w+)", str(jax.make_jaxpr(steps)(x, w)))
    ours = [re.match(r"(\w+):\S+ = (\w+)", line) for line in lines.values() if " = " in line]
    assert [match.groups() for match in ours if match] == letters
    assert lines_of(program, "scan.1")["tanh.1"].endswith("= tanh c")
