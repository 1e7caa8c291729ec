"""The text of a pass: before and after side by side, folded, found, and in step with the graph; and the first pass with something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.hlo_texts import NOTES, write_dump

import opscope
from browser.harness import Open, until
from browser.recordings import record_toy
from browser.test_access import findings
from opscope.recording.sources import open_recording
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions


def test_the_text_of_a_pass_is_in_step_with_the_graph(open_address: Open, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    write([open_recording(record_toy(tmp_path / "toy.opscope"))], page, ViewOptions())
    viewer = open_address(f"{page.as_uri()}#pass=6")
    viewer.key("x")
    table = viewer.page.get_by_role("table", name="Lines")

    def line(text: str) -> Any:
        return table.get_by_role("row").filter(has_text=text)

    line("fusion.1: f32[8, 16] = fusion(dot.1, calls=fused)").wait_for()
    assert line("fusion.1: ").get_by_role("cell").nth(1).get_attribute("aria-label") == "became"
    assert line("fusion.1: ").get_by_role("cell").first.inner_text() == "add.1: f32[8, 16] = add(exp.1, dot.1)"
    assert line("sum.1: ").locator("mark").all_inner_texts() == ["add.1", "fusion.1"], "the words that differ"
    assert table.get_by_role("button", name="main", exact=False).first.get_attribute("aria-expanded") == "true"
    assert findings(viewer) == []

    line("fusion.1: ").get_by_role("cell").last.click()
    assert viewer.idle()["selectedNode"] == "fusion.1"
    until(lambda: line("fusion.1: ").get_attribute("aria-selected") == "true")
    line("fusion.1: ").get_by_role("cell").first.click()
    state = viewer.idle()
    assert (state["selectedNode"], state["passMode"]) == ("add.1", "before")
    viewer.row("reduce").click()
    until(lambda: line("sum.1: ").get_attribute("aria-selected") == "true")
    until(lambda: viewer.page.get_by_role("button", name="Changed this node").is_enabled())
    viewer.row("output").click()
    until(lambda: viewer.page.get_by_role("button", name="Changed this node").is_disabled())

    viewer.press("Before and after")
    until(lambda: table.get_by_role("row").count() == 7)
    find = viewer.page.get_by_label("Find in text")
    find.fill("REDUCE(")
    until(lambda: viewer.page.get_by_role("status", name="Lines found").inner_text() == "1 line")
    find.press("Enter")
    until(lambda: viewer.page.get_by_role("status", name="Lines found").inner_text() == "1 of 1")
    table.get_by_role("button", name="main").click()
    until(lambda: table.get_by_role("row").count() == 1)

    viewer.page.get_by_label("Filter passes").fill("op:=fusion")
    viewer.page.get_by_role("button", name="First in pass 6").click()
    until(lambda: viewer.idle()["selectedNode"] == "fusion.1")
    assert viewer.state()["pass"] == 6


NOTED = """(status) => {
  window.noted = [];
  new MutationObserver(() => window.noted.push(status.textContent)).observe(status, {childList: true, characterData: true, subtree: true});
}"""
"""Notes what a status says from now on."""


@pytest.mark.parametrize("served", [False, True])
def test_a_text_is_found_part_by_part_in_many_lines(server: Callable[..., str], open_address: Open, tmp_path: Path, served: bool) -> None:
    """Lines are looked at in parts of 20,000: hits of the first are counted before the others, and all parts together have all."""
    lines = "\n".join(f"  %n.{i} = f32[] negate(%n.{i - 1})" for i in range(1, 45_000))
    called = f"%long (n: f32[]) -> f32[] {{\n  %n.0 = f32[] parameter(0)\n{lines}\n  ROOT %last = f32[] abs(%n.44999)\n}}\n"
    main = "ENTRY %main (x: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  ROOT %call = f32[] call(%x), to_apply=%long\n}\n"
    source = tmp_path / "chain.hlo"
    source.write_text(f"HloModule m\n\n{called}\n{main}")
    page = tmp_path / "page.html"
    if not served:
        write(opscope.load_all(source), page, ViewOptions())
    viewer = open_address(server(source) if served else page.as_uri())
    viewer.key("x")
    status = viewer.page.get_by_role("status", name="Lines found")
    viewer.page.evaluate(NOTED, status.element_handle())
    find = viewer.page.get_by_label("Find in text")
    find.fill("negate(")
    until(lambda: status.inner_text() == "44,999 lines")
    noted = viewer.page.evaluate("window.noted")
    assert "19,997 lines, searching…" in noted, "x, call and n.0 are in the first part"
    assert "39,997 lines, searching…" in noted
    find.fill("N.44999")
    until(lambda: status.inner_text() == "2 lines")
    find.press("Enter")
    until(lambda: status.inner_text() == "1 of 2")
    table = viewer.page.get_by_role("table", name="Lines")
    found = table.get_by_role("row", selected=True)
    until(lambda: found.count() == 1 and found.inner_text() == "%n.44999 = f32[] negate(%n.44998)")
    assert not viewer.errors


def test_source_lines_are_in_step_with_the_graph(open_address: Open, tmp_path: Path) -> None:
    model = tmp_path / "model.py"
    model.write_text("import jax\nx = f(y)\nz = g(x)\n")
    builder = opscope.ProgramBuilder("step", "main")
    main, body = builder.graph("main"), builder.graph("fused")
    body.node("sin", "sine", source=[opscope.Frame(str(model), 2)])
    body.node("neg", "negate", [("sin", 0)], source=[opscope.Frame(str(model), 3)])
    main.node("fusion", "fusion", calls=["fused"], source=[opscope.Frame(str(model), 3)])
    main.node("abs", "abs", [("fusion", 0)])
    main.node("log", "log", [("abs", 0)])
    page, without = tmp_path / "page.html", tmp_path / "without.html"
    write([builder.build()], page, ViewOptions(source_files=True))
    write([builder.build()], without, ViewOptions())
    viewer = open_address(page.as_uri())
    viewer.key("X")
    about = viewer.page.get_by_role("status", name="About the file")
    until(lambda: about.inner_text() == "Select a node to see the lines that it comes from.")
    viewer.row("fusion").click()
    lines = viewer.page.get_by_role("table", name="Lines of the program").get_by_role("row")
    until(lambda: lines.count() == 4)
    assert [line.get_attribute("aria-selected") for line in lines.all()] == ["false", "true", "true", "false"]
    assert lines.nth(2).get_by_role("cell").all_inner_texts() == ["2 ×", "z = g(x)"]
    assert findings(viewer) == []
    lines.nth(1).click()
    until(lambda: viewer.idle()["selectedNode"] == "sin")
    until(lambda: lines.nth(2).get_attribute("aria-selected") == "false")
    other = open_address(without.as_uri())
    other.key("X")
    other.row("fusion").click()
    other.page.get_by_text("is not in this page; opscope export --source-files").wait_for()


def test_the_text_is_the_program_s_own_and_a_node_says_why_it_was_fused(
    server: Callable[..., str], open_address: Open, tmp_path: Path
) -> None:
    dump = write_dump(tmp_path / "dump")
    (dump / "module_0007.jit_step.priority_fusion_dump.txt").write_text(NOTES)
    viewer = open_address(f"{server(dump)}#pass=5")
    viewer.key("x")
    table = viewer.page.get_by_role("table", name="Lines")
    fusion = table.get_by_role("row").filter(has_text="%fusion.12 = f32[8,8]{1,0} fusion(%dot.3), kind=kLoop")
    fusion.wait_for()
    assert fusion.get_by_role("cell").first.inner_text() == "%negate.5 = f32[8,8]{1,0} negate(%tanh.4), metadata={…}"
    fusion.get_by_role("cell").last.click()
    assert viewer.idle()["selectedNode"] == "fusion.12"
    until(lambda: fusion.get_attribute("aria-selected") == "true")
    assert "tanh.4 was fused into negate.5, as fusion.12" in viewer.page.get_by_role("region", name="About the selection").inner_text()
    viewer.press("Before and after")
    whole = 'ROOT %add.9 = f32[8,8]{1,0} add(%broadcast.8, %x), metadata={op_name="jit(step)/add"}'
    table.get_by_role("row").filter(has_text=whole).wait_for()
    assert not viewer.errors
