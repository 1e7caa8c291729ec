"""No instruction is lost from a picture that asks for it: boxes and edges are compared with the text of HLO files."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from conftest import EXAMPLE, ROOT
from support.hlo_text import instructions

import opscope
from opscope.program import Program
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions

SAMPLES = ROOT / "tests" / "samples" / "hlo"


def boxes_and_edges(svg: str) -> tuple[list[str], set[tuple[str, str]]]:
    """The keys of boxes, and the ends of edges that carry data."""
    boxes = re.findall(r'<g class="box"[^>]* data-key="([^"]*)"', svg)
    edges = re.findall(r'<g class="edge data"[^>]* data-from="([^"]*)" data-to="([^"]*)"', svg)
    return [html.unescape(key) for key in boxes], {(html.unescape(source), html.unescape(target)) for source, target in edges}


def drawn(program: Program, **options: object) -> tuple[list[str], set[tuple[str, str]]]:
    return boxes_and_edges(draw(program, ViewOptions(wrap=False, **options), "svg").text)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [*(SAMPLES / f"{name}.hlo" for name in ("step_lowered", "step_compiled", "step_short", "types", "attributes")), EXAMPLE],
    ids=lambda path: path.stem,
)  # fmt: skip
def test_all_nodes_flat_are_the_instructions_of_the_text_with_an_edge_for_each_operand(path: Path) -> None:
    program = opscope.load(path)
    computations = instructions(path.read_text())
    assert computations.keys() == {graph.name for graph in program}
    for name, operands in computations.items():
        if path == EXAMPLE and name != program.entry:
            continue
        boxes, edges = drawn(program, graph=name, flatten=True, all_nodes=True)
        assert sorted(boxes) == sorted(f"n:{instruction}" for instruction in operands), name
        assert edges == {(f"n:{operand}", f"n:{user}") for user, taken in operands.items() for operand in taken}, name


def test_the_usual_picture_folds_some_of_them() -> None:
    """Otherwise the test above would not test the option."""
    path = SAMPLES / "step_lowered.hlo"
    program = opscope.load(path)
    assert len(drawn(program, flatten=True)[0]) < len(instructions(path.read_text())[program.entry])


@pytest.mark.slow
def test_paths_and_neighbourhoods_have_every_instruction() -> None:
    path = SAMPLES / "step_lowered.hlo"
    program = opscope.load(path)
    operands = instructions(path.read_text())[program.entry]
    folded = {f"n:{name}" for name in operands} - {*drawn(program, flatten=True)[0]}
    users = {name: {user for user, taken in operands.items() if name in taken} for name in operands}
    checked = 0
    for name in sorted(key.removeprefix("n:") for key in folded)[:12]:
        boxes, edges = drawn(program, around=(name,), hops=1)
        near = {name, *operands[name], *users[name]}
        assert {f"n:{neighbour}" for neighbour in near} <= {*boxes}
        assert {(f"n:{name}", f"n:{user}") for user in users[name]} <= edges
        for user in sorted(users[name])[:1]:
            boxes, edges = drawn(program, paths=(name, user))
            assert (f"n:{name}", f"n:{user}") in edges
            checked += 1
    assert checked
