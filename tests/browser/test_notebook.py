"""Programs in notebooks: many on one page, sandboxed, with a picture for places without scripts."""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

import opscope
from browser.harness import Open, until
from browser.samples import HOSTILE, named, network


def test_a_program_shows_itself() -> None:
    bundle = opscope.Program._repr_mimebundle_(network())
    assert bundle["text/plain"] == repr(network())
    assert bundle["text/html"].startswith("<iframe ")
    if "image/svg+xml" in bundle:
        assert ElementTree.fromstring(bundle["image/svg+xml"]).tag.endswith("svg")


def test_several_viewers_on_one_page(open_address: Open, tmp_path: Path) -> None:
    """Two outputs of one notebook, each with its own script, worker and state."""
    outputs = [opscope.Program._repr_mimebundle_(network(layers))["text/html"] for layers in (2, 4)]
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><title>notebook</title>{''.join(outputs)}", encoding="utf-8")
    viewer = open_address(page.as_uri(), wait=False)
    frames = until(
        lambda: [frame for frame in viewer.page.frames if frame != viewer.page.main_frame and frame.name is not None][:2]
    )
    counts = []
    for frame in frames:
        until(lambda frame=frame: frame.evaluate("!!window.opscope && window.opscope.state().status === 'ready'"))
        frame.evaluate("window.opscope.whenIdle()")
        counts.append(frame.evaluate("window.opscope.state().nodes"))
    assert counts == [len(network(2)), len(network(4))]
    frames[0].get_by_role("button", name="Flatten", exact=True).click()
    frames[0].evaluate("window.opscope.whenIdle()")
    assert [frame.evaluate("window.opscope.state().flatten") for frame in frames] == [True, False]


def test_names_cannot_leave_the_frame() -> None:
    output = opscope.Program._repr_mimebundle_(named(HOSTILE))["text/html"]
    attributes = re.fullmatch(r"<iframe ([^<>]*)></iframe>", output)
    assert attributes is not None, "no markup outside the frame's own tag"
    assert 'sandbox="allow-scripts allow-downloads"' in attributes[1]
    assert "allow-same-origin" not in attributes[1]


def test_show_in_a_script_opens_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    opscope.show(network(), graph="fused")
    path = Path(opened[0].removeprefix("file://"))
    text = path.read_text(encoding="utf-8")
    path.unlink()
    assert "<!doctype html>" in text and '"trail":["fused"]' in text
    with pytest.raises(opscope.OpscopeError, match="no graph named"):
        opscope.show(network(), graph="nope")


def test_show_in_a_notebook_displays(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    class Kernel:
        pass

    fake = ModuleType("IPython")
    fake.get_ipython = Kernel  # type: ignore[attr-defined]
    display = ModuleType("IPython.display")
    display.display = shown.append  # type: ignore[attr-defined]
    display.HTML = html.unescape  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    program = network()
    opscope.show(program)
    opscope.show(program, direction="LR")
    assert shown[0] is program
    assert '"direction":"LR"' in shown[1]
