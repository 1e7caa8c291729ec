"""What a person sees and what they export are the same picture: files from the page and from `opscope export` are equal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import opscope
from browser.harness import Open
from opscope.program import Program
from opscope.render.draw.picture import draw
from opscope.render.writers.svg import font_css
from opscope.view_options import ViewOptions

HLO = Path(__file__).resolve().parent.parent / "samples" / "hlo" / "step_compiled.hlo"
VIEWS = {
    "three deep": (["--depth", "3"], ViewOptions(depth=3)),
    "to the right": (["--depth", "2", "--rankdir", "LR"], ViewOptions(depth=2, rankdir="LR")),
    "flat": (["--flatten"], ViewOptions(flatten=True)),
    "neighbours": (["--around", "dot.1", "--hops", "1"], ViewOptions(around=("dot.1",), hops=1)),
    "by operation": (["--group-by", "op", "--depth", "1"], ViewOptions(group_by="op", depth=1)),
}


@pytest.fixture(scope="module")
def program() -> Program:
    program = opscope.load(HLO)
    assert isinstance(program, Program)
    return program


@pytest.mark.parametrize("view", VIEWS)
def test_a_figure_from_the_page_is_what_export_writes(view: str, program: Program, open_file: Open, tmp_path: Path) -> None:
    flags, options = VIEWS[view]
    command = [sys.executable, "-m", "opscope", "export", str(HLO), "-o", str(tmp_path / "exported.svg"), *flags]
    subprocess.run(command, check=True)
    page = open_file(program, options=options).page
    canvas = page.locator("canvas.graph").bounding_box()
    page.mouse.click(canvas["x"] + 4, canvas["y"] + 4, button="right")
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Save SVG as a figure").click()
    download.value.save_as(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text("utf-8") == (tmp_path / "exported.svg").read_text("utf-8")


@pytest.mark.step("0.12")
@pytest.mark.parametrize("view", VIEWS)
def test_python_draws_what_the_page_shows(view: str, program: Program, open_file: Open, tmp_path: Path) -> None:
    _, options = VIEWS[view]
    page = open_file(program, options=options).page
    with page.expect_download() as download:
        page.get_by_role("button", name="Save SVG", exact=True).click()
    download.value.save_as(tmp_path / "seen.svg")
    assert (tmp_path / "seen.svg").read_text("utf-8") == draw(program, options, "svg", font_css(), as_="seen").text
