"""draw.io files in mxGraph, the library that draw.io is built on: decoded, laid out and drawn by it in Chromium."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from conftest import ROOT
from programs import everything

from opscope.loading import load
from opscope.program import Program
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions

MXGRAPH = ROOT / "web" / "node_modules" / "mxgraph" / "javascript" / "mxClient.min.js"
SETTINGS = "var mxBasePath = ''; var mxLoadResources = false; var mxLoadStylesheets = false;"
DECODE = """xml => {
  const page = mxUtils.parseXml(xml).documentElement;
  const model = new mxGraphModel();
  new mxCodec(page.ownerDocument).decode(page, model);
  document.body.replaceChildren();
  const graph = new mxGraph(document.body, model);
  const usual = graph.convertValueToString.bind(graph);
  graph.convertValueToString = (cell) => (mxUtils.isNode(cell.value) ? cell.getAttribute("label", "") : usual(cell));
  graph.refresh();
  const cells = Object.values(model.cells).filter((cell) => cell.geometry);
  const box = (cell) => { const { x, y, width, height } = graph.view.getState(cell); return [x, y, width, height]; };
  return {
    boxes: cells.filter((cell) => cell.vertex && !cell.parent.edge).map((cell) => ({
      id: cell.id, name: cell.getAttribute("name"), label: graph.getLabel(cell), parent: cell.parent.id, box: box(cell),
    })),
    edges: cells.filter((cell) => cell.edge).map((cell) => ({
      ends: [cell.source?.id, cell.target?.id], label: graph.getLabel(cell),
      points: graph.view.getState(cell).absolutePoints.map(({ x, y }) => [x, y]),
    })),
    drawn: document.querySelectorAll("svg path, svg rect, svg ellipse").length,
  };
}"""


@pytest.fixture(scope="module")
def decode(browser: Any) -> Iterator[Callable[[str], Any]]:
    """What mxGraph makes of a page of a draw.io file."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_script_tag(content=SETTINGS)
    page.add_script_tag(path=MXGRAPH)

    def decoded(text: str) -> Any:
        model = ElementTree.fromstring(text).find("diagram/mxGraphModel")
        assert model is not None
        return page.evaluate(DECODE, ElementTree.tostring(model, "unicode"))

    yield decoded
    assert errors == []
    context.close()


def on_border(point: list[float], box: list[float]) -> bool:
    x, y, width, height = box
    inside = x - 1 <= point[0] <= x + width + 1 and y - 1 <= point[1] <= y + height + 1
    on_line = min(abs(point[0] - x), abs(point[0] - x - width), abs(point[1] - y), abs(point[1] - y - height)) <= 1
    return inside and on_line


def check(program: Program, options: ViewOptions, decode: Callable[[str], Any]) -> None:
    picture = draw(program, ViewOptions(**{row.name: getattr(options, row.name) for row in options.given}, wrap=False), "svg")
    seen = decode(draw(program, options, "drawio").text)
    boxes = {each["id"]: each for each in seen["boxes"]}
    assert (len(boxes), len(seen["edges"])) == (picture.boxes, picture.edges)
    assert all(each["label"] and each["name"] for each in boxes.values())
    for each in boxes.values():
        outer = boxes.get(each["parent"])
        if outer is not None:
            (x, y, width, height), (left, top, wide, high) = each["box"], outer["box"]
            assert left <= x and top <= y and x + width <= left + wide and y + height <= top + high, each["name"]
    for edge in seen["edges"]:
        source, target = (boxes[end] for end in edge["ends"])
        assert on_border(edge["points"][0], source["box"]), (source["name"], target["name"])
        assert on_border(edge["points"][-1], target["box"]), (source["name"], target["name"])
    assert seen["drawn"] > len(boxes) + len(seen["edges"])


@pytest.mark.step("0.17")
def test_draw_io_draws_a_training_step(example: Path, decode: Callable[[str], Any]) -> None:
    """Every box is in its group, and every edge ends at the borders of its boxes."""
    program = load(example)
    assert isinstance(program, Program)
    check(program, ViewOptions(depth=2), decode)


def test_draw_io_draws_one_of_everything(decode: Callable[[str], Any]) -> None:
    check(everything(), ViewOptions(rankdir="LR", all_nodes=True), decode)


@pytest.mark.step("0.17")
@pytest.mark.parametrize("figure", ["basic_ops", "chain_rule", "used_many_times"])
def test_draw_io_draws_the_derivative_figures(figure: str, decode: Callable[[str], Any]) -> None:
    text = (ROOT / "docs" / "gradients" / f"{figure}.drawio").read_text("utf-8")
    for diagram in ElementTree.fromstring(text).iter("diagram"):
        seen = decode(f"<mxfile>{ElementTree.tostring(diagram, 'unicode')}</mxfile>")
        ids = {each["id"] for each in seen["boxes"]}
        assert seen["boxes"] and seen["edges"] and all(set(edge["ends"]) <= ids for edge in seen["edges"])
