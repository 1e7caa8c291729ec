"""Numbers about nodes in the viewer: in the table, as colours with their unit, in the details of nodes and groups, and in tooltips."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import opscope
from browser.harness import Open, Viewer, until
from opscope import Metric
from opscope.analysis.info import info_of
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.view_options import ViewOptions


def layers() -> Program:
    """Two layers of a product and an exponential, and a loop of seven rounds: 2 × (2·8·8·8 + 64) + 7 × 64 = 2624 FLOPs."""
    builder = ProgramBuilder("layers", "main")
    kind = [TensorType("f32", (8, 8))]
    body = builder.graph("body")
    body.node("p", "parameter", outputs=kind, role="parameter")
    body.node("sine", "sine", [("p", 0)], kind)
    body.outputs.append(("sine", 0))
    main = builder.graph("main")
    main.node("x", "parameter", outputs=kind, role="parameter")
    last = "x"
    for i in range(2):
        contract = {"lhs_contracting_dims": "{1}", "rhs_contracting_dims": "{0}"}
        main.node(f"w.{i}", "parameter", outputs=kind, role="parameter", scope=(f"layer_{i}", "mlp"))
        main.node(f"dot.{i}", "dot", [(last, 0), (f"w.{i}", 0)], kind, scope=(f"layer_{i}", "mlp"), attrs=contract)
        last = main.node(f"exp.{i}", "exponential", [(f"dot.{i}", 0)], kind, scope=(f"layer_{i}",)).id
    trips = {"backend_config": '{"known_trip_count":{"n":"7"}}'}
    main.node("loop", "while", [(last, 0)], kind, calls=["body"], attrs=trips)
    main.outputs.append(("loop", 0))
    return builder.build().with_metric(Metric("latency", "s", "max", "measured"), {"dot.0": 3e-6, "exp.0": 1e-6, "dot.1": 2e-6})


def legend(viewer: Viewer) -> str:
    return viewer.page.get_by_role("img", name=re.compile("^Colours:")).get_attribute("aria-label") or ""


def details(viewer: Viewer) -> str:
    viewer.idle()
    return " ".join(viewer.page.get_by_label("About the selection").inner_text().split())


def svg(viewer: Viewer) -> str:
    with viewer.page.expect_download() as saved:
        viewer.press("Save SVG")
    return Path(saved.value.path()).read_text("utf-8")


def rows(viewer: Viewer) -> list[dict[str, str]]:
    """The table that is shown."""
    viewer.press("Copy as CSV")
    return list(csv.DictReader(viewer.page.evaluate("navigator.clipboard.readText()").splitlines()))


def test_details_say_what_a_node_a_group_and_the_program_have(open_file: Open) -> None:
    viewer = open_file(layers(), options=ViewOptions(depth=2))
    assert "flops estimated 2.62 kFLOP" in details(viewer) and "latency measured 3 µs" in details(viewer)
    viewer.press("Fold repeats")
    viewer.press("Expand all")
    viewer.search("id:dot.0")
    viewer.key("Enter")
    assert "flops estimated 1.02 kFLOP · 39.0%" in details(viewer)
    viewer.row("layer_0").click()
    assert "flops estimated 1.09 kFLOP · 41.5%" in details(viewer) and "latency measured 3 µs" in details(viewer)
    viewer.search("id:sine")
    viewer.key("Enter")
    assert "flops estimated 64 FLOP · 17.1%" in details(viewer), "one round of seven, and the share of all of them, as on its box"


def test_boxes_are_coloured_by_a_metric_with_its_unit_in_the_legend(open_file: Open) -> None:
    viewer = open_file(layers(), options=ViewOptions(depth=0))
    viewer.press("Fold repeats")
    options = viewer.page.get_by_label("Colour by", exact=True).locator("option").all_inner_texts()
    assert {"op category", "output bytes", "users", "flops", "bytes", "latency"} <= set(options)
    plain = legend(viewer)
    assert viewer.choose("Colour by", "flops")["colour"] == "flops"
    assert legend(viewer) != plain
    assert "448 FLOP" in legend(viewer) and "1.09 kFLOP" in legend(viewer), "the loop, and each of the layers"
    assert "flops, estimated: 2.62 kFLOP in total" in legend(viewer)
    viewer.choose("Colour by", "latency")
    assert "2 µs" in legend(viewer) and "3 µs" in legend(viewer) and "latency, measured: 3 µs at most" in legend(viewer)
    viewer.press("Fold repeats")
    viewer.choose("Colour by", "flops")
    assert "2.18 kFLOP" in legend(viewer), "a stack has the sum of its repeats"
    viewer.choose("Colour scale", "share")
    assert "heat=share" in viewer.page.url
    assert legend(viewer).startswith("Colours: 0.0%, 41.5%, 82.9%, flops"), legend(viewer)
    assert ">82.9%</text>" in svg(viewer), "on the box of the stack"


def test_the_table_has_a_column_for_each_metric(open_file: Open) -> None:
    viewer = open_file(layers(), permissions=["clipboard-read", "clipboard-write"])
    viewer.press("Table")
    table = viewer.page.get_by_role("table")
    until(lambda: table.get_by_role("columnheader", name="flops").count())
    table.get_by_role("button", name="flops").click()
    until(lambda: table.get_by_role("columnheader", name="flops").get_attribute("aria-sort") == "descending")
    until(lambda: table.get_by_role("row").nth(1).get_by_role("cell", name="1.02 kFLOP").count())
    numbers = [row["flops"] for row in rows(viewer)]
    assert numbers == ["1024", "1024", "448", "64", "64", "", "", ""], "sorted, and a parameter has none"
    viewer.press("Modules")
    until(lambda: table.get_by_role("cell", name="layer_0/mlp").count())
    assert {row["module"]: row["flops"] for row in rows(viewer)} == {
        "layer_0": "1088",
        "layer_0/mlp": "1024",
        "layer_1": "1088",
        "layer_1/mlp": "1024",
    }


def test_a_tooltip_says_the_number_behind_a_colour(open_file: Open) -> None:
    viewer = open_file(layers(), options=ViewOptions(flatten=True, colour_by="flops"))
    assert viewer.state()["colour"] == "flops", "asked for when the page was written"
    assert "<title>dot\ndot.0\nf32[8, 8]\nflops 1.02 kFLOP, estimated</title>" in svg(viewer)
    viewer.search("id:loop")
    viewer.key("Enter")
    viewer.press("Zoom to selection")
    canvas = viewer.page.locator("canvas.graph").bounding_box()
    viewer.page.mouse.move(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2)
    tip = viewer.page.get_by_role("tooltip")
    tip.wait_for()
    assert "flops 448 FLOP, estimated" in tip.inner_text() and "bytes 3.58 kB, estimated" in tip.inner_text()


def test_files_of_node_data_are_metrics_like_any_other(open_file: Open, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"name": "score", "results": {"dot.0": {"value": 5}, "exp.0": {"value": 7}, "sine": {"value": 9}}}))
    viewer = open_file(layers(), options=ViewOptions(node_data=(file,), depth=0))
    assert viewer.state()["colour"] == "data:score"
    assert "7" in legend(viewer) and "score: 3 nodes, min 5, max 9, sum 21, mean 7, given" in legend(viewer)
    viewer.press("Fold repeats")
    viewer.row("layer_0").click()
    assert "score given 7" in details(viewer), "a group has the largest number in it"


def test_a_metric_that_is_not_there_is_said(open_file: Open) -> None:
    viewer = open_file(layers(), options=ViewOptions(colour_by="memory"))
    viewer.page.get_by_text('There is no metric "memory" here.').wait_for()


def test_totals_say_how_many_operations_they_lack(open_file: Open) -> None:
    """The panel says what `opscope info demo:detach` does."""
    program = opscope.load("demo:detach")
    info = info_of(program)
    assert (info.flops, info.unknown_flops) == (127, 3)
    assert "flops estimated at least 127 FLOP, 3 operations unknown" in details(open_file(program))
