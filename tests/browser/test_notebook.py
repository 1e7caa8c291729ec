"""Programs in notebooks: many on one page, sandboxed, with a picture where scripts do not run."""

from __future__ import annotations

import html
import re
import sys
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
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


def test_marimo_gets_the_viewer_alone() -> None:
    kind, value = network()._mime_()
    assert kind == "text/html" and value.startswith("<iframe ")


def test_several_viewers_on_one_page(open_address: Open, tmp_path: Path) -> None:
    """Two outputs of one notebook, each with its own script, worker and state."""
    outputs = [opscope.Program._repr_mimebundle_(network(layers))["text/html"] for layers in (2, 4)]
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><title>notebook</title>{''.join(outputs)}", encoding="utf-8")
    viewer = open_address(page.as_uri(), wait=False)
    frames = until(lambda: [frame for frame in viewer.page.frames if frame != viewer.page.main_frame and frame.name is not None][:2])
    counts = []
    for frame in frames:
        until(partial(frame.evaluate, "!!window.opscope && window.opscope.state().status === 'ready'"))
        frame.evaluate("window.opscope.whenIdle()")
        counts.append(frame.evaluate("window.opscope.state().nodes"))
    assert counts == [network(2).node_count, network(4).node_count]
    frames[0].get_by_role("button", name="Flatten", exact=True).click()
    frames[0].evaluate("window.opscope.whenIdle()")
    assert [frame.evaluate("window.opscope.state().flatten") for frame in frames] == [True, False]


def test_names_cannot_leave_the_frame() -> None:
    output = opscope.Program._repr_mimebundle_(named(HOSTILE))["text/html"]
    attributes = re.fullmatch(r'<iframe ([^<>]*)>(?:<img alt="[^"<>]*" src="[^"<>]*">|[^<>]*)</iframe>', output)
    assert attributes is not None, "no markup but the frame and its fallback picture"
    assert 'sandbox="allow-scripts allow-downloads"' in attributes[1]
    assert "allow-same-origin" not in attributes[1]


def test_show_in_a_script_opens_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_address(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", open_address)
    opscope.show(network(), graph="fused")
    path = Path(opened[0].removeprefix("file://"))
    text = path.read_text(encoding="utf-8")
    path.unlink()
    assert "<!doctype html>" in text and '"graph":"fused"' in text
    with pytest.raises(opscope.OpscopeError, match="no graph named"):
        opscope.show(network(), graph="nope")


def test_show_in_a_notebook_displays(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    class Kernel:
        pass

    fake = ModuleType("IPython")
    fake.get_ipython = Kernel  # type: ignore[attr-defined]
    display = ModuleType("IPython.display")
    display.display = lambda bundle, raw: shown.append(html.unescape(bundle["text/html"]))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    opscope.show(network())
    opscope.show(network(), rankdir="LR")
    assert '"rankdir":"LR"' not in shown[0] and '"rankdir":"LR"' in shown[1]


def test_show_in_marimo_displays(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    fake = ModuleType("marimo")
    fake.running_in_notebook = lambda: True  # type: ignore[attr-defined]
    fake.Html = html.unescape  # type: ignore[attr-defined]
    fake.output = SimpleNamespace(append=shown.append)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "marimo", fake)
    opscope.show(network(), flatten=True)
    assert '"flatten":true' in shown[0]


def test_a_notebook_that_is_not_trusted_keeps_a_picture(open_address: Open, tmp_path: Path) -> None:
    """JupyterLab removes the frames of an untrusted notebook and keeps their content."""
    output = opscope.Program._repr_mimebundle_(network())["text/html"]
    page = tmp_path / "untrusted.html"
    page.write_text(re.sub(r"</?iframe[^>]*>", "", output), encoding="utf-8")
    viewer = open_address(page.as_uri(), wait=False)
    picture = viewer.page.get_by_role("img", name="network")
    assert picture.evaluate("each => each.decode().then(() => each.naturalWidth)") > 100


def test_executed_notebooks_and_their_html(open_address: Open, tmp_path: Path) -> None:
    """A real kernel runs `opscope.show` and a bare Program; the saved notebook and its HTML contain the viewers."""
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    nbconvert = pytest.importorskip("nbconvert", reason="nbconvert is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    opscope.save(network(), tmp_path / "network.json")
    notebook = nbformat.v4.new_notebook()
    load = f"import opscope\nprogram = opscope.load({str(tmp_path / 'network.json')!r})\nprogram"
    notebook.cells = [nbformat.v4.new_code_cell(load), nbformat.v4.new_code_cell("opscope.show(program, flatten=True)")]
    nbclient.NotebookClient(notebook, kernel_name="python3", env=None).execute()
    outputs = [cell.outputs for cell in notebook.cells]
    assert [[output.output_type for output in cell] for cell in outputs] == [["execute_result"], ["display_data"]], "and no warning"
    page = tmp_path / "notebook.html"
    page.write_text(nbconvert.HTMLExporter(mathjax_url="", require_js_url="").from_notebook_node(notebook)[0], encoding="utf-8")
    viewer = open_address(page.as_uri(), wait=False)
    frames = until(lambda: len(viewer.page.frames) == 3 and viewer.page.frames[1:])
    for frame in frames:
        until(partial(frame.evaluate, "!!window.opscope && window.opscope.state().status === 'ready'"))
    assert [frame.evaluate("window.opscope.state().flatten") for frame in frames] == [False, True]
