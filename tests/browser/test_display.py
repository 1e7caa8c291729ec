"""Display options: they draw the same things in another way, and pressed twice they give the picture before."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from browser.harness import Open, Viewer
from browser.samples import network
from opscope.program import ProgramBuilder, TensorType

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


@pytest.mark.parametrize("key", ["v", "a", "w", "m", "d", "r"])
@pytest.mark.parametrize("closer", [False, True])
def test_pressed_twice_it_gives_the_picture_before(viewer: Viewer, key: str, closer: bool) -> None:
    if closer:
        viewer.key("+", "+")
    before = viewer.idle()
    assert picture(pressed(viewer, key)) != picture(before)
    assert picture(pressed(viewer, key)) == picture(before)


@pytest.mark.parametrize("key", ["v", "a", "m", "d"])
def test_it_opens_and_closes_nothing(viewer: Viewer, key: str) -> None:
    before = viewer.idle()["expanded"]
    assert pressed(viewer, key)["expanded"] == before


def test_who_has_moved_since_is_not_moved_back(viewer: Viewer) -> None:
    pressed(viewer, "v")
    moved = pressed(viewer, "+")["camera"]["scale"]
    assert pressed(viewer, "v")["camera"]["scale"] == pytest.approx(moved)


def test_isolating_a_node_opens_the_groups_around_its_neighbours(viewer: Viewer) -> None:
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
