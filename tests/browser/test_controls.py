"""Every control through its accessible name, in a page from file:// and in one from the server."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

import opscope
from browser.harness import Open, Viewer, until
from browser.samples import network
from opscope.program import ProgramBuilder, TensorType
from opscope.view_options import ViewOptions


@pytest.fixture(scope="module")
def served_network(shared_server: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> str:
    source = tmp_path_factory.mktemp("network") / "network.json"
    opscope.save(network(), source)
    return shared_server(source)


@pytest.fixture(params=["file", "server"])
def viewer(request: pytest.FixtureRequest, open_file: Open, open_address: Open) -> Viewer:
    if request.param == "file":
        return open_file(network(), permissions=["clipboard-read", "clipboard-write"])
    return open_address(request.getfixturevalue("served_network"), permissions=["clipboard-read", "clipboard-write"])


def test_it_shows_the_program(viewer: Viewer) -> None:
    state = viewer.state()
    assert state["status"] == "ready"
    assert state["program"] == "network"
    assert state["graph"] == "main"
    assert state["nodes"] == network().node_count
    assert 0 < state["boxes"] <= network().node_count + 10
    assert state["lastLayoutMs"] > 0


def test_expand_collapse_and_flatten(viewer: Viewer) -> None:
    collapsed = viewer.press("Collapse all")
    assert collapsed["expanded"] == []
    expanded = viewer.press("Expand all")
    assert expanded["boxes"] > collapsed["boxes"]
    assert any(key.startswith(("g:layer_0", "x:layer_0")) for key in expanded["expanded"])
    assert "n:fusion.1" in expanded["expanded"]
    flat = viewer.press("Flatten")
    assert flat["flatten"] is True
    assert not any(key.startswith(("g:", "x:")) for key in flat["expanded"])
    assert viewer.press("Flatten")["flatten"] is False


def test_fold_repeats(viewer: Viewer) -> None:
    folded = viewer.press("Collapse all")
    assert viewer.row("layer_0").count() == 1
    unfolded = viewer.press("Fold repeats")
    assert folded["foldRepeats"] is True and unfolded["foldRepeats"] is False
    assert unfolded["boxes"] == folded["boxes"] + 2, "three layers were one stack"


def test_group_by(viewer: Viewer) -> None:
    assert viewer.choose("Group by", "phase")["grouping"] == "phase"
    viewer.press("Collapse all")
    assert viewer.row("early").count() == 1


@pytest.mark.parametrize("colour", ["dtype", "op", "group", "output bytes", "users", "attr:cost", "attr:index"])
def test_colour_by(viewer: Viewer, colour: str) -> None:
    viewer.press("Flatten")
    before = viewer.page.locator(".legend").get_attribute("aria-label")
    assert viewer.choose("Colour by", colour)["colour"] == colour
    assert viewer.page.locator(".legend").get_attribute("aria-label") != before


def test_direction_and_theme(viewer: Viewer) -> None:
    tall = viewer.state()
    assert viewer.press("Layout direction")["direction"] == "LR"
    assert viewer.press("Theme")["theme"] != tall["theme"]
    assert viewer.press("Theme")["theme"] == tall["theme"]


def test_fit_and_zoom(viewer: Viewer) -> None:
    fitted = viewer.press("Fit")["camera"]
    assert viewer.press("Zoom in")["camera"]["scale"] == pytest.approx(fitted["scale"] * 1.5)
    assert viewer.press("Zoom out")["camera"]["scale"] == pytest.approx(fitted["scale"])
    viewer.page.get_by_role("button", name="Zoom to 100 %").click()
    assert viewer.idle()["camera"]["scale"] == pytest.approx(1)
    assert viewer.press("Fit")["camera"] == pytest.approx(fitted)
    viewer.row("reduce").click()
    assert viewer.press("Zoom to selection")["camera"] != pytest.approx(fitted)


def test_search_as_you_type_next_previous_and_only_matches(viewer: Viewer) -> None:
    everything = viewer.press("Flatten")["boxes"]
    assert viewer.search("op:dot")["matches"] == 3
    assert viewer.page.get_by_role("listbox", name="Matches").get_by_role("option").count() == 3
    first = viewer.key("Enter")["selectedNode"]
    assert viewer.press("Next match")["selectedNode"] != first
    assert viewer.press("Previous match")["selectedNode"] == first
    only = viewer.press("Show only matches with their neighbours")["boxes"]
    assert 0 < only < everything
    assert viewer.press("Clear")["boxes"] == everything
    assert viewer.search("/dot\\.[12]$/")["matches"] == 2
    assert viewer.search("attr.backend_config:algorithm")["matches"] == 3
    assert viewer.search("/(/")["matches"] == 0
    assert viewer.page.get_by_role("listbox", name="Matches").inner_text() != ""


def test_search_finds_what_is_hidden_in_a_closed_group_or_another_graph(viewer: Viewer) -> None:
    viewer.press("Collapse all")
    viewer.search("id:relu.1")
    assert viewer.key("Enter")["selectedNode"] == "relu.1"
    viewer.search("op:tanh")
    state = viewer.key("Enter")
    assert state["selectedNode"] == "inner"
    assert "n:fusion.1" in state["expanded"], "the fusion is opened in place"


def test_details_of_a_node(viewer: Viewer) -> None:
    viewer.search("id:dot.1")
    viewer.key("Enter")
    details = viewer.page.get_by_role("complementary", name="Details")
    text = details.inner_text()
    for expected in ("f32[32, 64]", "8.19 kB", "bf16[64, 64]", "model.py:41", "attention", '"algorithm": 1', "relu.1", "layer_1"):
        assert expected in text
    details.get_by_role("button", name="relu.1").first.click()
    assert viewer.idle()["selectedNode"] == "relu.1"
    viewer.search("id:dot.1")
    viewer.key("Enter")
    details.get_by_role("button", name="Copy backend_config").click()
    viewer.idle()
    assert json.loads(viewer.page.evaluate("navigator.clipboard.readText()"))["gemm"]["algorithm"] == 1


def test_upstream_and_downstream(viewer: Viewer) -> None:
    viewer.search("id:relu.1")
    viewer.key("Enter")
    viewer.press("Upstream: more")
    assert "up=1" in viewer.page.url
    viewer.press("Downstream: all")
    assert "down=1000" in viewer.page.url
    viewer.press("Upstream: less")
    assert "up=" not in viewer.page.url


def test_two_selected_nodes_show_all_paths_between(viewer: Viewer) -> None:
    everything = viewer.press("Flatten")["boxes"]
    viewer.row("x").click()
    viewer.page.keyboard.down("Shift")
    viewer.page.get_by_role("treeitem", name="maximum").first.click()
    viewer.page.keyboard.up("Shift")
    assert len(viewer.idle()["selection"]) == 2
    state = viewer.press("Show all paths between")
    assert 2 <= state["boxes"] < everything
    assert viewer.press("Show all")["boxes"] == everything


def test_only_the_neighbours_of_a_node(viewer: Viewer) -> None:
    everything = viewer.press("Flatten")["boxes"]
    viewer.row("reduce").click()
    viewer.idle()
    near = viewer.press("Isolate (2 hops)")["boxes"]
    assert near < everything
    assert viewer.press("One more hop")["boxes"] >= near


def test_one_group_alone_with_what_goes_in_and_out(viewer: Viewer) -> None:
    """The rest of the graph is left out, the group is open, and the address leads to it."""
    viewer.press("Collapse all")
    everything = viewer.press("Fold repeats")["boxes"]
    viewer.row("layer_0").click()
    for name in ("Expand", "Collapse"):  # what a person closed is open all the same
        viewer.idle()
        viewer.page.get_by_role("button", name=name, exact=True).click()
    viewer.idle()
    alone = viewer.press("Show only this group")
    assert "g:layer_0: Block" in alone["expanded"]
    assert viewer.row("layer_2").count() == 0 and viewer.row("reduce").count() == 0
    assert viewer.page.get_by_text("Showing 1 hop around layer_0").is_visible()
    assert "g%3Alayer_0" in viewer.page.url
    assert viewer.press("Show all")["boxes"] >= everything


def test_graphs_and_breadcrumbs(viewer: Viewer) -> None:
    viewer.page.get_by_role("tab", name="Graphs").click()
    viewer.page.get_by_label("Filter graphs").fill("fus")
    viewer.page.get_by_role("option", name="fused").click()
    assert viewer.idle()["graph"] == "fused"
    viewer.page.get_by_role("navigation").get_by_role("button", name="main").click()
    assert viewer.idle()["graph"] == "main"


def test_back_and_forward_and_the_state_in_the_address(viewer: Viewer, open_address: Open) -> None:
    first = viewer.state()
    viewer.press("Collapse all")
    viewer.press("Flatten")
    viewer.page.go_back()
    until(lambda: viewer.state()["flatten"] is False)
    viewer.page.go_back()
    until(lambda: viewer.idle()["boxes"] == first["boxes"])
    viewer.page.go_forward()
    viewer.page.go_forward()
    until(lambda: viewer.state()["flatten"] is True)
    viewer.row("reduce").click()
    state = viewer.idle()
    again = open_address(viewer.page.url).state()
    assert (again["flatten"], again["boxes"], again["selection"]) == (True, state["boxes"], state["selection"])


def test_outline_follows_the_canvas_and_leads_it(viewer: Viewer) -> None:
    viewer.press("Fold repeats")
    viewer.press("Collapse all")
    viewer.page.get_by_role("tree").focus()
    viewer.key("Home", "ArrowDown")
    viewer.row("layer_0").click()
    viewer.page.get_by_role("tree").focus()
    opened = viewer.key("ArrowRight")
    assert "g:layer_0: Block" in opened["expanded"]
    assert viewer.row("layer_0").get_attribute("aria-expanded") == "true"
    assert viewer.row("attention").get_attribute("aria-level") == "2"
    assert viewer.key("ArrowLeft")["expanded"] == []


def test_table_of_nodes_and_modules(viewer: Viewer) -> None:
    viewer.press("Table")
    table = viewer.page.get_by_role("table")
    until(lambda: table.get_by_role("cell", name="dot.0", exact=True).count())
    viewer.page.get_by_label("Add column").select_option("cost")
    until(lambda: table.get_by_role("columnheader", name="cost").count())
    table.get_by_role("button", name="output bytes").click()
    until(lambda: table.get_by_role("columnheader", name="output bytes").get_attribute("aria-sort") == "descending")
    viewer.page.get_by_label("Filter rows").fill("op:dot")
    until(lambda: table.get_by_role("row").count() == 4)
    table.get_by_role("cell", name="dot.2", exact=True).click()
    assert viewer.idle()["selectedNode"] == "dot.2"
    viewer.press("Copy as CSV")
    lines = viewer.page.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].startswith("id,op,type,output bytes") and len(lines) == 4
    viewer.page.get_by_label("Filter rows").fill("")
    viewer.press("Modules")
    until(lambda: table.get_by_role("cell", name="layer_1: Block/attention").count())
    viewer.press("Close table")
    assert table.count() == 0


def test_the_table_of_modules_counts_as_boxes_do(open_file: Open) -> None:
    builder = ProgramBuilder("many", "main")
    main = builder.graph("main")
    kind = TensorType("f32", (4,))
    main.node("n0", "parameter", outputs=[kind], role="parameter")
    for i in range(1, 1235):
        main.node(f"n{i}", "tanh", [(f"n{i - 1}", 0)], [kind], scope=("layer",))
    main.node("result", "negate", [("n1234", 0)], [kind], scope=("head",))
    main.outputs.append(("result", 0))
    viewer = open_file(builder.build())
    assert "1,234 ops" in viewer.row("layer").inner_text()
    viewer.press("Table")
    viewer.press("Modules")
    until(lambda: viewer.page.get_by_role("cell", name="1,234", exact=True).count())


def test_save_svg_and_png(viewer: Viewer, tmp_path: Path) -> None:
    with viewer.page.expect_download() as saved:
        viewer.press("Save SVG")
    saved.value.save_as(tmp_path / "graph.svg")
    root = ElementTree.parse(tmp_path / "graph.svg").getroot()
    texts = {element.text for element in root.iter("{http://www.w3.org/2000/svg}text")}
    assert "reduce" in texts
    sizes = []
    for name in ("Save PNG", "Save visible part as PNG"):
        with viewer.page.expect_download() as saved:
            viewer.press(name)
        saved.value.save_as(tmp_path / "graph.png")
        data = (tmp_path / "graph.png").read_bytes()
        assert data.startswith(b"\x89PNG")
        sizes.append(int.from_bytes(data[16:20], "big"))
    assert sizes[0] > 100 and sizes[1] > 1000
    viewer.idle()


def test_save_html_as_seen(viewer: Viewer, open_address: Open, tmp_path: Path) -> None:
    """The file opens where the page was: what is open and selected, the camera, the panels, and it needs no server."""
    viewer.press("Expand all")
    viewer.row("reduce").click()
    viewer.press("Zoom in")
    seen = viewer.press("Table")
    with viewer.page.expect_download() as saved:
        viewer.press("Save HTML as seen")
    saved.value.save_as(tmp_path / "seen.html")
    assert (tmp_path / "seen.html").read_bytes().isascii(), "as all pages: a browser keeps others at twice the size"
    again = open_address((tmp_path / "seen.html").as_uri(), viewport={"width": 1400, "height": 900}).state()
    alike = ("program", "boxes", "edges", "expanded", "selection", "selectedNode", "panels", "options")
    assert {name: again[name] for name in alike} == {name: seen[name] for name in alike}
    assert again["camera"] == pytest.approx(seen["camera"], rel=1e-3, abs=1)
    viewer.idle()


def test_pictures_on_white_and_on_nothing(open_file: Open, tmp_path: Path) -> None:
    viewer = open_file(network(), color_scheme="dark")
    fills = []
    for name in ("Background as seen", "White background", "Transparent background"):
        viewer.press(name)
        with viewer.page.expect_download() as saved:
            viewer.press("Save SVG")
        saved.value.save_as(tmp_path / "graph.svg")
        rects = ElementTree.parse(tmp_path / "graph.svg").iter("{http://www.w3.org/2000/svg}rect")
        fills.append(next(rect.get("fill") for rect in rects))
    assert fills[:2] == ["#131316", "#FFFFFF"] and fills[2] not in fills[:2]
    with viewer.page.expect_download() as saved:
        viewer.press("Save PNG")
    saved.value.save_as(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes()[25] == 6, "with an alpha channel"


def test_copy_link_and_markdown(viewer: Viewer) -> None:
    viewer.press("Flatten")
    viewer.press("Copy link")
    assert viewer.page.evaluate("navigator.clipboard.readText()") == viewer.page.url
    viewer.row("reduce").click()
    viewer.idle()
    viewer.press("Copy as Markdown")
    assert "| `sum` | `reduce` | `f32[]` | `fusion.1` |" in viewer.page.evaluate("navigator.clipboard.readText()")


def test_panels_fold_away(viewer: Viewer) -> None:
    for name in ("Outline", "Details"):
        panel = viewer.page.get_by_role("complementary", name=name)
        assert panel.count() == 1
        viewer.press(name)
        assert panel.count() == 0


def test_options_of_the_command_line_are_what_is_shown_first(open_file: Open) -> None:
    state = open_file(network(), options=ViewOptions(graph="fused", rankdir="LR", theme="dark")).state()
    assert (state["graph"], state["direction"], state["theme"]) == ("fused", "LR", "dark")


def test_names_and_the_node_that_was_asked_for(open_file: Open) -> None:
    viewer = open_file(network(), options=ViewOptions(around=("dot.1",), hops=1))
    assert viewer.state()["selectedNode"] == "dot.1"
    assert viewer.control("Show op names").get_attribute("aria-checked") == "false"
    viewer.press("Show op names")
    assert viewer.control("Show op names").get_attribute("aria-checked") == "true" and "names=1" in viewer.page.url


def test_operand_numbers_and_values_as_boxes_have_a_control_and_a_key(viewer: Viewer) -> None:
    boxes = viewer.press("Expand all")["boxes"]
    with_values = viewer.press("Show tensors as nodes")
    assert with_values["boxes"] > boxes, "a tensor is a box of its own"
    assert "values=boxes" in viewer.page.url
    viewer.page.locator("canvas.graph").focus()
    assert viewer.key("v")["boxes"] == boxes
    shown = viewer.control("Show operand index").get_attribute("aria-checked")
    viewer.press("Show operand index")
    assert viewer.control("Show operand index").get_attribute("aria-checked") != shown and "nth=" in viewer.page.url
    viewer.page.locator("canvas.graph").focus()
    viewer.key("#")
    assert viewer.control("Show operand index").get_attribute("aria-checked") == shown


@pytest.mark.parametrize("width", [640, 900, 1070, 1390, 3840])
def test_every_control_is_in_sight_and_says_what_it_is(viewer: Viewer, width: int) -> None:
    viewer.page.set_viewport_size({"width": width, "height": 700})
    bar = viewer.page.get_by_role("toolbar", name="Controls")
    controls = bar.locator("button, select, input")
    boxes = [control.bounding_box() for control in controls.all() if control.is_visible()]
    assert len(boxes) >= 11 and all(box and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
    assert all(left["x"] + left["width"] <= right["x"] for left, right in pairwise(boxes) if abs(left["y"] - right["y"]) < 10), "no overlap"
    assert width < 900 or bar.bounding_box()["height"] < 50, "one line"
    tools = viewer.page.locator(".tools")
    assert tools.evaluate("each => each.scrollWidth <= each.clientWidth && each.scrollHeight <= each.clientHeight")
    assert bar.get_by_text("Group:").is_visible() and bar.get_by_text("Colour:").is_visible()
    for menu, name in (("View", "Flatten"), ("Save", "Copy link")):
        bar.get_by_role("button", name=menu, exact=True).click()
        entries = viewer.page.get_by_role("menu", name=menu).locator("button")
        places = [entry.bounding_box() for entry in entries.all() if entry.is_visible()]
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= 700 for box in places)
        viewer.page.keyboard.press("Escape")
        assert viewer.control(name).is_visible(), "as a button or in a menu"


def test_search_results_stay_beside_the_graph_module_by_module(viewer: Viewer) -> None:
    viewer.search("op:dot")
    matches = viewer.page.get_by_role("listbox", name="Matches")
    until(lambda: "dot.1" in matches.inner_text())
    lines = matches.inner_text().splitlines()
    assert any("layer_1" in line for line in lines) and any("f32[32, 64]" in line for line in lines)
    matches.get_by_role("option", name="dot.2").click()
    assert viewer.idle()["selectedNode"] == "dot.2"
    assert matches.get_by_role("option").count() == 3, "the list stays"
    viewer.search("shpe:32")
    until(lambda: "did you mean shape:?" in matches.inner_text())
    viewer.press("Close the list of matches")
    assert matches.count() == 0
    viewer.press("Clear")


def test_several_sources_can_be_chosen(open_file: Open) -> None:
    viewer = open_file(network(), network(5))
    assert viewer.choose("Source", "1")["nodes"] == network(5).node_count
