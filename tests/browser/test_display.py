"""Display options: they draw the same things in another way, and pressed twice they give the picture before."""

from __future__ import annotations

from typing import Any

import pytest

from browser.harness import Open, Viewer
from browser.samples import network

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
