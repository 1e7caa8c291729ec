"""Modules as Model Explorer draws them: what is in which rectangle is compared with its own adapter's namespaces."""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any, NamedTuple

import pytest
import torch
from browser.conftest import browser, open_address, open_file
from browser.harness import Open, Viewer

import opscope
from opscope.program import Program
from opscope.render.draw.picture import draw
from opscope.view_options import ViewOptions

adapter = pytest.importorskip("model_explorer.pytorch_exported_program_adater_impl", reason="these tests need the real Model Explorer")

__all__ = ["browser", "open_address", "open_file"]  # fixtures of the viewer's tests


class Stage(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(8, 8, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(8)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.norm(self.conv(x)))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.s1 = Stage()
        self.s2 = Stage()
        self.fc = torch.nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.fc(self.s2(self.s1(self.stem(x))).mean((2, 3)))


class Wrap(torch.nn.Module):
    """A module whose only child does everything."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Net()

    def forward(self, x: Any) -> Any:
        return self.model(x)


class Both(NamedTuple):
    program: Program
    paths: dict[str, tuple[str, ...]]
    """For each operation, Model Explorer's namespace below the root, in opscope's spelling ("conv: Conv2d")."""
    nodes: set[str]
    root: str
    outermost: set[str]
    """What Model Explorer draws while everything is collapsed."""


@cache
def both(model: Any = Wrap) -> Both:
    exported = torch.export.export(model().eval(), (torch.ones(1, 3, 8, 8),))
    (graph,) = adapter.PytorchExportedProgramAdapterImpl(exported, {"const_element_count_limit": 16}).convert()["graphs"]
    paths, roots = {}, set()
    for node in graph.nodes:
        if node.namespace in ("", "inputs"):
            continue
        root, *inner = (part.rpartition(".")[2] for part in node.namespace.split("/"))
        roots.add(root)
        paths[node.id] = tuple("{1}: {0}".format(*part.split("_", 1)) for part in inner)
    (root,) = roots
    outermost = {node.namespace.partition("/")[0] or node.id for node in graph.nodes}
    return Both(opscope.capture(exported), paths, {node.id for node in graph.nodes}, root, outermost)


def groups(paths: dict[str, tuple[str, ...]]) -> set[str]:
    return {"g:" + "/".join(path[:length]) for path in paths.values() for length in range(1, len(path) + 1)}


@pytest.fixture
def viewer(open_file: Open) -> Viewer:
    return open_file(both().program)


@pytest.mark.step("4.3")
def test_each_module_is_a_node_that_can_be_expanded_and_collapsed(viewer: Viewer) -> None:
    viewer.press("Fold repeats")
    viewer.press("Show all frames")
    expanded = {*viewer.press("Expand all")["expanded"]}
    aside = "r:unconnected"  # what nothing uses, which Model Explorer leaves in its modules
    assert expanded == {*groups(both().paths), "r:graph", aside}, "the modules that Model Explorer has, and the root"
    for key in sorted(expanded - {aside}):
        title = both().root if key == "r:graph" else key.rpartition("/")[2].removeprefix("g:").partition(":")[0]
        assert viewer.row(title).get_attribute("aria-expanded") == "true"


@pytest.mark.step("4.4")
def test_the_model_can_be_one_node(viewer: Viewer) -> None:
    collapsed = viewer.press("Collapse all")
    assert collapsed["expanded"] == [] and viewer.row("model").count() == 1, "the only child of the root is a node"
    assert viewer.press("Collapse all")["boxes"] == len(both().outermost), "as many as Model Explorer: inputs, the model and the output"
    for title in (both().root, "x", "output"):
        assert viewer.row(title).count() == 1, "the node of the model has the name of the root module"


@pytest.mark.step("4.5")
def test_the_triangle_at_the_top_left_expands_the_node_of_the_model(viewer: Viewer) -> None:
    viewer.press("Collapse all")
    camera = viewer.press("Collapse all")["camera"]
    with viewer.page.expect_download() as download:
        viewer.press("Save SVG")
    svg = download.value.path().read_text("utf-8")
    box = rectangles(svg, "box")["r:graph"]
    triangle = re.search(r'<text x="([^"]*)" y="([^"]*)"[^>]*>▸', svg)
    assert triangle
    x, y = float(triangle[1]), float(triangle[2])
    assert box[0] < x < (box[0] + box[2]) / 2 and box[1] < y < box[3]
    canvas = viewer.page.locator("canvas.graph").bounding_box()
    at = [canvas[axis] + (place - camera[axis]) * camera["scale"] for axis, place in (("x", x + 3), ("y", y - 4))]
    viewer.page.mouse.click(*at)
    opened = viewer.idle()
    assert opened["expanded"] == ["g:model: Net"], "with the only module in it, as Model Explorer opens it"
    for name in ("stem", "s1", "fc", "output"):
        assert viewer.row(name).count() == 1


@pytest.mark.step("4.6")
def test_modules_contain_the_modules_that_model_explorer_puts_into_them(viewer: Viewer) -> None:
    viewer.press("Fold repeats")
    viewer.press("Collapse all")
    viewer.row("model").click()
    viewer.idle()
    assert viewer.press("Expand")["expanded"] == ["g:model: Net"]
    inside = {path[1].partition(":")[0] for path in both().paths.values() if len(path) > 1}
    assert {"stem", "s1", "s2", "fc"} == inside
    for name in inside:
        assert viewer.row(name).count() == 1


def rectangles(svg: str, part: str) -> dict[str, tuple[float, float, float, float]]:
    """Left, top, right and bottom of the boxes or frames of a picture, by key."""
    pattern = rf'<g class="{part}"[^>]* data-key="([^"]*)">.*?<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"'
    sizes = {html.unescape(key): [float(number) for number in numbers] for key, *numbers in re.findall(pattern, svg, re.S)}
    return {key: (x, y, x + w, y + h) for key, (x, y, w, h) in sizes.items()}


@pytest.mark.step("4.7")
@pytest.mark.parametrize("model", [Wrap, Net])
def test_expanded_every_operation_is_in_the_rectangles_of_its_modules(model: Any) -> None:
    program, paths, nodes, *_ = both(model)
    options = ViewOptions(depth=9, fold=False, frames=True, all_nodes=True, wrap=False)
    svg = draw(program, options, "svg", as_="seen").text
    boxes, frames = rectangles(svg, "box"), rectangles(svg, "frame")
    assert {*boxes} == {f"n:{name}" for name in nodes} and {*frames} == {*groups(paths), "r:graph"}
    for name, path in paths.items():
        left, top, right, bottom = boxes[f"n:{name}"]
        around = {key for key, (x, y, x2, y2) in frames.items() if x < left and y < top and right < x2 and bottom < y2}
        assert around == {"r:graph", *groups({name: path})}


@pytest.mark.step("4.7")
def test_expand_all_says_which_repeats_stay_folded_and_unfolds_them_with_one_click(viewer: Viewer) -> None:
    expanded = viewer.press("Expand all")
    assert "x:model: Net/s1: Stage" in expanded["expanded"]
    assert viewer.page.get_by_text("1 stack of repeats is folded").count() == 1
    unfolded = viewer.press("Unfold all")
    assert {"g:model: Net/s1: Stage", "g:model: Net/s2: Stage"} <= {*unfolded["expanded"]}
    assert viewer.page.get_by_text("of repeats").count() == 0


@pytest.mark.step("4.8")
def test_flat_every_node_of_the_graph_is_a_box_and_no_module_is_drawn(viewer: Viewer) -> None:
    viewer.press("Show all nodes")
    flat = viewer.press("Flatten")
    assert flat["expanded"] == [] and flat["boxes"] == len(both().nodes)
    svg = draw(both().program, ViewOptions(flatten=True, all_nodes=True, wrap=False), "svg").text
    assert {*rectangles(svg, "box")} == {f"n:{name}" for name in both().nodes}
    assert rectangles(svg, "frame") == {}
    weights = {name.removeprefix("model.") for name, _ in Wrap().named_parameters()}
    titles = re.findall(r">([^<]*\.(?:weight|bias))<", svg)
    assert {*titles} == weights and len(titles) == len(weights), "no two have one name"
