""" "Why is this not fused?": as an action on a node, and of a producer and a consumer; and panels that leave room for the graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.hlo_texts import NOTES, write_dump

from browser.harness import Open, Viewer, until
from opscope.recording.sources import open_recording
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions

WHY = "Why is this not fused?"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """One file with a dump and its notes. After pass 4, what is fused later are nodes of their own."""
    dump = write_dump(tmp_path / "dump")
    (dump / "module_0007.jit_step.priority_fusion_dump.txt").write_text(NOTES)
    write([open_recording(dump)], tmp_path / "page.html", ViewOptions())
    return tmp_path / "page.html"


def details(viewer: Viewer) -> str:
    return str(viewer.page.get_by_role("region", name="About the selection").inner_text())


def test_a_node_says_why_it_is_not_fused(open_address: Open, page: Path) -> None:
    viewer = open_address(f"{page.as_uri()}#pass=4")
    viewer.row("dot").click()
    until(lambda: "dot.3 was not fused: the producer is not fusible" in details(viewer))
    viewer.key("i")
    assert viewer.page.get_by_role("region", name="About the selection").count() == 0
    viewer.page.locator("canvas.graph").focus()
    viewer.key("Shift+F10")
    viewer.page.get_by_role("menuitem", name=WHY).click()
    viewer.idle()
    assert "dot.3 was not fused" in details(viewer), "the details open for it"
    focused = "document.activeElement.shadowRoot.activeElement.innerText"
    until(lambda: "dot.3 was not fused" in viewer.page.evaluate(focused))
    viewer.row("broadcast").click()
    viewer.page.locator("canvas.graph").focus()
    viewer.key("Control+k")
    viewer.page.get_by_role("combobox", name="Action, module or node").fill("not fused")
    viewer.page.get_by_role("listbox", name="Actions, modules and nodes").get_by_role("option", name=WHY).click()
    until(lambda: "The compiler noted nothing about it" in details(viewer))
    assert not viewer.errors


def test_of_two_nodes_it_is_said_whether_they_were_fused(open_address: Open, page: Path) -> None:
    viewer = open_address(f"{page.as_uri()}#pass=4")
    viewer.row("negate").click()
    viewer.row("tanh").click(modifiers=["Shift"])
    until(lambda: "TANH.4 AND NEGATE.5 WERE FUSED" in details(viewer).upper())
    assert "1.5 µs fused, 2.033 µs unfused" in details(viewer), "the producer is found in either order"
    viewer.row("dot").click()
    viewer.row("tanh").click(modifiers=["Shift"])
    until(lambda: "DOT.3 AND TANH.4 WERE NOT FUSED" in details(viewer).upper())
    assert not viewer.errors


@pytest.mark.parametrize("panel", ["u", "x", "b"])
def test_panels_leave_room_for_the_graph_in_a_small_window(open_address: Open, page: Path, panel: str) -> None:
    viewer = open_address(page.as_uri())
    viewer.page.set_viewport_size({"width": 900, "height": 700})
    viewer.key(panel)
    assert (
        viewer.page.get_by_role("region", name="Passes").is_visible() or viewer.page.get_by_role("button", name="Next change").is_visible()
    )
    until(lambda: viewer.page.locator("canvas.graph").bounding_box()["height"] > 250)
    assert not viewer.errors
