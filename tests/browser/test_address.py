"""A copied link shows what was seen: every view option, what only a page can say, and the camera, at the same size and place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browser.harness import Open, Viewer, until
from browser.recordings import record_toy
from browser.samples import network
from opscope.recording.sources import open_recording
from opscope.render.writers.html import write
from opscope.view_options import ROWS, Row, ViewOptions

IN_THE_ADDRESS = [row for row in ROWS if row.url]
NAMES: dict[str, Any] = {
    "graph": "fused", "group_by": "phase", "colour_by": "dtype", "around": ("dot.1",), "stop_at": ("relu.1",), "paths": ("x", "sum"),
    "label": ("flops",), "size_by": "flops",
}  # fmt: skip
"""For options that name something in the program. A new one of that kind fails here until it has a name."""
TIMES = ("lastViewMs", "lastLayoutMs", "lastTotalMs")


def other_than_default(row: Row) -> Any:
    if row.kind in ("text", "texts", "pair"):
        return NAMES[row.name]
    if row.choices:
        return next(choice for choice in reversed(row.choices) if choice != row.default)
    return 3 if row.kind == "integer" else not row.default


def given(row: Row) -> ViewOptions:
    needed = {row.needs: NAMES[row.needs]} if row.needs else {}
    return ViewOptions(**needed, **{row.name: other_than_default(row)})


def same(state: dict[str, Any], other: dict[str, Any]) -> None:
    """The two pages show the same, to a fraction of a pixel."""
    before, after = ({name: value for name, value in each.items() if name not in (*TIMES, "camera")} for each in (state, other))
    assert after == before
    (a, b) = state["camera"], other["camera"]
    assert b["scale"] == pytest.approx(a["scale"], rel=1e-3)
    for axis in ("x", "y"):
        assert b[axis] * b["scale"] == pytest.approx(a[axis] * a["scale"], abs=0.5)


def look_elsewhere(viewer: Viewer) -> dict[str, Any]:
    """Zoom in and drag, as a person does."""
    viewer.press("Zoom in")
    box = viewer.page.locator("canvas").first.bounding_box()
    x, y = box["x"] + box["width"] / 3, box["y"] + box["height"] / 2
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.down()
    viewer.page.mouse.move(x + 61, y - 37, steps=4)
    viewer.page.mouse.up()
    return viewer.idle()


@pytest.mark.parametrize("row", IN_THE_ADDRESS, ids=lambda row: row.name)
def test_a_link_shows_the_option_and_the_place(row: Row, open_address: Open, tmp_path: Path) -> None:
    """The page that was asked for the option gives a link; a page that was not asked shows the same by it."""
    source = open_recording(record_toy(tmp_path / "toy.opscope")) if row.name == "diff" else network()
    for name, options in (("asked", given(row)), ("plain", ViewOptions())):
        write([source], tmp_path / f"{name}.html", options)
    asked = open_address((tmp_path / "asked.html").as_uri())
    seen = look_elsewhere(asked)
    value = other_than_default(row)
    assert seen["options"][row.camel] == (list(value) if isinstance(value, tuple) else value)
    plain = open_address(f"{(tmp_path / 'plain.html').as_uri()}#{asked.page.url.partition('#')[2]}")
    same(seen, plain.state())


def test_the_first_look_has_a_short_address(open_file: Open) -> None:
    viewer = open_file(network())
    assert "at=" not in viewer.page.url
    look_elsewhere(viewer)
    assert "at=" in viewer.page.url


def test_moving_about_makes_no_steps_to_go_back_to(open_file: Open) -> None:
    viewer = open_file(network())
    steps = viewer.page.evaluate("history.length")
    for _ in range(3):
        look_elsewhere(viewer)
    viewer.page.mouse.wheel(0, 240)
    viewer.idle()
    assert viewer.page.evaluate("history.length") == steps


def test_back_and_forward_return_to_the_place(open_file: Open) -> None:
    viewer = open_file(network())
    viewer.press("Expand all")
    there = look_elsewhere(viewer)
    viewer.row("reduce").click()
    viewer.idle()
    selected = look_elsewhere(viewer)
    flat = viewer.press("Flatten")
    viewer.page.go_back()
    until(lambda: viewer.idle()["flatten"] is False)
    same(selected, viewer.state())
    viewer.page.go_back()
    until(lambda: viewer.idle()["selection"] == [])
    same(there, viewer.state())
    viewer.page.go_forward()
    viewer.page.go_forward()
    until(lambda: viewer.idle()["flatten"] is True)
    same(flat, viewer.state())


def middle(viewer: Viewer) -> tuple[float, float, float]:
    """What is in the middle of the graph's part of the screen, and how large."""
    camera, screen = viewer.idle()["camera"], viewer.page.locator("canvas").first.bounding_box()
    return (camera["x"] + screen["width"] / 2 / camera["scale"], camera["y"] + screen["height"] / 2 / camera["scale"], camera["scale"])


def test_a_place_is_the_middle_of_the_screen_whatever_its_size(open_file: Open) -> None:
    viewer = open_file(network())
    look_elsewhere(viewer)
    small = open_file(network(), hash=f"#{viewer.page.url.partition('#')[2]}", viewport={"width": 900, "height": 500})
    assert middle(small) == pytest.approx(middle(viewer), abs=0.5)
    small.page.set_viewport_size({"width": 1100, "height": 700})
    until(lambda: middle(small) == pytest.approx(middle(viewer), abs=0.5))


def test_the_address_follows_when_a_panel_takes_room(open_file: Open) -> None:
    viewer = open_file(network())
    look_elsewhere(viewer)
    seen = viewer.press("Table")
    again = open_file(network(), hash=f"#{viewer.page.url.partition('#')[2]}")
    assert again.state()["camera"] == pytest.approx(seen["camera"], abs=0.5)


def test_a_link_lights_up_the_other_half_too(open_file: Open) -> None:
    viewer = open_file(network())
    viewer.search("id:add.1")
    viewer.key("Enter")
    viewer.press("Highlight forward ops")
    assert "rel=1" in viewer.page.url
    again = open_file(network(), hash=f"#{viewer.page.url.partition('#')[2]}")
    assert again.page.get_by_role("button", name="Highlight forward ops", exact=True).get_attribute("aria-pressed") == "true"
