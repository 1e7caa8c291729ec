"""Operands that are folded into their user: the page says which they are, and gives each a box when somebody wants to see it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

import opscope
from browser.harness import Open, Viewer
from opscope.program import Program

BIAS = """HloModule bias
ENTRY main {
  x = f32[8,512]{1,0} parameter(0)
  h = f32[8,512]{1,0} tanh(x)
  b = f32[512]{0} parameter(1)
  b.1 = f32[1,512]{1,0} broadcast(b), dimensions={1}
  b.2 = f32[8,512]{1,0} broadcast(b.1), dimensions={0,1}
  sum = f32[8,512]{1,0} add(h, b.2)
  ROOT end = f32[8,512]{1,0} exponential(sum)
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "bias.hlo").write_text(BIAS)
    return opscope.load(tmp_path / "bias.hlo")


@pytest.fixture
def viewer(open_file: Open, program: Program) -> Viewer:
    return open_file(program)


def test_what_is_folded_into_a_box_is_listed_and_can_be_unfolded_and_folded_again(viewer: Viewer, open_address: Open) -> None:
    folded = viewer.state()["boxes"]
    viewer.row("add").click()
    viewer.idle()
    details = viewer.page.get_by_role("complementary", name="Details")
    section = details.locator("section").filter(has_text="Folded in")
    assert section.get_by_role("button").all_inner_texts() == ["b.2", "b.1", "b"]
    assert viewer.press("Unfold 3 operands")["boxes"] == folded + 3
    assert section.count() == 0
    assert viewer.state()["selectedNode"] == "sum"
    address = viewer.page.url
    assert viewer.press("Fold 3 operands")["boxes"] == folded
    assert open_address(address).state()["boxes"] == folded + 3, "the address has it"


def test_going_to_a_folded_node_draws_it_and_its_way_to_the_user(viewer: Viewer) -> None:
    folded = viewer.state()["boxes"]
    viewer.search("id:b.1")
    state = viewer.key("Enter")
    assert (state["selection"], state["selectedNode"]) == (["n:b.1"], "b.1")
    assert state["boxes"] == folded + 2, "b.1 and what broadcasts it further; the bias itself is text in b.1"
    viewer.page.get_by_role("complementary", name="Details").locator("section").filter(has_text="Folded in").get_by_role(
        "button", name="b", exact=True
    ).click()
    state = viewer.idle()
    assert (state["selection"], state["boxes"]) == (["n:b"], folded + 3)
    state = viewer.press("Fold into its user")
    assert (state["selection"], state["boxes"]) == ([], folded + 2)


def test_the_table_leads_to_a_folded_node(viewer: Viewer) -> None:
    viewer.press("Table")
    viewer.page.get_by_role("row").filter(has_text="b.2").first.click()
    assert viewer.idle()["selection"] == ["n:b.2"]


def test_an_address_that_names_a_folded_node_shows_it(open_file: Open, program: Program) -> None:
    state = open_file(program, hash="#sel=" + quote('["n:b.2"]')).idle()
    assert (state["selection"], state["selectedNode"]) == (["n:b.2"], "b.2")


def test_all_nodes_have_a_control_and_a_key(viewer: Viewer, program: Program) -> None:
    folded = viewer.state()["boxes"]
    shown = viewer.press("Show all nodes")
    assert shown["boxes"] == len(program.main) and "all=1" in viewer.page.url
    viewer.page.locator("canvas.graph").focus()
    assert viewer.key("a")["boxes"] == folded
