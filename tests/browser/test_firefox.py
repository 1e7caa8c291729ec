"""The viewer in Firefox: it opens, expands, searches and saves."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from browser.firefox import FIREFOX, Firefox
from browser.harness import until
from browser.samples import network
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions

PRESS = """
  const root = document.querySelector("#opscope").shadowRoot;
  const nameOf = (each) => (each.getAttribute("aria-label") ?? each.querySelector("span")?.textContent ?? each.textContent).trim();
  [...root.querySelectorAll("button")].find((each) => nameOf(each) === arguments[0]).click();
  return window.opscope.whenIdle().then(() => window.opscope.state());
"""
SEARCH = """
  const box = document.querySelector("#opscope").shadowRoot.querySelector("input.query");
  box.value = arguments[0];
  box.dispatchEvent(new Event("input", {bubbles: true}));
  return window.opscope.whenIdle().then(() => window.opscope.state());
"""


@pytest.mark.skipif(not FIREFOX.exists(), reason=f"{FIREFOX} is not here")
def test_firefox_opens_expands_searches_and_saves(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write([network()], page, ViewOptions())
    firefox = Firefox(tmp_path / "profile", tmp_path / "downloads")
    try:
        firefox.open(page.as_uri())
        until(lambda: firefox.run("return window.opscope?.state().status ?? 'loading'") != "loading")
        first = firefox.run("return window.opscope.whenIdle().then(() => window.opscope.state())")
        assert (first["status"], first["program"]) == ("ready", "network")
        collapsed = firefox.run(PRESS, "Collapse all")
        expanded = firefox.run(PRESS, "Expand all")
        assert len(collapsed["expanded"]) < len(first["expanded"]) <= len(expanded["expanded"])
        assert firefox.run(SEARCH, "op:dot")["matches"] == 3
        firefox.run(PRESS, "Save")
        firefox.run(PRESS, "Save SVG")
        saved = tmp_path / "downloads" / "network.svg"
        until(lambda: saved.exists() and saved.stat().st_size and not list(saved.parent.glob("*.part")))
        texts = {element.text for element in ElementTree.parse(saved).iter("{http://www.w3.org/2000/svg}text")}
        assert "reduce" in texts
    finally:
        firefox.close()
