"""Bad weather: damaged pages, nothing in them, far too much, and names that want to be markup. Shown or refused with a sentence."""

from __future__ import annotations

import gzip
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

import opscope
from browser.harness import Open, until
from browser.samples import AWKWARD, HOSTILE, empty, hub, named, network
from opscope.render.wire.program import encode_wire
from opscope.render.writers.html import document


def test_a_graph_without_nodes_says_so(open_file: Open) -> None:
    viewer = open_file(empty())
    assert viewer.state()["status"] == "ready"
    assert "no nodes" in viewer.page.get_by_role("main").inner_text()
    for name in ("Expand all", "Collapse all", "Flatten", "Fit"):
        viewer.press(name)


def test_one_node_with_fifty_thousand_inputs(open_file: Open) -> None:
    viewer = open_file(hub(50_000))
    viewer.press("Flatten")
    viewer.search("id:all")
    assert viewer.key("Enter")["selectedNode"] == "all"
    assert "50,000" in viewer.page.get_by_role("complementary", name="Details").inner_text()


@pytest.mark.parametrize("name", AWKWARD.values(), ids=AWKWARD.keys())
@pytest.mark.parametrize("host", ["file", "server"])
def test_any_name_is_text(name: str, host: str, open_file: Open, open_address: Open, server: Callable[..., str], tmp_path: Path) -> None:
    """Nothing of a program is ever markup, wherever the name stands and whichever panel shows it."""
    if host == "file":
        viewer = open_file(named(name))
    else:
        opscope.save(named(name), tmp_path / "named.json")
        viewer = open_address(server(tmp_path / "named.json"))
    assert viewer.state()["program"] == name
    viewer.press("Expand all")
    viewer.press("Flatten")
    viewer.search("op:add")
    viewer.key("Enter")
    viewer.press("Table")
    for colour in ("op", "dtype"):
        viewer.choose("Colour by", colour)
    viewer.page.mouse.move(700, 400)
    viewer.idle()
    assert viewer.page.evaluate("window.broken") is None
    assert viewer.page.evaluate("document.querySelector('#opscope').shadowRoot.querySelectorAll('img').length") == 0
    with viewer.page.expect_download():
        viewer.page.get_by_role("button", name="Save SVG").click()
    viewer.idle()


def test_hostile_names_leave_no_trace_in_the_markup() -> None:
    """The page holds one script element that runs, and its own closing tag only."""
    text = "".join(document([named(HOSTILE)]))
    assert "<img" not in text
    assert text.count("</script") == text.count("<script ") + text.count("<script>")
    assert len(re.findall(r"<script(?! type=)", text)) == 1


def _broken(data: str) -> str:
    text = "".join(document([network()]))
    return re.sub(r'(<script type="application/octet-stream" id="opscope-data-0">)[^<]*', lambda found: found[1] + data, text)


WIRE = encode_wire(network())
DAMAGED = {
    "no base64": "%%% not base64 %%%",
    "no bytes": "",
    "cut short": b64encode(gzip.compress(WIRE)[:-400]).decode(),
    "cut inside": b64encode(WIRE[: len(WIRE) // 2]).decode(),
    "another file": b64encode(b"PK\x03\x04 this is a zip file, or so it says").decode(),
    "another version": b64encode(WIRE[:4] + b"\x09" + WIRE[5:]).decode(),
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_page_says_what_is_wrong(data: str, open_address: Open, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(_broken(data))
    viewer = open_address((tmp_path / "page.html").as_uri())
    assert viewer.state()["status"] == "failed"
    said = viewer.page.get_by_role("alert").inner_text()
    assert len(said.split()) > 5, said


def test_a_page_without_its_settings_says_so(open_address: Open, tmp_path: Path) -> None:
    text = "".join(document([network()])).replace('id="opscope-config"', 'id="gone"')
    (tmp_path / "page.html").write_text(text)
    viewer = open_address((tmp_path / "page.html").as_uri(), wait=False)
    until(lambda: "damaged" in viewer.page.inner_text("body"))


@pytest.mark.parametrize("hash", ["#g=no%20such%20graph", "#p=%5B%22a%22%2C%22b%22%5D", "#near=%5B%22nobody%22%5D"])
def test_an_address_that_names_what_is_not_there(hash: str, open_file: Open) -> None:
    """An old link to a changed program: a sentence, and the controls still work."""
    viewer = open_file(network(), hash=hash)
    state = viewer.state()
    assert state["problem"] or state["remarks"] or state["boxes"] == 0
    assert viewer.page.get_by_role("main").inner_text().strip()


@pytest.mark.parametrize("hash", ["#sel=%5B%22n%3Agone%22%5D&o=%5B%22g%3Anone%22%5D", "#%00%FF=%", "#d=999999&q=%5B", "#by=nothing"])
def test_a_strange_address_still_shows_the_program(hash: str, open_file: Open) -> None:
    assert open_file(network(), hash=hash).state()["status"] == "ready"


def test_many_presses_end_in_the_last_one(open_file: Open) -> None:
    """Layouts that nobody waits for any more are dropped; the last wish wins."""
    viewer = open_file(hub(6000))
    for name in ("Flatten", "Layout direction", "Flatten", "Layout direction", "Collapse all", "Expand all", "Flatten"):
        viewer.control(name).click()
    state = viewer.idle()
    assert (state["status"], state["flatten"], state["direction"]) == ("ready", True, "TB")
