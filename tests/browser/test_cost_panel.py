"""The cost panel: shares of modules and nodes, linked with the graph in both directions, and what the repeats of a stack have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import opscope
from browser.harness import Open, Viewer, until
from opscope import Metric
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.comparison import comparison_of

SECONDS = {"dot.0": 3e-3, "exp.0": 1e-3, "dot.1": 4e-3, "exp.1": 1e-3, "end": 1e-3}


def layers(name: str = "layers", seconds: Mapping[str, float] = SECONDS) -> Program:
    """Two layers that take 4 and 5 ms, and 1 ms after them."""
    builder = ProgramBuilder(name, "main")
    kind = [TensorType("f32", (8, 8))]
    main = builder.graph("main")
    last = main.node("x", "parameter", outputs=kind, role="parameter").id
    for i in range(2):
        main.node(f"dot.{i}", "dot", [(last, 0)], kind, scope=(f"layer_{i}", "mlp"))
        last = main.node(f"exp.{i}", "exponential", [(f"dot.{i}", 0)], kind, scope=(f"layer_{i}",)).id
    main.node("end", "tanh", [(last, 0)], kind)
    main.outputs.append(("end", 0))
    return builder.build().with_metric(Metric("device time", "s", "sum", "measured"), seconds)


def cell(viewer: Viewer, name: str) -> Any:
    return viewer.page.get_by_role("group", name="Shares").get_by_role("button", name=name, exact=True)


def test_modules_are_as_wide_as_their_share_and_linked_with_the_graph(open_file: Open) -> None:
    viewer = open_file(layers())
    viewer.key("h")
    shares = viewer.page.get_by_role("group", name="Shares").get_by_role("button")
    until(lambda: shares.count() == 10)
    assert viewer.page.get_by_role("status", name="Cost of").inner_text() == "10 ms, measured"
    assert viewer.page.get_by_label("Width", exact=True).input_value() == "device time"
    whole = cell(viewer, "layers: 10 ms, 100.0%").bounding_box()["width"]
    slow = cell(viewer, "layer_1: 5 ms, 50.0%").bounding_box()
    assert abs(slow["width"] / whole - 0.5) < 0.01
    cell(viewer, "dot.1: 4 ms, 40.0%").click()
    until(lambda: viewer.idle()["selectedNode"] == "dot.1")
    until(lambda: cell(viewer, "dot.1: 4 ms, 40.0%").get_attribute("aria-pressed") == "true")
    viewer.row("exponential").click()
    until(lambda: cell(viewer, "exp.0: 1 ms, 10.0%").get_attribute("aria-pressed") == "true")
    cell(viewer, "layer_1: 5 ms, 50.0%").dblclick()
    until(lambda: shares.count() == 4)
    viewer.press("Show all")
    until(lambda: shares.count() == 10)
    viewer.page.get_by_label("Width", exact=True).select_option("output bytes")
    until(lambda: "given" in viewer.page.get_by_role("status", name="Cost of").inner_text())


def test_of_two_profiles_it_shows_what_got_slower(open_file: Open) -> None:
    later = layers("later", {**SECONDS, "dot.1": 6e-3, "exp.0": 5e-4})
    viewer = open_file(comparison_of(opscope.diff(layers(), later)))
    until(lambda: cell(viewer, "layer_1: +2 ms, +20.0% of the time before").is_visible())
    status = viewer.page.get_by_role("status", name="Cost of").inner_text()
    assert status == "+1.5 ms, measured: +2 ms where it got slower, −500 µs where it got faster"
    assert viewer.page.get_by_label("Width", exact=True).input_value() == "device time change"
    slower, faster = (
        cell(viewer, name) for name in ("dot.1: +2 ms, +20.0% of the time before", "exp.0: −500 µs, −5.0% of the time before")
    )
    assert abs(slower.bounding_box()["width"] / faster.bounding_box()["width"] - 4) < 0.1
    assert slower.bounding_box()["x"] < faster.bounding_box()["x"]
    viewer.key("b")
    viewer.press("Modules")
    until(lambda: "+2 ms" in viewer.page.get_by_role("region", name="Table").inner_text())


def test_a_stack_says_which_repeat_has_the_most(open_file: Open, tmp_path: Path) -> None:
    opscope.save(layers(), tmp_path / "time.svg", colour_by="device time")
    assert "each 4.5 ms on average, 4 ms to 5 ms; most in layer_1" in (tmp_path / "time.svg").read_text("utf-8"), "in its tooltip"
    viewer = open_file(layers())
    viewer.row("layer_0").click()
    viewer.idle()
    facts = " ".join(viewer.page.get_by_label("About the selection").inner_text().split())
    assert re.search("device time measured 9 ms · 90.0% each 4.5 ms on average, 4 ms to 5 ms; most in layer_1", facts), facts
    viewer.key("h")
    marked = [cell(viewer, name) for name in ("layer_0: 4 ms, 40.0%", "layer_1: 5 ms, 50.0%")]
    until(lambda: all(each.get_attribute("aria-pressed") == "true" for each in marked))
