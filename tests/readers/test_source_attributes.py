"""Attributes from a source stay as they are, whatever opscope adds to the node."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from xla_structure import structure_of, xla_structure

import opscope
from opscope.analysis.enrich import enrich
from opscope.analysis.groupings import GroupTrees
from opscope.program import DIRECTION_ATTR, Node, Program, ProgramBuilder
from opscope.readers.hlo import parse_hlo
from opscope.recording.diff import diff
from opscope.render.writers.hlo import extract

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.frameworks
jnp = jax.numpy

STEP = """HloModule jit_step

ENTRY main {
  x = f32[4]{0} parameter(0)
  y = f32[4]{0} parameter(1)
  less = pred[4]{0} compare(x, y), direction=LT, metadata={op_name="jit(step)/jvp(layer)/lt"}
  ROOT pick = f32[4]{0} select(less, x, y), metadata={op_name="jit(step)/transpose(jvp(layer))/select_n"}
}
"""


def step(x: Any, y: Any) -> Any:
    """Has comparisons in both halves: the backward half recomputes the contents of a checkpoint."""

    def bent(x: Any) -> Any:
        return jnp.where(jnp.sin(x) < y, jnp.sin(x) * x, jnp.cos(x))

    return jax.grad(lambda x: (jax.checkpoint(bent)(x) * jnp.where(x < 0, x * x, y)).sum())(x)


@pytest.fixture(scope="module")
def lowered() -> Any:
    x = jnp.ones((4, 8))
    return jax.jit(step).lower(x, x)


def compares(program: Program) -> list[Node]:
    return [node for graph in program for node in graph if node.op == "compare"]


def directions_in(text: str) -> Counter[str]:
    """Counted in XLA's text, without opscope's reader."""
    return Counter(re.findall(r"\bcompare\(.*direction=(\w+)", text))


def groupings_of(program: Program) -> list[str]:
    trees = GroupTrees(program)
    for number, graph in enumerate(program):
        trees.put_graph(number, graph)
    return [tree.name for tree in trees.trees()]


def test_compares_keep_their_direction_before_and_after_optimization(lowered: Any) -> None:
    for text in (lowered.as_text("hlo", debug_info=True), lowered.compile().as_text()):
        [program] = parse_hlo(text)
        assert Counter(node.attrs["direction"] for node in compares(program)) == directions_in(text)
        assert directions_in(text)["LT"]
        assert all(node.attrs[DIRECTION_ATTR] in ("forward", "recomputed") for node in compares(program))
        assert groupings_of(program)[0] == "direction"


def test_compares_keep_their_direction_after_every_pass() -> None:
    x = jnp.ones((4, 8))
    with opscope.record() as recorder:
        recorder.jax(step, x, x, every_pass=True)
    passes = [compares(snapshot.program) for snapshot in recorder.recording]
    assert len(passes) > 10
    assert all({node.attrs["direction"] for node in nodes} == {"LT"} for nodes in passes)


def test_stablehlo_keeps_the_direction_too(lowered: Any) -> None:
    program = opscope.capture(lowered, stage="stablehlo")
    nodes = [node for graph in program for node in graph if node.op == "stablehlo.compare"]
    assert nodes and all("LT" in node.attrs["comparison_direction"] and DIRECTION_ATTR in node.attrs for node in nodes)


def test_direction_in_json_and_in_exported_hlo(run: Run, tmp_path: Path, lowered: Any) -> None:
    source = tmp_path / "step.hlo"
    source.write_text(lowered.as_text("hlo", debug_info=True))
    [program] = parse_hlo(source.read_text())
    assert run("export", source, "-o", "step.json").returncode == 0
    graphs = json.loads((tmp_path / "step.json").read_text())["graphs"]
    written = [node["attrs"] for graph in graphs for node in graph["nodes"] if node["op"] == "compare"]
    assert Counter(attrs["direction"] for attrs in written) == directions_in(source.read_text())
    assert {attrs[DIRECTION_ATTR] for attrs in written} == {"forward", "recomputed"}
    assert opscope.load(tmp_path / "step.json") == enrich(program)

    graph = next(graph for graph in program if any(node.op == "compare" for node in graph))
    compare = next(node for node in graph if node.op == "compare")
    part = tmp_path / "part.hlo"
    part.write_text(extract(program, graph, compare.id))
    assert "direction=LT" in part.read_text() and "opscope." not in part.read_text()
    [again] = parse_hlo(part.read_text())
    assert structure_of(again) == xla_structure(part), "XLA's own parser takes it"


def test_halves_follow_from_jax_scopes_and_not_from_an_attribute_of_the_source() -> None:
    [program] = parse_hlo(STEP)
    assert program.main["less"].attrs["direction"] == "LT"
    assert program.main["less"].attrs[DIRECTION_ATTR] == "forward"
    assert "direction" in groupings_of(program)
    builder = ProgramBuilder("rnn")
    builder.graph("main").node("lstm", "LSTM", attrs={"direction": "backward"})
    assert "direction" not in groupings_of(builder.build())


@pytest.mark.parametrize("by_name", [True, False])
def test_a_reversed_comparison_is_a_change(run: Run, tmp_path: Path, by_name: bool) -> None:
    turned = STEP.replace("direction=LT", "direction=GE")
    [before], [after] = parse_hlo(STEP), parse_hlo(turned)
    assert [match.changes for match in diff(before, after, match_by_name=by_name).changed] == [(("attrs.direction", "LT", "GE"),)]
    (tmp_path / "a.hlo").write_text(STEP)
    (tmp_path / "b.hlo").write_text(turned)
    assert "direction" in run("diff", "a.hlo", "b.hlo").stdout


def test_another_half_is_not_a_change() -> None:
    """It follows from the op_name, which is compared."""
    [before], [after] = parse_hlo(STEP), parse_hlo(STEP.replace("/jvp(layer)/lt", "/transpose(jvp(layer))/lt"))
    fields = {change.field for match in diff(before, after).changed for change in match.changes}
    assert fields <= {"attrs.metadata.op_name"}


def test_mlir_attributes_win_over_the_name_of_a_location() -> None:
    text = """
module {
  func.func @main() {
    "transform.get_parent_op"() {direction = "up", op_name = "func.func"} : () -> () loc("jit(step)/transpose(jvp(layer))/mul")
    return
  }
}
"""
    from opscope.readers.mlir import read_mlir

    (node,) = read_mlir(text).main
    assert (node.attrs["op_name"], node.attrs["direction"], node.attrs[DIRECTION_ATTR]) == ('"func.func"', '"up"', "backward")
    assert node.scope == ("step", "layer")
