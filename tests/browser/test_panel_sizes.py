"""Panels are resized by dragging their edges, or with the keyboard, and keep their size."""

from __future__ import annotations

import pytest

from browser.harness import Open, Viewer
from browser.samples import network

PANELS = [("outline", "complementary", "Outline"), ("details", "complementary", "Details"), ("table", "region", "Table of nodes")]


def extent(viewer: Viewer, name: str) -> int:
    _, role, label = next(row for row in PANELS if row[0] == name)
    box = viewer.page.get_by_role(role, name=label, exact=True).bounding_box()
    return round(box["height" if name == "table" else "width"])


def drag(viewer: Viewer, name: str, by: int) -> None:
    """Drag the edge of a panel, away from the panel if `by` is positive."""
    box = viewer.page.get_by_role("separator", name=f"Resize {name}", exact=True).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    dx, dy = {"outline": (by, 0), "details": (-by, 0), "table": (0, -by)}[name]
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.down()
    viewer.page.mouse.move(x + dx, y + dy, steps=4)
    viewer.page.mouse.up()
    viewer.idle()


def test_panels_are_dragged_and_remembered(open_file: Open) -> None:
    viewer = open_file(network(), viewport={"width": 1600, "height": 1000})
    viewer.press("Table")
    before = {name: extent(viewer, name) for name, *_ in PANELS}
    for name, *_ in PANELS:
        drag(viewer, name, 70)
    assert {name: extent(viewer, name) - size for name, size in before.items()} == dict.fromkeys(before, 70)
    viewer.page.reload()
    viewer.idle()
    assert {name: extent(viewer, name) - size for name, size in before.items()} == dict.fromkeys(before, 70), "after a reload"
    viewer.page.get_by_role("separator", name="Resize outline", exact=True).dblclick(position={"x": 0, "y": 40}, force=True)
    assert extent(viewer, "outline") == before["outline"]


@pytest.mark.parametrize(("name", "more", "less"), [("outline", "ArrowRight", "ArrowLeft"), ("details", "ArrowLeft", "ArrowRight")])
def test_the_keyboard_moves_an_edge(open_file: Open, name: str, more: str, less: str) -> None:
    viewer = open_file(network(), viewport={"width": 1600, "height": 1000})
    before = extent(viewer, name)
    viewer.page.get_by_role("separator", name=f"Resize {name}", exact=True).focus()
    viewer.key(more, more, less)
    assert extent(viewer, name) == before + 24
    viewer.key("Home")
    assert extent(viewer, name) == before


def test_the_graph_keeps_its_room(open_file: Open) -> None:
    viewer = open_file(network(), viewport={"width": 1600, "height": 1000})
    drag(viewer, "outline", 1500)
    drag(viewer, "details", 1500)
    graph = viewer.page.get_by_role("application", name="Graph", exact=True).bounding_box()
    assert graph["width"] >= 200
    drag(viewer, "outline", -1500)
    assert extent(viewer, "outline") == 120
