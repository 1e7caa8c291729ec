"""Display options: they draw the same things in another way, and pressed twice they give the picture before."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

import opscope
from browser.harness import Open, Viewer
from browser.samples import network
from opscope.program import Program, ProgramBuilder, TensorType

SMALL = {"width": 900, "height": 600}


@pytest.fixture
def viewer(open_file: Open) -> Viewer:
    """On a small page, where the first picture has just enough room."""
    return open_file(network(), viewport=SMALL)


def pressed(viewer: Viewer, key: str) -> dict[str, Any]:
    viewer.page.locator("canvas.graph").focus()
    return viewer.key(key)


def picture(state: dict[str, Any]) -> dict[str, Any]:
    camera = {axis: round(value, 2) for axis, value in state["camera"].items()}
    return {"camera": camera} | {name: state[name] for name in ("boxes", "edges", "expanded", "options")}


def train_step() -> Program:
    """Two layers forward and backward, with layouts: every toggle has something to do."""
    builder = ProgramBuilder("step")
    main = builder.graph("main")
    kind = TensorType("f32", (8, 16), "{1,0}")

    def op(name: str, op: str, inputs: list[str], half: str, layer: str) -> None:
        main.node(name, op, [(each, 0) for each in inputs], [kind], scope=(layer,))
        main.group("direction", name, (half, layer))

    main.node("x", "parameter", outputs=[kind], role="parameter")
    for i, before in enumerate(["x", "out0", "out1"]):
        op(f"scaled{i}", "subtract", [before, "x"], "forward", f"layer_{i}")
        op(f"out{i}", "tanh", [f"scaled{i}"], "forward", f"layer_{i}")
    last = "out2"
    for i in (2, 1, 0):
        op(f"d{i}", "divide", [last, f"out{i}"], "backward", f"layer_{i}")
        op(f"g{i}", "subtract", [f"d{i}", f"scaled{i}"], "backward", f"layer_{i}")
        last = f"g{i}"
    main.outputs.append((last, 0))
    return builder.build()


def toggles(viewer: Viewer) -> list[str]:
    """Every switch that changes the drawing: buttons that are on or off, and what the menu View can check."""
    panels = {"Outline", "Details", "Table", "Styles", "Passes"}
    buttons = viewer.page.locator(".bar button[aria-pressed]:visible").all()
    viewer.page.get_by_role("button", name="View", exact=True).click()
    entries = viewer.page.locator("[role=menuitemcheckbox]:visible").all()
    names = [each.get_attribute("aria-label") or each.inner_text().split("\n")[0] for each in (*buttons, *entries)]
    viewer.page.keyboard.press("Escape")
    return [name for name in names if name not in panels]


@pytest.mark.parametrize("closer", [False, True])
def test_every_toggle_pressed_twice_gives_the_picture_before(open_file: Open, closer: bool) -> None:
    viewer = open_file(train_step(), viewport=SMALL)
    names = toggles(viewer)
    assert {"Flatten", "Forward beside backward", "Show operand index", "Show tensors as nodes", "Show layouts"} <= set(names)
    if closer:
        viewer.key("+", "+")
    before = picture(viewer.idle())
    for name in names:
        assert picture(viewer.press(name)) != before, name
        assert picture(viewer.press(name)) == before, name


@pytest.mark.parametrize("key", ["v", "a", "m", "d", "#"])
def test_it_opens_and_closes_nothing(viewer: Viewer, key: str) -> None:
    before = viewer.idle()["expanded"]
    assert pressed(viewer, key)["expanded"] == before


@pytest.mark.parametrize("key", ["v", "a", "m", "d", "#"])
def test_it_opens_and_closes_nothing_beside_backward(open_file: Open, key: str) -> None:
    viewer = open_file(opscope.load("demo:train_step"))
    before = viewer.idle()
    assert before["options"]["forwardBackward"] and len(before["expanded"]) > 2
    assert sorted(pressed(viewer, key)["expanded"]) == sorted(before["expanded"])


def test_another_grouping_is_seen_at_a_size_that_can_be_read(open_file: Open) -> None:
    viewer = open_file(opscope.load("demo:train_step"))
    for grouping in ("module", "source line", "op"):
        state = viewer.choose("Group by", grouping)
        assert (state["grouping"], state["camera"]["scale"] >= 0.745) == (grouping, True)


def test_the_way_back_leads_to_what_was_open_before_the_halves(open_file: Open) -> None:
    viewer = open_file(train_step(), viewport=SMALL)
    viewer.choose("Group by", "module")
    expanded = viewer.press("Expand all")["expanded"]
    assert viewer.press("Forward beside backward")["grouping"] == "direction"
    state = viewer.press("Forward beside backward")
    assert (state["grouping"], state["expanded"]) == ("module", expanded)


def test_who_has_moved_since_is_not_moved_back(viewer: Viewer) -> None:
    pressed(viewer, "v")
    moved = pressed(viewer, "+")["camera"]["scale"]
    assert pressed(viewer, "v")["camera"]["scale"] == pytest.approx(moved)


def test_isolating_a_node_opens_the_groups_around_its_neighbours(viewer: Viewer) -> None:
    viewer.press("Outline")
    viewer.press("Fold repeats")
    viewer.press("Collapse all")
    viewer.search("id:relu.1")
    viewer.key("Enter")
    state = viewer.press("Isolate (2 hops)")
    assert any(key.endswith("layer_1: Block") for key in state["expanded"])
    assert viewer.row("add").count() == 1, "add.1 uses relu.1, and no closed group hides it"


def test_layouts_and_labels_have_a_switch(open_file: Open) -> None:
    builder = ProgramBuilder("laid out")
    graph = builder.graph("main")
    graph.node("x", "parameter", outputs=[TensorType("f32", (8, 16), "{0,1}")], role="parameter")
    graph.node("copy.1", "copy", [("x", 0)], [TensorType("f32", (8, 16), "{1,0}")], attrs={"channel": "seven"})
    graph.outputs.append(("copy.1", 0))
    viewer = open_file(builder.build(), viewport=SMALL)

    def texts() -> str:
        with viewer.page.expect_download() as download:
            viewer.press("Save SVG")
        return " ".join(ElementTree.fromstring(download.value.path().read_text("utf-8")).itertext())

    assert "{1,0}" not in texts() and "seven" not in texts()
    viewer.press("Show layouts")
    assert "layouts=" in viewer.page.url and "f32[8, 16]{1,0}" in texts()
    viewer.choose("Write on boxes", "channel")
    assert "channel" in viewer.page.url and "seven" in texts()
    viewer.choose("Write on boxes", "")
    viewer.press("Show layouts")
    assert "{1,0}" not in texts() and "seven" not in texts()


def test_what_has_no_layouts_has_no_switch_for_them(viewer: Viewer) -> None:
    assert viewer.control("Show layouts").count() == 0
    viewer.page.get_by_role("button", name="View", exact=True).click()
    assert viewer.page.get_by_label("Write on boxes", exact=True).count() == 1
