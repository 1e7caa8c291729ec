"""DOT: what Graphviz accepts, with nested clusters and every view option, and no name that can break out of its quotes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from programs import F32, everything, programs

from opscope.loading import load
from opscope.program import Program, ProgramBuilder
from opscope.render.writers.dot import dot_of
from opscope.view_options import ViewOptions

needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


@pytest.fixture(scope="module")
def step(example: Path) -> Program:
    program = load(example)
    assert isinstance(program, Program)
    return program


def accepted(text: str) -> str:
    done = subprocess.run(["dot", "-Tplain"], input=text.encode("utf-8", "backslashreplace"), capture_output=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    return done.stdout.decode()


def boxes(text: str) -> list[str]:
    """The first lines of the labels of boxes, without frames."""
    return re.findall(r'^ *b\d+ \[label="((?:[^"\\]|\\[^n])+)', text, re.M)


def frames(text: str) -> list[str]:
    return re.findall(r'^ *label="((?:[^"\\]|\\[^n])+)', text, re.M)


@needs_graphviz
def test_graphviz_accepts_a_program_with_one_of_everything() -> None:
    plain = accepted(dot_of(everything(), ViewOptions()))
    assert "tanh" in plain and "send" in plain


@needs_graphviz
@settings(max_examples=20)
@given(programs())
def test_graphviz_accepts_any_names(program: Program) -> None:
    accepted(dot_of(program, ViewOptions()))


@needs_graphviz
def test_graphviz_accepts_a_training_step(step: Program) -> None:
    accepted(dot_of(step, ViewOptions(depth=2)))


def test_scopes_become_nested_clusters_that_open_once() -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    graph.node("x", "parameter", outputs=[F32], role="parameter")
    for i, scope in enumerate([("a", "b"), ("c",), ("a", "b"), ("a",), ()]):
        graph.node(str(i), "tanh", [("x", 0)], [F32], scope=scope)
    text = dot_of(builder.build(), ViewOptions())
    assert frames(text) == ["a", "b", "c"]
    assert boxes(text).count("tanh") == 5 and text.count("{") == text.count("}")


def test_called_graphs_are_drawn_inside_their_callers(step: Program) -> None:
    text = dot_of(step, ViewOptions())
    assert "log_softmax" in frames(text) and "layer_0" in frames(text) and "layer_2" in frames(text)
    assert "reduce: add" in boxes(text) and "region_" not in text


def test_the_view_options_are_honoured(step: Program) -> None:
    whole = dot_of(step, ViewOptions())
    shallow = dot_of(step, ViewOptions(depth=1))
    assert 0 < len(boxes(shallow)) < len(boxes(whole)) / 4
    assert "layer_0" not in frames(dot_of(step, ViewOptions(flatten=True)))
    alone = dot_of(step, ViewOptions(graph="log_softmax.28", rankdir="LR", theme="dark"))
    assert "exponential" in boxes(alone) and "dot" not in boxes(alone) and "rankdir=LR" in alone and '"#131316"' in alone
    near = dot_of(step, ViewOptions(around=(next(node.id for node in step.main if node.op == "dot"),), hops=1))
    assert "dot" in boxes(near) and 2 < len(boxes(near)) < 20
    by_partition = dot_of(everything(), ViewOptions(group_by="partition"))
    assert any("partition 0" in name for name in frames(by_partition)) and "layer_0" not in by_partition


def test_boxes_show_ids_when_asked() -> None:
    builder = ProgramBuilder("p")
    main = builder.graph("main")
    main.node("Arg_0.1", "parameter", (), (F32,), role="parameter")
    main.node("dot.105", "dot", [("Arg_0.1", 0)], (F32,))
    program = builder.build()
    assert "dot.105" in boxes(dot_of(program, ViewOptions(names=True)))
    assert "dot.105" not in boxes(dot_of(program, ViewOptions()))


def test_names_cannot_break_out_of_their_quotes() -> None:
    builder = ProgramBuilder('a"; b [label="')
    nasty = '\\"]; evil [label="\\N\n'
    builder.graph("g").node(nasty, nasty, outputs=[F32], scope=(nasty, nasty))
    text = dot_of(builder.build(), ViewOptions())
    assert not re.search(r"^\s*evil", text, re.M)
    without_strings = re.sub(r'"(?:[^"\\]|\\.)*"', "", text, flags=re.S)
    assert "evil" not in without_strings and without_strings.count("{") == without_strings.count("}")
