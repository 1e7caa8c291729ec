"""DOT: what Graphviz accepts, with clusters from scopes, and no name that can break out of its quotes."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from programs import F32, everything, programs

from opscope.program import Program, ProgramBuilder
from opscope.render.dot import lines
from opscope.render.options import ViewOptions

needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def dot(program: Program, **options: object) -> str:
    return "\n".join(lines(program, ViewOptions(**options)))  # type: ignore[arg-type]


def accepted(text: str) -> str:
    done = subprocess.run(["dot", "-Tplain"], input=text.encode("utf-8", "backslashreplace"), capture_output=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()
    return done.stdout.decode()


@needs_graphviz
def test_graphviz_takes_a_program_with_one_of_everything() -> None:
    plain = accepted(dot(everything()))
    assert len(re.findall(r"^node ", plain, re.M)) == 6 + 2  # nodes, and the outputs of both graphs


@needs_graphviz
@settings(max_examples=25)
@given(programs())
def test_graphviz_takes_whatever_the_names_are(program: Program) -> None:
    accepted(dot(program))


def test_scopes_become_nested_clusters_that_open_once() -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    for i, scope in enumerate([("a", "b"), ("c",), ("a", "b"), ("a",), ()]):
        graph.node(str(i), "add", outputs=[F32], scope=scope)
    text = dot(builder.build())
    assert re.findall(r'label="(\w)"; style', text) == ["a", "b", "c"]
    assert text.count("{") == text.count("}")


def test_another_grouping_and_one_graph_alone() -> None:
    by_partition = dot(everything(), group_by="partition")
    assert 'label="partition 0"' in by_partition and 'label="layer_0: Layer"' not in by_partition
    alone = dot(everything(), graph="fused_computation.1", direction="LR")
    assert "tanh" in alone and "fusion" not in alone and "rankdir=LR" in alone


def test_the_function_of_a_reduction_is_a_word_in_its_box(example: Path) -> None:
    from opscope.loading import load

    program = load(example)
    assert isinstance(program, Program)
    text = dot(program)
    assert 'label="reduce add\\n' in text and "region_" not in text
