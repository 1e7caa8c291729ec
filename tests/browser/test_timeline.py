"""Passes as a timeline, from a file and from the server: the strip, folding, stepping, overlays, history, and panes in step."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opscope
from browser.harness import Open, Viewer, until
from browser.recordings import record_toy, renamed, rewritten, start, without_idle
from browser.test_access import findings
from opscope.program import Program, ProgramBuilder, TensorType
from opscope.recording.model import Origin
from opscope.recording.sources import open_recording
from opscope.render import write as write_picture
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions


@pytest.fixture(params=["file", "server"])
def viewer(request: pytest.FixtureRequest, open_address: Open, server: Callable[..., str], tmp_path: Path) -> Viewer:
    recording = record_toy(tmp_path / "toy.opscope")
    if request.param == "server":
        found = open_address(server(recording))
    else:
        page = tmp_path / "page.html"
        write([open_recording(recording)], page, ViewOptions())
        found = open_address(page.as_uri())
    found.page.get_by_text("4 changed", exact=True).wait_for()
    return found


@pytest.fixture
def from_file(open_address: Open, tmp_path: Path) -> Callable[..., Viewer]:
    """The toy recording as a page, opened at a state."""

    def from_file(state: str = "", **settings: Any) -> Viewer:
        page = tmp_path / "page.html"
        if not page.exists():
            write([open_recording(record_toy(tmp_path / "toy.opscope"))], page, ViewOptions())
        return open_address(f"{page.as_uri()}{state}", **settings)

    return from_file


def comes_true(holds: Callable[[], bool]) -> bool:
    """Panes follow each other a moment later: asked again until it holds, however busy the machine is."""
    return bool(until(holds))


def options(viewer: Viewer) -> Any:
    return viewer.page.get_by_role("listbox", name="Timeline").get_by_role("option")


def legend(viewer: Viewer) -> str:
    return str(viewer.page.get_by_role("img", name=re.compile("^Colours")).first.get_attribute("aria-label"))


def choose_pass(viewer: Viewer, name: str) -> dict[str, Any]:
    options(viewer).filter(has_text=name).first.click()
    return viewer.idle()


def select_node(viewer: Viewer, id: str) -> dict[str, Any]:
    viewer.search(f"id:{id}")
    viewer.page.get_by_label("Search", exact=True).press("Enter")
    return viewer.idle()


def history(viewer: Viewer) -> list[str]:
    """The lines of the selected node's history."""
    lines = viewer.page.get_by_role("region", name="History").get_by_role("listitem")
    lines.first.wait_for()
    return [" ".join(text.split()) for text in lines.all_inner_texts()]


def test_the_strip_has_a_card_for_each_change_and_folds_the_rest(viewer: Viewer) -> None:
    assert viewer.state()["pass"] == 0
    assert viewer.page.get_by_text("9 passes", exact=True).count() == 1
    assert viewer.page.get_by_text("4 changed", exact=True).count() == 1
    texts = [" ".join(text.split()) for text in options(viewer).all_inner_texts()]
    assert [text.split(" ")[0] for text in texts] == ["start", "dce", "3", "precision", "fuse", "1", "rewrite"]
    assert texts[1] == "dce 2 ms · 6 nodes −1"
    assert texts[2] == "3 unchanged passes"
    assert texts[4].endswith("+2 ~3") or "~" in texts[4], "a fusion adds and changes nodes"
    options(viewer).filter(has_text="3 unchanged passes").click()
    viewer.idle()
    assert options(viewer).filter(has_text="check").count() == 3


def test_next_and_previous_change(viewer: Viewer) -> None:
    assert viewer.press("Next change")["pass"] == 1
    assert viewer.press("Next change")["pass"] == 5, "the checks changed nothing"
    assert viewer.key("j")["pass"] == 6
    assert viewer.key("j")["pass"] == 8
    assert viewer.page.get_by_role("button", name="Next change").is_disabled()
    assert viewer.key("k")["pass"] == 6
    assert viewer.press("Previous change")["pass"] == 5


def test_controls_of_the_timeline_have_hints_with_their_keys(viewer: Viewer) -> None:
    page = viewer.page
    page.get_by_role("button", name="Next change").hover()
    page.get_by_role("tooltip").get_by_text("j", exact=True).wait_for()
    assert page.locator("[title]").evaluate_all("all => all.map(each => each.title)") == [], "none of the browser's own, which have no keys"


def test_the_graph_after_a_pass_with_its_changes_in_colour(viewer: Viewer) -> None:
    state = choose_pass(viewer, "precision")
    assert (state["pass"], state["nodes"], state["passMode"]) == (5, 6, "after")
    assert legend(viewer) == "Colours: changed (1), unchanged (5)"
    state = choose_pass(viewer, "fuse")
    assert state["nodes"] == 8
    assert "added" in legend(viewer)
    assert viewer.page.get_by_text("these 2 became").count() == 1, "the panel tells of the fusion"


def test_before_and_overlay_show_what_went(viewer: Viewer) -> None:
    after = choose_pass(viewer, "dce")
    assert after["nodes"] == 6
    before = viewer.press("Before")
    assert (before["nodes"], legend(viewer)) == (7, "Colours: removed (1), unchanged (6)")
    overlay = viewer.press("Overlay")
    assert (overlay["nodes"], legend(viewer)) == (7, "Colours: removed (1), unchanged (6)")
    assert select_node(viewer, "idle.1")["selectedNode"] == "idle.1", "a ghost can be selected"
    assert history(viewer) == ["removed in dce"]
    assert viewer.press("After")["nodes"] == 6


def test_history_of_a_node_and_the_rule_that_made_it(viewer: Viewer) -> None:
    choose_pass(viewer, "rewrite sums")
    assert select_node(viewer, "fast_sum.1")["selectedNode"] == "fast_sum.1"
    lines = history(viewer)
    assert lines[-1].startswith("sum.1 became fast_sum.1 in rewrite sums")
    assert "rule sum_to_tree, compiler/rules.py:42 sum_to_tree" in lines[-1]
    assert any("fuse" in line for line in lines[:-1]), "its operand changed when the fusion was made"


def test_a_fused_node_tells_what_it_became_and_leads_there(viewer: Viewer) -> None:
    select_node(viewer, "exp.1")
    lines = history(viewer)
    assert lines[0].startswith("unchanged by ") and lines[0].endswith("evidence: the same name"), "links through other passes, folded"
    assert "these 2 became fusion.1 in fuse" in lines[-2]
    assert "exp.1, add.1" in lines[-2] and "evidence: " in lines[-2]
    assert lines[-1] == "unchanged by 2 passes, 7 to 8 evidence: the same name"
    viewer.page.get_by_role("region", name="History").get_by_role("button", name="fusion.1", exact=True).click()
    state = viewer.idle()
    assert (state["pass"], state["selectedNode"]) == (6, "fusion.1")


def test_what_the_compiler_told_it_rewrote_is_listed_with_its_rule(open_address: Open, tmp_path: Path) -> None:
    path = tmp_path / "told.opscope"
    told = Origin((("main", "sum.1"), ("main", "exp.1")), (("main", "fast_sum.1"),), "rewrite", "sum_to_tree")
    with opscope.record(path) as rec:
        rec.snapshot(start(), "start")
        rec.snapshot(rewritten(), "rewrite sums", provenance=[told])
    write([open_recording(path)], tmp_path / "told.html", ViewOptions())
    viewer = open_address((tmp_path / "told.html").as_uri() + "#pass=1")
    viewer.page.get_by_role("heading", name="Rewritten (1)").wait_for()
    line = viewer.page.get_by_role("listitem").filter(has_text="sum_to_tree")
    assert " ".join(line.first.inner_text().split()) == "sum.1, exp.1 became fast_sum.1: sum_to_tree"
    line.first.get_by_role("button", name="fast_sum.1").click()
    assert comes_true(lambda: viewer.idle()["selectedNode"] == "fast_sum.1")


def test_changed_attributes_are_shown_old_and_new(viewer: Viewer) -> None:
    choose_pass(viewer, "precision")
    select_node(viewer, "dot.1")
    changes = viewer.page.get_by_role("region", name="Changed by this pass")
    changes.wait_for()
    assert " ".join(changes.inner_text().split()).endswith("precision default → highest")


def test_filters_by_name_and_by_the_selected_node(viewer: Viewer) -> None:
    viewer.page.get_by_label("Filter passes").fill("numerics")
    viewer.idle()
    assert [text.split("\n")[0] for text in options(viewer).all_inner_texts()] == ["precision"], "the pass of that pipeline"
    viewer.page.get_by_label("Filter passes").fill("")
    select_node(viewer, "idle.1")
    history(viewer)
    viewer.press("Changed this node")
    texts = [text.split("\n")[0] for text in options(viewer).all_inner_texts()]
    assert texts == ["dce"]


def test_a_filter_by_operations_lists_passes_part_by_part(viewer: Viewer) -> None:
    status = viewer.page.get_by_role("status", name="Passes searched")
    asked = viewer.page.get_by_label("Filter passes")
    everything = options(viewer).count()
    asked.fill("op:")
    asked.fill("op:dot")
    viewer.idle()
    found = [text.split("\n")[0] for text in options(viewer).all_inner_texts()]
    assert found == ["precision"] and everything > 1
    assert status.inner_text() == "", "it says how far it is only on its way"
    viewer.page.get_by_role("button", name=re.compile("^First in pass")).wait_for()
    asked.fill("op:nothing_of_this_name")
    viewer.idle()
    viewer.page.get_by_text("No pass matches.").wait_for()
    asked.fill("opp:dot")
    viewer.idle()
    viewer.page.get_by_text('No pass matches. There is no field "opp"; did you mean op:?').wait_for()


def test_the_passes_of_a_group_are_its_own_and_not_those_of_the_node_before(open_address: Open, tmp_path: Path) -> None:
    def program(first: str, second: str) -> Program:
        builder = opscope.ProgramBuilder("model", "main")
        main = builder.graph("main")
        main.node("x", "parameter", role="input")
        for layer, precision in (("first", first), ("second", second)):
            main.node(f"{layer}.dot", "dot", [("x", 0)], attrs={"precision": precision}, scope=(layer,))
            main.node(f"{layer}.exp", "exponential", [(f"{layer}.dot", 0)], scope=(layer,))
            main.outputs.append((f"{layer}.exp", 0))
        return builder.build()

    path = tmp_path / "layers.opscope"
    with opscope.record(path) as rec:
        rec.snapshot(program("low", "low"), "start")
        rec.snapshot(program("high", "low"), "raise first")
        rec.snapshot(program("high", "high"), "raise second")
    write([open_recording(path)], tmp_path / "layers.html", ViewOptions())
    viewer = open_address((tmp_path / "layers.html").as_uri())
    select_node(viewer, "first.dot")
    viewer.search("")
    viewer.press("Changed this node")
    assert [text.split("\n")[0] for text in options(viewer).all_inner_texts()] == ["raise first"]
    viewer.row("second").click()
    assert viewer.idle()["selection"] == ["g:second"]
    until(lambda: [text.split("\n")[0] for text in options(viewer).all_inner_texts()] == ["raise second"])


def test_side_by_side_keeps_selection_and_pass_in_step(viewer: Viewer) -> None:
    choose_pass(viewer, "fuse")
    state = viewer.press("Side by side")
    assert state["passMode"] == "side by side"
    assert [(pane["pass"], pane["mode"]) for pane in state["panes"]] == [(6, "before")]
    state = select_node(viewer, "dot.1")
    assert comes_true(lambda: viewer.idle()["panes"][0]["selectedNode"] == "dot.1")
    viewer.page.keyboard.press("Escape")
    viewer.page.get_by_role("application", name="Graph", exact=True).focus()
    state = viewer.key("k")
    assert comes_true(lambda: viewer.idle()["panes"][0]["pass"] == 5)
    viewer.press("Close side by side")
    assert viewer.state()["panes"] == []


def test_side_by_side_shows_all_that_a_fusion_was_made_of(viewer: Viewer) -> None:
    choose_pass(viewer, "fuse")
    viewer.press("Side by side")
    select_node(viewer, "fusion.1")
    assert comes_true(lambda: len(viewer.idle()["panes"][0]["selection"]) == 2)
    made_of = " ".join(viewer.state()["panes"][0]["selection"])
    assert "exp.1" in made_of and "add.1" in made_of
    assert viewer.state()["selectedNode"] == "fusion.1", "the pane must not lead the graph away"


def test_panes_follow_a_node_through_other_names(viewer: Viewer) -> None:
    choose_pass(viewer, "rewrite sums")
    viewer.press("Add pane")
    viewer.page.get_by_label("Pane 2: pass").select_option("1")
    viewer.idle()
    state = viewer.press("Add pane")
    assert [pane["pass"] for pane in state["panes"]] == [1, 0]
    select_node(viewer, "fast_sum.1")
    assert comes_true(lambda: [pane["selectedNode"] for pane in viewer.idle()["panes"]] == ["sum.1", "sum.1"])
    viewer.page.get_by_role("button", name="Close pane").last.click()
    assert len(viewer.idle()["panes"]) == 1


def test_panes_of_different_sources_are_matched_by_the_server(open_address: Open, server: Callable[..., str], tmp_path: Path) -> None:
    """A recording beside a program of another compiler: nodes find each other though every name is another there."""
    opscope.save(renamed(start()), tmp_path / "other.json")
    viewer = open_address(server(record_toy(tmp_path / "toy.opscope"), tmp_path / "other.json"))
    state = viewer.press("Add pane")
    assert [(pane["pass"], pane["program"]) for pane in state["panes"]] == [(None, "other")]
    select_node(viewer, "exp.1")
    assert comes_true(lambda: viewer.idle()["panes"][0]["selectedNode"] == "v_exp.1")


def test_the_pass_is_in_the_address_and_steps_back(from_file: Callable[..., Viewer]) -> None:
    viewer = from_file("#pass=6&show=overlay")
    state = viewer.state()
    assert (state["pass"], state["passMode"]) == (6, "overlay")
    viewer.key("k")
    assert "pass=5" in viewer.page.url
    viewer.page.go_back()
    assert comes_true(lambda: viewer.idle()["pass"] == 6)


def test_panes_are_in_the_address_and_new_ones_show_the_selection(from_file: Callable[..., Viewer]) -> None:
    viewer = from_file("#pass=6")
    select_node(viewer, "fusion.1")
    viewer.press("Side by side")
    viewer.press("Add pane")
    viewer.page.get_by_label("Pane 2: pass").select_option("1")
    assert comes_true(lambda: [pane["pass"] for pane in viewer.idle()["panes"]] == [6, 1])
    assert comes_true(lambda: all(pane["selectedNode"] for pane in viewer.idle()["panes"])), "what is selected is followed at once"
    shown = viewer.state()["panes"]
    viewer.page.reload()
    assert comes_true(lambda: viewer.state()["status"] == "ready" and viewer.idle()["panes"] == shown), "a copied link shows the same"
    viewer.press("Close side by side")
    viewer.page.go_back()
    assert comes_true(lambda: len(viewer.idle()["panes"]) == 2)


def test_the_strip_by_keyboard_alone(from_file: Callable[..., Viewer]) -> None:
    viewer = from_file()
    viewer.page.get_by_role("listbox", name="Timeline").focus()
    assert viewer.key("ArrowRight")["pass"] == 1
    viewer.key("ArrowRight", "Enter")
    assert options(viewer).filter(has_text="check").count() == 3, "Enter opens what is folded"
    assert viewer.key("End")["pass"] == 8
    assert viewer.key("Home")["pass"] == 0
    viewer.press("Hide passes")
    assert options(viewer).count() == 0
    viewer.press("Passes")
    assert options(viewer).count() > 0


def test_unchanged_nodes_keep_their_order_and_place(from_file: Callable[..., Viewer]) -> None:
    """The box in the middle of the screen stays there when the next pass is shown."""
    viewer = from_file("#pass=1")
    select_node(viewer, "add.1")
    viewer.page.keyboard.press("Escape")
    spot = "JSON.stringify(window.opscope.state().camera)"
    before = viewer.page.evaluate(spot)
    choose_pass(viewer, "precision")
    assert viewer.page.evaluate(spot) == before, "only an attribute changed: nothing moves"


def test_a_strip_of_many_passes_holds_only_the_cards_in_sight(open_address: Open, tmp_path: Path) -> None:
    with opscope.record(tmp_path / "long.opscope") as rec:
        for i in range(400):
            rec.snapshot(start() if i % 2 else rewritten(), f"pass {i}")
    page = tmp_path / "long.html"
    write([open_recording(tmp_path / "long.opscope")], page, ViewOptions())
    viewer = open_address(page.as_uri())
    assert 5 < options(viewer).count() < 40
    viewer.page.get_by_role("listbox", name="Timeline").focus()
    assert viewer.key("End")["pass"] == 399
    assert options(viewer).filter(has_text="pass 399").count() == 1


def test_a_card_with_seconds_shows_the_number_of_nodes_too(open_address: Open, tmp_path: Path) -> None:
    recording = tmp_path / "timed.opscope"
    with opscope.record(recording) as rec:
        for name, count in (("as written", 12_000), ("simplify", 1_950)):
            builder = ProgramBuilder("long", "main")
            main = builder.graph("main")
            for i in range(count):
                main.node(f"a{i}", "parameter", role="parameter", outputs=[TensorType("f32", (8,))])
            main.outputs.append((f"a{count - 1}", 0))
            rec.snapshot(builder.build(), name, seconds=0.999)
    page = tmp_path / "timed.html"
    write([open_recording(recording)], page, ViewOptions())
    viewer = open_address(page.as_uri())
    sizes = viewer.page.get_by_text(" nodes").and_(viewer.page.locator(".pass-meter > span > span"))
    assert sizes.all_inner_texts() == ["999 ms · 12,000 nodes", "999 ms · 1,950 nodes"]
    assert sizes.evaluate_all("all => all.filter((each) => each.scrollWidth > each.clientWidth).length") == 0, "cut off"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_strip_and_panes_are_accessible(from_file: Callable[..., Viewer], scheme: str) -> None:
    viewer = from_file("#pass=6", color_scheme=scheme)
    assert "\n".join(findings(viewer)) == ""
    select_node(viewer, "fusion.1")
    history(viewer)
    viewer.press("Side by side")
    viewer.press("Add pane")
    assert "\n".join(findings(viewer)) == ""


def test_a_picture_of_what_a_pass_did(tmp_path: Path) -> None:
    """`--diff overlay` draws the ghost of what the pass removed, in the colours of the timeline."""
    recording = open_recording(record_toy(tmp_path / "toy.opscope"))
    opscope.save(recording.only("dce").snapshot(-1).program, tmp_path / "plain.svg")
    write_picture([recording.only("dce")], tmp_path / "diff.svg", ViewOptions(diff="overlay"))
    plain, diff = (tmp_path / "plain.svg").read_text(), (tmp_path / "diff.svg").read_text()
    assert "negate" not in plain
    assert "negate" in diff and ">removed<" in diff


def test_of_several_modules_the_largest_comes_first_and_each_can_be_chosen(open_address: Open, tmp_path: Path) -> None:
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.snapshot(without_idle("default"), "as written", module="jit_convert")
        rec.snapshot(start(), "as written", module="jit_train")
    page = tmp_path / "page.html"
    write([open_recording(tmp_path / "run.opscope")], page, ViewOptions())
    viewer = open_address(page.as_uri())
    assert viewer.idle()["pass"] == 1
    cards = viewer.page.get_by_role("listbox", name="Timeline").get_by_role("option")
    assert viewer.choose("Module", "jit_convert")["pass"] == 0
    assert cards.count() == 1, "only the chosen module's passes have cards"
    assert not viewer.errors


def test_view_of_one_module_keeps_its_timeline(server: Callable[..., str], open_address: Open, tmp_path: Path) -> None:
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.snapshot(start(), "as written", module="jit_convert")
        for name, program in (("as written", start()), ("idle-removal", without_idle("default"))):
            rec.snapshot(program, name, module="jit_train")
    viewer = open_address(server(tmp_path / "run.opscope", "--module", "jit_train"))
    assert viewer.idle()["pass"] == 1, "the number that `opscope passes` prints"
    assert options(viewer).count() == 2, "the passes of this module, and of no other"
    assert "pass 1 › jit_train" in viewer.page.get_by_role("complementary", name="Details").inner_text()
    options(viewer).last.click()
    assert viewer.idle()["pass"] == 2 and "pass=2" in viewer.page.url
    assert not viewer.errors


@pytest.mark.parametrize("moment", ["before", "after", "overlay"])
def test_view_of_a_pass_with_diff_shows_what_it_did(server: Callable[..., str], open_address: Open, tmp_path: Path, moment: str) -> None:
    recording = record_toy(tmp_path / "toy.opscope")
    number = open_recording(recording).snapshot("dce").index
    viewer = open_address(server(f"{recording}@{number}", "--diff", moment))
    assert viewer.idle()["passMode"] == moment and viewer.idle()["pass"] == number
    shown = legend(viewer)
    assert ("removed" in shown) == (moment != "after"), shown
    assert not viewer.errors
