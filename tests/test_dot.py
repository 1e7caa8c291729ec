"""DOT: what Graphviz accepts, with nested clusters and every view option, and no name that can break out of its quotes."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from programs import F32, everything, programs
from support.graphviz import render

from opscope.loading import load
from opscope.program import Program, ProgramBuilder
from opscope.render.draw.picture import draw
from opscope.render.writers.dot import dot_of
from opscope.view_options import ViewOptions

QUOTED = r'"(?:[^"\\]|\\.)*"'


@pytest.fixture(scope="module")
def step(example: Path) -> Program:
    program = load(example)
    assert isinstance(program, Program)
    return program


def boxes(text: str) -> list[str]:
    """The first lines of the labels of boxes, without frames."""
    return re.findall(rf'^ *{QUOTED} \[label="((?:[^"\\]|\\[^n])+)', text, re.M)


def ids(text: str) -> list[str]:
    """The ids of boxes, as they are written."""
    return re.findall(rf'^ *({QUOTED}) \[label="[^"]', text, re.M)


def edges(text: str) -> dict[tuple[str, str], str]:
    """The details of each edge, by the ids at its ends."""
    lines = re.findall(rf"^ *({QUOTED}) -> ({QUOTED})(.*);$", text, re.M)
    return {(source.strip('"'), target.strip('"')): details for source, target, details in lines}


def frames(text: str) -> list[str]:
    return re.findall(r'^ *label="((?:[^"\\]|\\[^n])+)', text, re.M)


def test_graphviz_accepts_a_program_with_one_of_everything() -> None:
    plain = render(dot_of(everything(), ViewOptions()))
    assert "tanh" in plain and "send" in plain


@pytest.mark.slow
@settings(max_examples=20)
@given(programs())
def test_graphviz_accepts_any_names(program: Program) -> None:
    render(dot_of(program, ViewOptions()))


def test_graphviz_accepts_a_training_step(step: Program) -> None:
    render(dot_of(step, ViewOptions(depth=2)))


def drawn_texts(dot: str) -> tuple[list[str], list[str]]:
    """What a reader sees in Graphviz's picture: the lines of text, and the tooltips."""
    root = ElementTree.fromstring(render(dot, "svg"))
    tips = [link.attrib["{http://www.w3.org/1999/xlink}title"] for link in root.iter("{http://www.w3.org/2000/svg}a")]
    return [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")], tips


def test_graphviz_shows_names_as_they_are() -> None:
    """Entities, escapes and quotes of Graphviz's language are text."""
    names = ["&lt;", "a&amp;b", "R&D", "&#65;", "\\N", "\\l", 'x"y', "<b>", "{a|b}"]
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    for i, name in enumerate(names):
        graph.node(str(i), name, outputs=[F32], scope=("a&gt;b",) if i else ())
    texts, tips = drawn_texts(dot_of(builder.build(), ViewOptions()))
    assert set(names) < set(texts) and "a&gt;b" in texts
    assert set(names) <= {tip.split("\n")[0] for tip in tips}


def test_flattened_calls_are_boxes_in_every_format() -> None:
    """`--flatten --all-nodes` draws each node of the graph as one box, and no body of a call."""
    program, options = everything(), ViewOptions(flatten=True, all_nodes=True)
    text = dot_of(program, options)
    drawn = draw(program, options, "svg")
    assert frames(text) == [] and len(ids(text)) == drawn.boxes
    assert len(re.findall(rf"^ *{QUOTED} -> {QUOTED}", text, re.M)) == drawn.edges
    assert frames(dot_of(program, ViewOptions(flatten=True, depth=1))), "--depth expands calls"


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


@pytest.mark.slow
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


def test_ids_are_the_names_of_instructions_and_tooltips_say_what_they_are() -> None:
    builder = ProgramBuilder("p")
    main = builder.graph("main")
    main.node("Arg_0.1", "parameter", (), (F32,), role="parameter")
    main.node("dot.105", "dot", [("Arg_0.1", 0), ("Arg_0.1", 0)], (F32,), scope=("layer_0",))
    main.node("sub.7", "subtract", [("dot.105", 0), ("Arg_0.1", 0)], (F32,))
    text = dot_of(builder.build(), ViewOptions())
    assert sorted(ids(text)) == ['"Arg_0.1"', '"dot.105"', '"sub.7"']
    assert 'tooltip="dot\\ndot.105\\nf32[2, 3]"' in text and 'tooltip="n:' not in text
    assert 'subgraph "cluster_layer_0"' in text


def test_operands_are_numbered_where_their_order_matters() -> None:
    builder = ProgramBuilder("p")
    main = builder.graph("main")
    for name in ("a", "b"):
        main.node(name, "parameter", (), (F32,), role="parameter")
    main.node("sub.7", "subtract", [("b", 0), ("a", 0)], (F32,))
    main.node("add.8", "add", [("b", 0), ("sub.7", 0)], (F32,))
    drawn = edges(dot_of(builder.build(), ViewOptions()))
    assert 'headlabel="0"' in drawn["b", "sub.7"] and 'headlabel="1"' in drawn["a", "sub.7"]
    assert "headlabel" not in drawn["b", "add.8"], "a sum is the same in any order"
    assert "headlabel" not in str(edges(dot_of(builder.build(), ViewOptions(operands=False))))


def test_names_that_called_graphs_repeat_have_ids_of_their_own() -> None:
    builder = ProgramBuilder("p", "main")
    body = builder.graph("body")
    body.node("p", "parameter", (), (F32,), role="parameter")
    body.node("t", "tanh", [("p", 0)], (F32,))
    body.outputs.append(("t", 0))
    main = builder.graph("main")
    main.node("x", "parameter", (), (F32,), role="parameter")
    for name, source in (("first", "x"), ("second", "first")):
        main.node(name, "call", [(source, 0)], (F32,), calls=["body"])
    main.outputs.append(("second", 0))
    assert ids(dot_of(builder.build(), ViewOptions())) == ['"x"', '"t"', '"second › t"', '"output"']


@pytest.mark.slow
@settings(max_examples=40)
@given(programs())
def test_no_two_boxes_have_one_id(program: Program) -> None:
    drawn = ids(dot_of(program, ViewOptions()))
    assert len(set(drawn)) == len(drawn)
