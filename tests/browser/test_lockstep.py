"""Before and after side by side have one zoom and move together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from norms import first, second

import opscope
from browser.harness import Open, Viewer, until
from browser.recordings import record_toy

State = dict[str, Any]


@pytest.fixture
def viewer(server: Callable[..., str], open_address: Open, tmp_path: Path) -> Viewer:
    paths = tmp_path / "before.json", tmp_path / "after.json"
    for path, program in zip(paths, (first(), second()), strict=True):
        opscope.save(program, path)
    viewer = open_address(server("--diff", *paths), viewport={"width": 1600, "height": 1000})
    viewer.press("Side by side")
    viewer.idle()
    return viewer


def seen(viewer: Viewer, what: str) -> tuple[Any, Any]:
    """Of both sides, what is before first."""
    after, before = viewer.page.evaluate("window.opscope.sides()")
    return before[what], after[what]


def cameras(viewer: Viewer) -> tuple[State, State]:
    viewer.idle()
    return seen(viewer, "camera")


def in_step(viewer: Viewer) -> bool:
    before, after = cameras(viewer)
    return bool(before["scale"] == after["scale"])


def canvases(viewer: Viewer) -> tuple[State, State]:
    """Where the graphs before and after are on the page."""
    names = "Before graph", "Graph"
    before, after = (viewer.page.get_by_role("application", name=name, exact=True).bounding_box() for name in names)
    return before, after


def middle(box: State) -> tuple[float, float]:
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def moved(was: State, now: State) -> tuple[float, float]:
    """How far a camera has moved, in pixels of the screen."""
    return (now["x"] - was["x"]) * now["scale"], (now["y"] - was["y"]) * now["scale"]


@pytest.mark.parametrize("side", [0, 1])
def test_what_moves_one_side_moves_the_other(viewer: Viewer, side: int) -> None:
    was = cameras(viewer)
    x, y = middle(canvases(viewer)[side])
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.down()
    viewer.page.mouse.move(x - 30, y - 80, steps=4)
    while_dragged = seen(viewer, "camera")
    viewer.page.mouse.up()
    for before, camera in zip(was, while_dragged, strict=True):
        assert moved(before, camera) == pytest.approx((30, 80))
    viewer.page.mouse.wheel(0, -240)
    assert until(lambda: in_step(viewer))
    assert cameras(viewer)[0]["scale"] > 1.2 * was[0]["scale"]


def test_zoom_and_fit_are_those_of_both(viewer: Viewer) -> None:
    opened = cameras(viewer)[0]["scale"]
    before = viewer.page.get_by_role("group", name="Before", exact=True)
    before.get_by_role("button", name="Zoom out", exact=True).click()
    assert until(lambda: in_step(viewer)) and cameras(viewer)[0]["scale"] == pytest.approx(opened / 1.5)
    before.get_by_role("button", name="Zoom in", exact=True).click()
    before.get_by_role("button", name="Zoom in", exact=True).click()
    assert until(lambda: in_step(viewer)) and cameras(viewer)[0]["scale"] > opened
    before.get_by_role("button", name="Fit", exact=True).click()
    assert until(lambda: in_step(viewer)) and cameras(viewer)[0]["scale"] < opened * 1.5
    viewer.page.get_by_role("application", name="Before graph", exact=True).focus()
    viewer.page.keyboard.press("c")
    assert until(lambda: in_step(viewer) and viewer.idle()["boxes"] == viewer.idle()["panes"][0]["boxes"])
    collapsed = cameras(viewer)
    assert collapsed[0] == pytest.approx(collapsed[1]), "collapsed, both are the same picture"


def aligned(viewer: Viewer, node: str) -> bool:
    """Is this node selected on both sides, at the same height?"""
    state = viewer.idle()
    sides = [state, state["panes"][0]]
    if [side["selectedNode"] for side in sides] != [node, node]:
        return False
    before, after = seen(viewer, "selectedAt")
    height = canvases(viewer)[0]["height"]
    return abs(before["y"] - after["y"]) < 1 and 0 <= after["y"] < height


def test_the_selected_box_is_at_one_height(viewer: Viewer) -> None:
    for _ in range(3):
        viewer.press("Next change")
    assert until(lambda: aligned(viewer, "layers.0.add"))
    viewer.search("id:layers.2.relu")
    viewer.page.get_by_label("Search", exact=True).press("Enter")
    assert until(lambda: aligned(viewer, "layers.2.relu"))


def test_of_a_pass_the_selected_box_is_at_one_height(open_address: Open, server: Callable[..., str], tmp_path: Path) -> None:
    viewer = open_address(server(record_toy(tmp_path / "toy.opscope")))
    viewer.page.get_by_role("listbox", name="Timeline").get_by_role("option").filter(has_text="fuse").first.click()
    viewer.idle()
    viewer.press("Side by side")
    viewer.search("id:dot.1")
    viewer.page.get_by_label("Search", exact=True).press("Enter")
    assert until(lambda: aligned(viewer, "dot.1"))
    assert in_step(viewer)


def test_both_sides_are_equally_high(viewer: Viewer) -> None:
    """At this width, one legend has a line more than the other."""
    viewer.page.set_viewport_size({"width": 1100, "height": 700})
    viewer.idle()
    before, after = canvases(viewer)
    assert (before["y"], before["height"]) == (after["y"], after["height"])
