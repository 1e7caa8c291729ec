"""The canvas under mouse, wheel, fingers and keys; and what it paints."""

from __future__ import annotations

from typing import Any

import pytest

from browser.harness import Open, Viewer, until
from browser.samples import network

MOTION = "no-preference"


@pytest.fixture
def viewer(open_file: Open) -> Viewer:
    viewer = open_file(network())
    viewer.press("Fold repeats")
    viewer.press("Collapse all")
    return viewer


def test_a_click_selects_and_a_click_beside_clears(viewer: Viewer) -> None:
    at = viewer.place("layer_1")
    viewer.key("Escape")
    assert viewer.state()["selection"] == []
    viewer.page.mouse.click(*at)
    assert viewer.idle()["selection"] == ["g:layer_1: Block"]
    viewer.page.mouse.click(at[0] + 300, at[1])
    assert viewer.idle()["selection"] == []


def test_a_double_click_opens_and_the_group_keeps_its_place(viewer: Viewer) -> None:
    at = viewer.place("layer_1")
    before = viewer.state()["camera"]
    viewer.page.mouse.dblclick(*at)
    state = viewer.idle()
    assert "g:layer_1: Block" in state["expanded"]
    assert state["camera"]["scale"] == before["scale"], "opening a group does not zoom"
    title = viewer.page.evaluate("window.opscope.state().selection")
    assert title == ["g:layer_1: Block"]
    viewer.page.mouse.dblclick(at[0], at[1] - 14)
    assert viewer.idle()["expanded"] == [], "the frame's title is where the box was"


def test_wheel_zooms_about_the_pointer_and_two_fingers_move(viewer: Viewer) -> None:
    box = viewer.page.locator("canvas.graph").bounding_box()
    x, y = box["x"] + 200, box["y"] + 150
    before = viewer.press("Fit")["camera"]
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.wheel(0, -120)
    after = viewer.idle()["camera"]
    assert after["scale"] > before["scale"]
    assert after["x"] + 200 / after["scale"] == pytest.approx(before["x"] + 200 / before["scale"])
    viewer.page.mouse.wheel(13, 7)
    moved = viewer.idle()["camera"]
    assert moved["scale"] == after["scale"]
    assert moved["x"] == pytest.approx(after["x"] + 13 / after["scale"])


def test_dragging_moves_and_does_not_select(viewer: Viewer) -> None:
    before = viewer.press("Fit")["camera"]
    viewer.page.mouse.move(600, 400)
    viewer.page.mouse.down()
    viewer.page.mouse.move(650, 430, steps=4)
    viewer.page.mouse.up()
    state = viewer.idle()
    assert state["camera"]["x"] == pytest.approx(before["x"] - 50 / before["scale"])
    assert state["selection"] == []


def test_pinch_zooms(open_file: Open) -> None:
    viewer = open_file(network(), has_touch=True)
    before = viewer.press("Fit")["camera"]["scale"]
    session = viewer.page.context.new_cdp_session(viewer.page)

    def touch(kind: str, *points: tuple[int, int]) -> None:
        session.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]},
        )

    touch("touchStart", (600, 400), (700, 400))
    touch("touchMove", (580, 400), (720, 400))
    touch("touchMove", (550, 400), (750, 400))
    touch("touchEnd")
    assert viewer.idle()["camera"]["scale"] > before


def test_hovering_tells_what_cannot_be_read(viewer: Viewer) -> None:
    at = viewer.place("layer_1")
    viewer.press("Zoom out")
    viewer.press("Zoom out")
    viewer.page.mouse.move(at[0] + 1, at[1] + 1)
    until(lambda: viewer.page.get_by_role("tooltip").count())
    assert "layer_1" in viewer.page.get_by_role("tooltip").inner_text()


def test_walking_with_the_keys(viewer: Viewer) -> None:
    viewer.page.locator("canvas.graph").focus()
    assert viewer.key("ArrowDown")["selection"] == ["n:x"]
    assert viewer.key("ArrowDown")["selection"] == ["g:layer_0: Block"]
    opened = viewer.key("Enter")
    assert "g:layer_0: Block" in opened["expanded"]
    inside = viewer.key("ArrowDown")["selection"]
    assert inside != ["g:layer_0: Block"]
    assert viewer.key("Backspace")["selection"] == ["g:layer_0: Block"]
    assert viewer.key("Enter")["expanded"] == []
    assert viewer.key("Escape")["selection"] == []


def test_every_shortcut_does_what_the_sheet_says(viewer: Viewer) -> None:
    page = viewer.page
    page.locator("canvas.graph").focus()
    assert viewer.key("e")["expanded"] != []
    assert viewer.key("c")["expanded"] == []
    assert viewer.key("l")["flatten"] is True
    assert viewer.key("l")["flatten"] is False
    assert viewer.key("r")["foldRepeats"] is True
    assert viewer.key("d")["direction"] == "LR"
    theme = viewer.state()["theme"]
    assert viewer.key("t")["theme"] != theme
    viewer.key("o", "i", "b")
    assert page.get_by_role("complementary").count() == 0
    assert page.get_by_role("table").count() == 1
    fitted = viewer.key("f")["camera"]["scale"]
    assert viewer.key("+")["camera"]["scale"] > fitted
    assert viewer.key("-")["camera"]["scale"] == pytest.approx(fitted)
    assert viewer.key("0")["camera"]["scale"] == pytest.approx(1)
    viewer.key("?")
    assert page.get_by_role("dialog").count() == 1
    viewer.key("Escape")
    assert page.get_by_role("dialog").count() == 0
    page.locator("canvas.graph").focus()
    viewer.key("/")
    page.keyboard.type("op:add")
    viewer.key("Enter")
    first = viewer.state()["selectedNode"]
    page.locator("canvas.graph").focus()
    assert viewer.key("n")["selectedNode"] != first
    assert viewer.key("N")["selectedNode"] == first
    viewer.key("Control+f")
    assert page.evaluate("document.querySelector('#opscope').shadowRoot.activeElement.getAttribute('aria-label')") == "Search"


def pixel(viewer: Viewer, x: float, y: float) -> tuple[int, ...]:
    """The colour at a point of the canvas, in CSS pixels."""
    script = """([x, y]) => {
      const canvas = document.querySelector("#opscope").shadowRoot.querySelector("canvas.graph");
      const ratio = canvas.width / canvas.clientWidth;
      const copy = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
      copy.drawImage(canvas, -Math.round(x * ratio), -Math.round(y * ratio));
      return [...copy.getImageData(0, 0, 1, 1).data];
    }"""
    return tuple(viewer.page.evaluate(script, [x, y]))


@pytest.mark.parametrize(("scheme", "background"), [("light", (0xFC, 0xFC, 0xFD, 255)), ("dark", (0x13, 0x13, 0x16, 255))])
def test_the_picture_has_the_colours_of_its_theme(open_file: Open, scheme: str, background: tuple[int, ...]) -> None:
    viewer = open_file(network(), color_scheme=scheme)
    assert viewer.state()["theme"] == scheme
    assert pixel(viewer, 4, 300) == background
    viewer.press("Flatten")
    viewer.row("reduce").click()
    viewer.press("Zoom to selection")
    canvas: Any = viewer.page.locator("canvas.graph").bounding_box()
    inside = pixel(viewer, canvas["width"] / 2 - 20, canvas["height"] / 2 - 12)
    assert inside not in (background, (0, 0, 0, 0)), "the middle of the selected box is filled"


def test_it_is_crisp_on_a_dense_screen(open_file: Open) -> None:
    viewer = open_file(network(), device_scale_factor=2)
    size = viewer.page.evaluate(
        "((c) => [c.width, c.clientWidth])(document.querySelector('#opscope').shadowRoot.querySelector('canvas.graph'))"
    )
    assert size[0] == 2 * size[1]


def test_the_same_state_paints_the_same_pixels(open_file: Open) -> None:
    """Layout, fonts and painting are deterministic: two openings give one picture."""
    first, second = open_file(network()), open_file(network())
    pictures = [viewer.page.locator("canvas.graph").screenshot() for viewer in (first, second)]
    assert pictures[0] == pictures[1]


def menu_items(viewer: Viewer) -> list[str]:
    items: list[str] = viewer.page.get_by_role("menu").get_by_role("menuitem").locator("span").all_inner_texts()
    return items


def test_the_other_button_offers_what_can_be_done_here(viewer: Viewer) -> None:
    at = viewer.place("layer_1")
    viewer.page.mouse.click(*at, button="right")
    assert viewer.idle()["selection"] == ["g:layer_1: Block"]
    viewer.page.locator("[role=menuitem]:focus").wait_for()
    assert menu_items(viewer)[:3] == ["Expand", "Expand all inside", "Zoom to it"]
    viewer.page.get_by_role("menuitem", name="Expand", exact=False).first.click()
    viewer.page.get_by_role("menu").wait_for(state="detached")
    assert "g:layer_1: Block" in viewer.idle()["expanded"]
    viewer.page.mouse.click(at[0] + 400, at[1] - 200, button="right")
    viewer.page.locator("[role=menuitem]:focus").wait_for()
    assert "Expand all" in menu_items(viewer)
    viewer.key("Escape")
    viewer.page.get_by_role("menu").wait_for(state="detached")
    viewer.row("layer_1").click()
    viewer.page.locator("canvas.graph").focus()
    viewer.key("ContextMenu")
    viewer.page.locator("[role=menuitem]:focus").wait_for()
    viewer.key("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "Enter")
    assert viewer.state()["expanded"] == [], "the menu opens at the selection and is walked with the arrows"


def test_a_group_opens_with_everything_inside(viewer: Viewer) -> None:
    at = viewer.place("layer_1")
    viewer.page.keyboard.down("Alt")
    viewer.page.mouse.dblclick(*at)
    viewer.page.keyboard.up("Alt")
    deep = viewer.idle()
    assert {"g:layer_1: Block", "g:layer_1: Block/attention"} <= set(deep["expanded"]), deep["expanded"]
    assert not any("layer_0" in key for key in deep["expanded"]), "other groups stay as they are"
    viewer.page.reload()
    assert viewer.idle()["expanded"] == deep["expanded"], "the address says so in one word"


def test_a_click_on_an_edge_tells_what_it_carries(viewer: Viewer) -> None:
    at = viewer.place("layer_1")
    scale = viewer.state()["camera"]["scale"]
    viewer.page.mouse.click(at[0], at[1] - 15 - 20 * scale - 6)
    viewer.idle()
    about = viewer.page.get_by_role("region", name="About the selection").inner_text()
    assert "→ layer_1" in about and "CARRIES" in about and "f32[" in about, about
