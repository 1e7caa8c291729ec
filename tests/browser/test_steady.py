"""A group opens where it was clicked, steps can be undone, a link shows the same panels, and everything has a name to type."""

from __future__ import annotations

from typing import Any

import pytest

import opscope
from browser.harness import Open, Viewer, until
from browser.samples import network

MOTION = "no-preference"


@pytest.fixture
def viewer(open_file: Open) -> Viewer:
    viewer = open_file(network())
    viewer.press("Fold repeats")
    viewer.press("Collapse all")
    return viewer


def test_a_group_opens_under_the_pointer_and_closes_there(viewer: Viewer) -> None:
    x, y = viewer.place("layer_1")
    before = viewer.idle()["camera"]
    viewer.page.mouse.dblclick(x, y)
    assert "g:layer_1: Block" in viewer.idle()["expanded"]
    viewer.page.mouse.dblclick(x, y - 20)
    state = viewer.idle()
    assert state["expanded"] == [], "its title is where the box was"
    assert state["camera"] == pytest.approx(before), "and the way back is the same"


def test_titles_stay_while_one_looks_inside(viewer: Viewer) -> None:
    x, y = viewer.place("layer_1")
    viewer.page.mouse.dblclick(x, y)
    viewer.idle()
    around = viewer.page.get_by_role("navigation", name="Enclosing groups")
    assert around.count() == 0
    canvas = viewer.page.locator("canvas.graph").bounding_box()
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.wheel(1, y - canvas["y"] + 30)
    viewer.idle()
    assert around.get_by_text("layer_1", exact=True).bounding_box()["y"] < canvas["y"] + 30
    assert viewer.press("Collapse layer_1")["expanded"] == []
    assert around.count() == 0


def test_titles_are_there_when_boxes_have_moved_to_their_places(viewer: Viewer) -> None:
    x, y = viewer.place("layer_1")
    viewer.page.mouse.dblclick(x, y)
    viewer.idle()
    canvas = viewer.page.locator("canvas.graph").bounding_box()
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.wheel(1, y - canvas["y"] + 30)
    viewer.idle()
    title = viewer.page.get_by_role("navigation", name="Enclosing groups").get_by_text("layer_1", exact=True)
    assert title.is_visible()
    for colour in ("output bytes", "category"):
        viewer.choose("Colour by", colour)
        assert title.is_visible(), colour


def test_steps_are_undone_by_button_and_key(viewer: Viewer) -> None:
    page = viewer.page
    steps = {name: page.get_by_role("button", name=name, exact=True) for name in ("Back", "Forward")}
    flat = viewer.press("Flatten")
    assert steps["Back"].is_enabled() and steps["Forward"].is_disabled()
    viewer.press("Back")
    until(lambda: viewer.idle()["flatten"] is False)
    viewer.press("Forward")
    until(lambda: viewer.idle()["flatten"] is True)
    page.locator("canvas.graph").focus()
    viewer.key("Control+z")
    until(lambda: viewer.idle()["flatten"] is False)
    viewer.key("Control+Shift+z")
    until(lambda: viewer.idle()["flatten"] is True)
    assert viewer.state()["boxes"] == flat["boxes"]
    for _ in range(3):
        viewer.key("Control+z")
        viewer.idle()
    until(lambda: steps["Back"].is_disabled())
    assert viewer.key("Control+z")["status"] == "ready", "before the first step there is nothing to go back to"


def test_a_link_opens_the_same_panels(viewer: Viewer, open_file: Open) -> None:
    viewer.press("Table")
    viewer.press("Details")
    state = viewer.idle()
    assert state["panels"] == ["outline", "table", "passes"]
    again = open_file(network(), hash=f"#{viewer.page.url.partition('#')[2]}")
    assert again.idle()["panels"] == state["panels"]
    viewer.press("Back")
    assert viewer.idle()["panels"] == state["panels"], "going back closes nothing"


def test_the_palette_finds_actions_modules_and_nodes(viewer: Viewer) -> None:
    page = viewer.page
    page.locator("canvas.graph").focus()
    options = page.get_by_role("listbox", name="Actions, modules and nodes").get_by_role("option")

    def typed(text: str, first: str) -> dict[str, Any]:
        viewer.key("Control+k")
        page.get_by_role("combobox", name="Action, module or node").fill(text)
        until(lambda: options.count() and first in options.first.inner_text())
        return viewer.key("Enter")

    assert typed("flatt", "Flatten")["flatten"] is True
    assert typed("flatten", "Flatten")["flatten"] is False
    assert typed("dot.2", "dot.2")["selectedNode"] == "dot.2"
    assert typed("layer_1.attention", "layer_1/attention")["selection"] == ["g:layer_1: Block/attention"]
    assert typed("group by phase", "Group by phase")["grouping"] == "phase"
    viewer.key("Control+k")
    page.get_by_role("combobox", name="Action, module or node").fill("nothing is called so")
    until(lambda: "Nothing is called that." in page.get_by_role("dialog").inner_text())
    viewer.key("Escape")
    assert page.get_by_role("dialog").count() == 0


def test_the_palette_waits_for_what_was_typed(viewer: Viewer) -> None:
    page = viewer.page
    page.locator("canvas.graph").focus()
    viewer.key("Control+k")
    # All in one task of the page: the engine has answered none of it, nor the "d" before it.
    page.get_by_role("combobox", name="Action, module or node").evaluate("""(input) => {
      for (const text of ["d", "dot.2"]) {
        input.value = text;
        input.dispatchEvent(new InputEvent("input", { bubbles: true }));
      }
      return new Promise((done) => requestAnimationFrame(done)).then(() =>
        input.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })));
    }""")
    page.get_by_role("dialog").wait_for(state="detached")
    assert viewer.idle()["selectedNode"] == "dot.2"


def test_the_keyboard_alone_reaches_menus_and_hints(viewer: Viewer) -> None:
    page = viewer.page
    page.get_by_role("button", name="View", exact=True).focus()
    viewer.key("ArrowDown")
    page.locator("[role=menuitemcheckbox]:focus").wait_for()
    assert page.locator("[role=menuitemcheckbox]:focus").inner_text().split("\n")[0] == "Layout direction"
    viewer.key("Enter")
    assert viewer.idle()["direction"] == "LR"
    assert page.get_by_role("menu", name="View").count() == 1, "several switches can be tried"
    viewer.key("Escape")
    assert page.get_by_role("menu").count() == 0
    viewer.key("Tab")
    page.keyboard.press("Shift+Tab")
    page.get_by_role("button", name="Back", exact=True).focus()
    page.keyboard.press("Shift+Tab")
    until(lambda: page.get_by_role("tooltip").count())
    assert page.get_by_role("tooltip").inner_text().split() == ["Outline", "o"]


def test_the_wheel_scrolls_a_notebook_until_the_graph_has_the_focus(open_address: Open, tmp_path: Any) -> None:
    output = opscope.Program._repr_mimebundle_(network())["text/html"]
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><title>notebook</title>{output}<p style='height:3000px'>", encoding="utf-8")
    viewer = open_address(page.as_uri(), wait=False)
    frame = until(lambda: [each for each in viewer.page.frames if each != viewer.page.main_frame])[0]
    until(lambda: frame.evaluate("!!window.opscope && window.opscope.state().status === 'ready'"))
    scale = frame.evaluate("window.opscope.whenIdle().then(() => window.opscope.state().camera.scale)")
    viewer.page.mouse.move(500, 300)
    viewer.page.mouse.wheel(0, 120)
    until(lambda: viewer.page.evaluate("scrollY") > 0)
    assert frame.evaluate("window.opscope.state().camera.scale") == scale
    frame.locator("canvas.graph").click(position={"x": 20, "y": 20})
    scrolled = viewer.page.evaluate("scrollY")
    viewer.page.mouse.wheel(0, -120)
    until(lambda: frame.evaluate("window.opscope.state().camera.scale") > scale)
    assert viewer.page.evaluate("scrollY") == scrolled
