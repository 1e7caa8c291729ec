"""draw.io files: connected cells, one for each box and edge of the program, that any XML parser reads."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from conftest import ROOT, Run
from hypothesis import given, settings
from programs import F32, everything, programs

from opscope.loading import load
from opscope.program import Program, ProgramBuilder
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions

FIGURES = ROOT / "docs" / "gradients"


class Page(NamedTuple):
    """A page of a draw.io file: labels and frames by the names of boxes, and the names at the ends of edges with the label at the head."""

    labels: dict[str, str]
    parents: dict[str, str]
    edges: list[tuple[str, str]]
    operands: dict[tuple[str, str], str]


def pages(text: str) -> list[Page]:
    return [page(diagram) for diagram in ElementTree.fromstring(text).iter("diagram")]


def page(diagram: ElementTree.Element) -> Page:
    boxes = {each.attrib["id"]: each for each in diagram.iter("object")}
    names = {cell: each.attrib["name"] for cell, each in boxes.items()}
    assert len(set(names.values())) == len(names)
    placed = {cell: each.find("mxCell") for cell, each in boxes.items()}
    assert all(cell is not None and cell.attrib["parent"] in {"1", *boxes} for cell in placed.values())
    lines = {cell.attrib["id"]: cell for cell in diagram.iter("mxCell") if cell.get("edge") == "1"}
    ends = {cell: (names[line.attrib["source"]], names[line.attrib["target"]]) for cell, line in lines.items()}
    numbers = [cell for cell in diagram.iter("mxCell") if cell.get("parent") in lines]
    return Page(
        {each.attrib["name"]: each.attrib["label"] for each in boxes.values()},
        {names[cell]: names.get(each.attrib["parent"], "") for cell, each in placed.items() if each is not None},
        list(ends.values()),
        {ends[cell.attrib["parent"]]: cell.attrib["value"] for cell in numbers},
    )


def test_boxes_edges_and_groups_are_those_of_the_program() -> None:
    builder = ProgramBuilder("p")
    main = builder.graph("main")
    for name in ("a", "b"):
        main.node(name, "parameter", (), (F32,), role="parameter")
    main.node("sub.7", "subtract", [("b", 0), ("a", 0)], (F32,), scope=("layer", "inner"))
    main.node("tanh.8", "tanh", [("sub.7", 0)], (F32,), scope=("layer",))
    for name in ("exp.1", "exp.2"):
        main.node(name, "exponential", [("a", 0)], (F32,), scope=("other",))
    main.outputs.extend([("tanh.8", 0), ("exp.1", 0), ("exp.2", 0)])
    [drawn] = pages(draw(builder.build(), ViewOptions(depth=9), "drawio").text)
    inside = [("a", "exp.1"), ("a", "exp.2"), ("a", "sub.7"), ("b", "sub.7"), ("sub.7", "tanh.8")]
    flow = sorted([*inside, ("exp.1", "output"), ("exp.2", "output"), ("tanh.8", "output")])
    assert sorted(drawn.edges) == flow
    assert drawn.operands == {("b", "sub.7"): "0", ("a", "sub.7"): "1"}
    assert drawn.parents["tanh.8"] == "layer" and drawn.parents["exp.1"] == "other" and drawn.parents["output"] == ""
    assert drawn.labels["tanh.8"] == "tanh\nf32[2, 3]"


@pytest.mark.slow
def test_a_training_step_has_every_box_and_edge_of_its_picture(example: Path) -> None:
    program = load(example)
    picture = draw(program, ViewOptions(depth=2, wrap=False), "svg")
    [drawn] = pages(draw(program, ViewOptions(depth=2), "drawio").text)
    assert (len(drawn.labels), len(drawn.edges)) == (picture.boxes, picture.edges)


@pytest.mark.slow
@settings(max_examples=20)
@given(programs())
def test_any_names_are_text(program: Program) -> None:
    text = draw(program, ViewOptions(), "drawio").text
    assert pages(text) and "html=1" not in text


@pytest.mark.slow
def test_export_writes_it_by_its_suffix(run: Run, example: Path, tmp_path: Path) -> None:
    assert run("export", example, "-o", "step.drawio", "--depth", "1").returncode == 0
    assert len(pages((tmp_path / "step.drawio").read_text("utf-8"))) == 1
    refused = run("export", example, "-o", "step.drawio", "--wrap")
    assert refused.returncode == 2 and "--wrap does not apply to drawio files" in refused.stderr
    everything_drawn = draw(everything(), ViewOptions(), "drawio").text
    assert everything_drawn.startswith("<mxfile")


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    """`docs/gradients/make.py`."""
    spec = importlib.util.spec_from_file_location("figures", FIGURES / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn_again(figures: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("figures")
    figures.main(directory)
    return directory


@pytest.mark.step("0.14", "0.15", "0.16", "0.17")
@pytest.mark.parametrize("name", ["basic_ops", "chain_rule", "used_many_times"])
def test_derivative_figures_can_be_edited_and_show_each_step(figures: ModuleType, name: str) -> None:
    """Each figure has the nodes and edges of the small training step that it is made from, whose formulas are opscope's own rules."""
    makers = {
        "basic_ops": lambda: [figures.one_op(op) for row in figures.BASIC for op in row],
        "chain_rule": lambda: [figures.chain_rule()],
        "used_many_times": lambda: [figures.used_many_times()],
    }
    sheets: list[Program] = makers[name]()
    drawn = pages((FIGURES / f"{name}.drawio").read_text("utf-8"))
    assert len(drawn) == len(sheets)
    for sheet, sheet_page in zip(sheets, drawn, strict=True):
        assert {node.id for node in sheet.main} <= set(sheet_page.labels)
        assert {(source, node.id) for node in sheet.main for source, _ in node.inputs} <= set(sheet_page.edges)


@pytest.mark.step("0.17")
def test_no_line_runs_through_its_label() -> None:
    cells = list(ElementTree.parse(FIGURES / "chain_rule.drawio").iter("mxCell"))
    labelled = [cell.attrib["style"] for cell in cells if cell.get("edge") == "1" and cell.get("value")]
    assert labelled and all("labelBackgroundColor=#" in style for style in labelled)


@pytest.mark.step("0.14")
def test_the_gradient_that_arrives_is_not_one_of_the_operations() -> None:
    counts = re.findall(r">(\d+) ops?<", (FIGURES / "basic_ops.svg").read_text("utf-8"))
    backward = {"exp": "1", "tanh": "1", "sum": "1", "softmax": "1", "mul": "2", "matmul": "2"}
    assert counts == [count for each in backward.values() for count in ("1", each)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["basic_ops", "chain_rule", "used_many_times"])
@pytest.mark.parametrize("suffix", [".svg", ".drawio"])
def test_the_figures_are_those_that_make_py_draws(drawn_again: Path, name: str, suffix: str) -> None:
    assert (drawn_again / f"{name}{suffix}").read_text("utf-8") == (FIGURES / f"{name}{suffix}").read_text("utf-8")
