"""Accessibility: axe finds nothing serious, in both themes, with every panel open."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from browser.conftest import ROOT
from browser.harness import Open, Viewer
from browser.samples import network

AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"


def findings(viewer: Viewer) -> list[str]:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (npm install in web/)")
    viewer.page.evaluate(AXE.read_text(encoding="utf-8"))
    result = viewer.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{found['id']} ({found['impact']}): {node['html'][:160]}"
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
        for node in found["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_findings(open_file: Open, scheme: str) -> None:
    viewer = open_file(network(), color_scheme=scheme)
    assert findings(viewer) == []
    viewer.press("Flatten")
    viewer.search("op:dot")
    viewer.key("Enter")
    assert findings(viewer) == []
    viewer.press("Table")
    viewer.choose("Colour by", "output bytes")
    assert findings(viewer) == []
    viewer.page.get_by_role("tab", name="Graphs").click()
    viewer.press("Shortcuts")
    assert findings(viewer) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_findings_on_the_home_page(open_address: Open, server: Callable[..., str], tmp_path: Path, scheme: str) -> None:
    (tmp_path / "empty.hlo").touch()
    viewer = open_address(server("--browse", tmp_path), color_scheme=scheme, faults=True)
    viewer.page.get_by_role("button", name="empty.hlo", exact=True).click()
    viewer.page.get_by_role("alert").wait_for()
    viewer.page.get_by_label("Select detach", exact=True).check()
    assert findings(viewer) == []


def test_everything_can_be_reached_with_the_tab_key(open_file: Open) -> None:
    """Every button and field of the page takes the focus in turn."""
    viewer = open_file(network())
    viewer.press("Table")
    reached = set()
    name = """(() => {
      const focused = document.querySelector("#opscope").shadowRoot.activeElement;
      return focused ? (focused.getAttribute("aria-label") || focused.textContent).trim() : "";
    })()"""
    for _ in range(70):
        viewer.page.keyboard.press("Tab")
        reached.add(viewer.page.evaluate(name))
    wanted = {
        "Outline",
        "Search",
        "Expand all",
        "Collapse all",
        "Flatten",
        "Fold repeats",
        "Group by",
        "Colour by",
        "View",
        "Save",
        "Table",
        "Details",
        "Graph",
        "Groups and nodes",
        "Fit",
        "Zoom in",
        "Zoom out",
        "Zoom to selection",
        "Filter rows",
        "Copy as CSV",
        "Close table",
    }
    assert wanted <= reached, wanted - reached
    assert any(name.startswith("Zoom to 100 %") for name in reached)


def test_the_selection_is_spoken(open_file: Open) -> None:
    viewer = open_file(network())
    viewer.press("Flatten")
    viewer.row("reduce").click()
    viewer.idle()
    assert viewer.page.locator("[aria-live=polite]").inner_text().startswith("reduce sum, f32[], 1 inputs")
