"""The box "output" says what the graph returns and which node computes it, where the program has no node for that."""

from __future__ import annotations

from pathlib import Path

import pytest

import opscope
from browser.harness import Open

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
HLO = """HloModule sum
ENTRY main {
  x = f32[2,3]{1,0} parameter(0)
  y = f32[2,3]{1,0} parameter(1)
  ROOT add.7 = f32[2,3]{1,0} add(x, y)
}
"""


@pytest.fixture(params=["hlo", "aitemplate", "hidet"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param != "hlo":
        return next((SAMPLES / request.param).glob("*.json"))
    path = tmp_path / "sum.hlo"
    path.write_text(HLO)
    return path


def test_the_box_output_has_a_panel_with_name_and_producer(source: Path, open_file: Open) -> None:
    program = opscope.load(source)
    producer, which = program.main.outputs[0]
    node = program.main[producer]
    viewer = open_file(program)
    viewer.row(str(node.attrs.get("output_names", "output"))).click()  # a tensor with a name has it here too
    assert viewer.idle()["selection"] == ["r:output"]
    panel = viewer.page.get_by_role("region", name="About the selection")
    text = panel.inner_text()
    names = str(node.attrs.get("output_names", producer)).split(", ")
    assert f"{names[max(which, 0)]} · returned by {program.entry}" in text
    assert f"produced by {producer} {node.op}" in text
    assert str(node.outputs[max(which, 0)]) in text
    assert "Expand" not in text and "operations" not in text
    panel.get_by_role("button", name=producer, exact=True).click()
    assert viewer.idle()["selectedNode"] == producer


def test_a_tuple_that_is_returned_says_so(tmp_path: Path, open_file: Open) -> None:
    path = tmp_path / "two.hlo"
    path.write_text(HLO.replace("ROOT add.7", "add.7").replace("\n}", "\n  ROOT both = (f32[2,3]{1,0}, f32[2,3]{1,0}) tuple(add.7, y)\n}"))
    viewer = open_file(opscope.load(path))
    viewer.row("output").click()
    viewer.idle()
    text = viewer.page.get_by_role("region", name="About the selection").inner_text()
    assert "both · returned by main" in " ".join(text.split())
