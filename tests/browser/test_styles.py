"""The style editor and node data in the viewer: rules as one types them, Model Explorer's files as they are, colours and numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opscope
from browser.harness import Open, Viewer, until
from browser.test_access import findings
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.view_options import ViewOptions

RULES: list[dict[str, Any]] = [
    {
        "queries": [
            {"type": "node_type", "nodeType": "op_nodes"},
            {"type": "regex", "queryRegex": "aten.", "matchTypes": ["title"]},
        ],
        "nodeType": "op_nodes",
        "styles": {"node_bg_color": {"id": "node_bg_color", "value": "#b4e3f5"}},
        "version": "v2",
        "unknown": "stays",
    }
]


def small() -> Program:
    builder = ProgramBuilder("small", "main")
    graph = builder.graph("main")
    kind = [TensorType("f32", (4,))]
    graph.node("x", "input", (), kind, role="parameter")
    graph.node("conv", "aten.conv2d.default", [("x", 0)], kind, scope=("layer",), attrs={"groups": 8})
    graph.node("relu", "aten.relu.default", [("conv", 0)], kind, scope=("layer",), attrs={"groups": 2})
    graph.node("sum", "aten.sum.default", [("relu", 0)], kind)
    graph.outputs = [("sum", 0)]
    return builder.build()


def rule(viewer: Viewer, number: int) -> Any:
    return viewer.page.get_by_role("listitem", name=f"Rule {number}", exact=True)


def said(viewer: Viewer, number: int) -> str:
    text: str = rule(viewer, number).get_by_role("status").inner_text()
    return text


def svg(viewer: Viewer) -> str:
    with viewer.page.expect_download() as waiting:
        viewer.press("Save SVG")
    return Path(waiting.value.path()).read_text("utf-8")


def test_rules_are_written_counted_moved_and_forgotten(open_file: Open) -> None:
    viewer = open_file(small())
    viewer.press("Styles")
    viewer.press("Add rule")
    assert said(viewer, 1) == "enter a pattern"
    pattern = viewer.page.get_by_label("Rule 1: regular expression")
    pattern.fill("conv|RELU")
    viewer.idle()
    assert said(viewer, 1) == "2 matches"
    assert "#ffe9b8" in svg(viewer)
    pattern.fill("conv(")
    viewer.idle()
    assert "conv(" in said(viewer, 1)
    assert "#ffe9b8" not in svg(viewer)
    pattern.fill("aten")
    viewer.idle()  # the error goes, and with it the button moves
    viewer.press("Rule 1: add a number range")
    viewer.page.get_by_label("Rule 1: attribute").fill("groups")
    viewer.page.get_by_label("Rule 1: min").fill("4")
    viewer.idle()
    assert said(viewer, 1) == "1 match"
    viewer.page.get_by_label("Rule 1: node type").select_option("layer_nodes")
    viewer.idle()
    assert said(viewer, 1) == "0 matches"
    viewer.press("Duplicate rule 1")
    viewer.page.get_by_label("Rule 2: regular expression").fill("sum")
    viewer.press("Move rule 2 up")
    assert viewer.page.get_by_label("Rule 1: regular expression").input_value() == "sum"
    viewer.press("Delete rule 1")
    assert viewer.page.get_by_label("Rule 1: regular expression").input_value() == "aten"
    viewer.press("Clear rules")
    assert rule(viewer, 1).count() == 0


def test_edges_and_text_can_be_coloured(open_file: Open) -> None:
    viewer = open_file(small())
    viewer.press("Styles")
    viewer.press("Add rule")
    viewer.page.get_by_label("Rule 1: regular expression").fill("conv")
    viewer.press("Rule 1: background, remove")
    viewer.press("Rule 1: edges, choose")
    viewer.press("Rule 1: text, choose")
    viewer.page.get_by_label("Rule 1: edges", exact=True).fill("#ff8800")
    viewer.page.get_by_label("Rule 1: text", exact=True).fill("#aa0000")
    viewer.press("Expand all")
    picture = svg(viewer)
    assert picture.count('stroke="#ff8800"') == 1 and 'fill="#aa0000"' in picture and "#ffe9b8" not in picture


def test_looks_of_model_explorers_files_are_drawn(open_address: Open, tmp_path: Path) -> None:
    """Colours of nodes and groups, and edges over the graph with their labels and a legend, which can be switched off."""
    edge = {"sourceNodeOutputId": "0", "targetNodeInputId": "0"}
    nodes: list[dict[str, object]] = [
        {"id": "a", "label": "First", "namespace": "block", "style": {"backgroundColor": "#aabbcc", "textColor": "navy"}},
        {"id": "b", "label": "Second", "namespace": "block", "incomingEdges": [{"sourceNodeId": "a", **edge}]},
        {"id": "c", "label": "Third", "namespace": "", "incomingEdges": [{"sourceNodeId": "b", **edge}]},
    ]
    overlay = {"name": "reuse", "edgeColor": "#d6336c", "edges": [{"sourceNodeId": "a", "targetNodeId": "c", "label": "buffer 3"}]}
    graph = {
        "id": "main", "nodes": nodes,
        "groupNodeConfigs": [{"namespaceRegex": "^bl", "backgroundColor": "#ffeecc"}, {"namespaceRegex": "("}],
        "tasksData": {"edgeOverlaysDataListLeftPane": [{"type": "edge_overlays", "name": "memory", "overlays": [overlay]}]},
    }  # fmt: skip
    source = tmp_path / "graph.json"
    source.write_text(json.dumps({"label": "styled", "graphs": [graph]}))
    opscope.save(opscope.load(source), tmp_path / "graph.html", depth=2)
    viewer = open_address((tmp_path / "graph.html").as_uri())
    picture = svg(viewer)
    for expected in ("#aabbcc", "#000080", "#ffeecc", "#d6336c", "buffer 3", "memory: reuse"):
        assert expected in picture
    edges = viewer.state()["edges"]
    assert viewer.press("Edge overlays")["edges"] == edges - 1
    assert "#d6336c" not in svg(viewer)
    opscope.save(opscope.load(source), tmp_path / "again.json", format="model-explorer")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(source.read_text())


def test_model_explorers_rules_come_in_and_go_out_unchanged_and_last(open_file: Open, tmp_path: Path) -> None:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps(RULES))
    viewer = open_file(small())
    viewer.press("Styles")
    with viewer.page.expect_file_chooser() as chooser:
        viewer.page.get_by_role("button", name="Import rules", exact=True).click()
    chooser.value.set_files(file)
    rule(viewer, 1).wait_for()
    viewer.idle()
    assert said(viewer, 1) == "3 matches"
    with viewer.page.expect_download() as waiting:
        viewer.press("Export rules")
    assert json.loads(Path(waiting.value.path()).read_text()) == RULES
    viewer.page.reload()
    until(lambda: viewer.page.evaluate("window.opscope?.state().status === 'ready'"))
    assert "#b4e3f5" in svg(viewer), "rules are there on the next visit"


def test_executorchs_style_file_works_as_it_is(open_file: Open, shared_data: Path) -> None:
    builder = ProgramBuilder("tagged", "main")
    graph = builder.graph("main")
    graph.node("x", "input", role="parameter")
    graph.node("q", "quantized_decomposed.quantize_per_tensor.default", [("x", 0)])
    graph.node("conv", "aten.convolution.default", [("q", 0)])
    graph.node("cumsum", "aten.cumsum.default", [("conv", 0)])
    for name in ("q", "conv"):
        graph.group("partition", name, ("partition 1 (tag)", "cluster (c)"))
    style = shared_data / "executorch" / "cluster_highlight_style.json"
    viewer = open_file(builder.build(), options=ViewOptions(style=style, group_by="partition", depth=3))
    picture = svg(viewer)
    assert all(f'fill="{colour}"' in picture for colour in ("#dce9e9", "#b4e3f5", "#d0eae9", "#fdffcc"))


def test_node_data_colours_boxes_and_is_a_column_with_statistics(open_file: Open, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    gradient = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#ff0000"}]
    values = {"conv": {"value": 30}, "relu": {"value": 10}, "sum": {"value": 20}, "nobody": {"value": 1}}
    file.write_text(json.dumps({"name": "latency", "results": values, "gradient": gradient}))
    viewer = open_file(small())
    viewer.press("Styles")
    with viewer.page.expect_file_chooser() as chooser:
        viewer.page.get_by_role("button", name="Load node data", exact=True).click()
    chooser.value.set_files(file)
    numbers = viewer.page.get_by_label("Statistics of latency")
    numbers.wait_for()
    assert viewer.idle()["colour"] == "data:latency"
    told = " ".join(numbers.inner_text().split())
    assert told == "latency 3 nodes, 1 entries match no node min 10 max 30 sum 60 mean 20"
    viewer.press("Expand all")
    picture = svg(viewer)
    assert 'fill="#ff0000"' in picture and "latency: 3 nodes, min 10, max 30, sum 60, mean 20" in picture
    assert "latency" in (viewer.page.get_by_role("img", name="Colours:").get_attribute("aria-label") or "")
    viewer.choose("Colour by", "category")
    assert "#ff0000" not in svg(viewer)
    viewer.press("Table")
    viewer.page.get_by_role("button", name="latency", exact=True).last.click()
    viewer.idle()
    table = viewer.page.get_by_label("Table of nodes").inner_text()
    assert table.index("conv2d") < table.index("sum.default") < table.index("relu"), "sorted by the data, the largest first"


def test_data_and_rules_can_be_part_of_the_file(open_file: Open) -> None:
    data = ({"name": "a", "results": {"conv": {"value": 1}}}, {"name": "b", "results": {"sum": {"value": "slow", "bgColor": "#00ff00"}}})
    viewer = open_file(small(), options=ViewOptions(node_data=data, style=RULES, depth=2))
    assert viewer.state()["colour"] == "data:a"
    options = viewer.page.get_by_label("Colour by", exact=True).locator("option").all_inner_texts()
    assert {"a", "b"} <= set(options)
    viewer.choose("Colour by", "data:b")
    assert 'fill="#00ff00"' in svg(viewer)
    viewer.choose("Colour by", "category")
    assert "#b4e3f5" in svg(viewer)


def test_a_file_that_is_neither_is_refused_with_a_sentence(open_file: Open, tmp_path: Path) -> None:
    file = tmp_path / "no.json"
    viewer = open_file(small())
    viewer.press("Styles")
    refused = {"{]": "no.json is not a style or node-data file", '{"a": 1}': "no.json: no node data", "[1]": "style rule 1"}
    for text, sentence in refused.items():
        file.write_text(text)
        with viewer.page.expect_file_chooser() as chooser:
            viewer.page.get_by_role("button", name="Load node data", exact=True).click()
        chooser.value.set_files(file)
        viewer.page.get_by_role("status").filter(has_text=sentence).wait_for()


def test_files_can_be_dropped_on_the_graph(open_file: Open) -> None:
    viewer = open_file(small())
    drop = """text => {
      const carried = new DataTransfer();
      carried.items.add(new File([text], "dropped.json", {type: "application/json"}));
      const graph = document.querySelector("#opscope").shadowRoot.querySelector("canvas.graph");
      graph.dispatchEvent(new DragEvent("drop", {dataTransfer: carried, bubbles: true, cancelable: true, composed: true}));
    }"""
    viewer.page.evaluate(drop, json.dumps({"results": {"sum": {"value": 2, "bgColor": "#00ff00"}}}))
    until(lambda: viewer.idle()["colour"] == "data:dropped")
    assert 'fill="#00ff00"' in svg(viewer)
    viewer.page.evaluate(drop, json.dumps(RULES))
    viewer.press("Styles")
    until(lambda: said(viewer, 1) == "3 matches")


def test_from_the_server_attributes_come_when_rules_ask_for_them(open_address: Open, server: Callable[..., str], tmp_path: Path) -> None:
    """The server sends attributes only when asked: rules and data that need them still match."""
    opscope.save(small(), tmp_path / "p.json")
    by_attribute = {**RULES[0], "queries": [{"type": "regex", "queryRegex": "groups[:=]8", "matchTypes": ["list"]}]}
    (tmp_path / "rules.json").write_text(json.dumps([by_attribute]))
    (tmp_path / "run.json").write_text(json.dumps({"name": "run", "results": {"relu": {"value": 4.5}}}))
    address = server(tmp_path / "p.json", "--style", tmp_path / "rules.json", "--node-data", tmp_path / "run.json")
    viewer = open_address(address)
    assert viewer.state()["colour"] == "data:run"
    viewer.press("Expand all")
    viewer.row("relu").click()
    viewer.idle()
    assert "4.5" in viewer.page.get_by_label("About the selection").inner_text()
    viewer.choose("Colour by", "category")
    viewer.press("Styles")
    assert said(viewer, 1) == "1 match"
    assert svg(viewer).count('fill="#b4e3f5"') == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_is_accessible(open_file: Open, scheme: str) -> None:
    options = ViewOptions(style="clusters", node_data=({"name": "a", "results": {"conv": {"value": 1}}},))
    viewer = open_file(small(), options=options, color_scheme=scheme)
    viewer.press("Styles")
    assert findings(viewer) == []
