"""Two programs compared in the viewer: from the command line, from a page, and in one file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from norms import LAYERS, first, second

import opscope
from browser.harness import Open, Viewer, until
from browser.test_access import findings
from opscope.cli import main
from opscope.comparing import load_comparison

HLO = Path(__file__).resolve().parent.parent / "samples" / "hlo"
Server = Callable[..., str]
GROUPS = [
    "in each of 4 layers (layers.*/mlp) +1 multiply, ~1 dot (operands), ~1 parameter (type)",
    "in each of 4 layers (layers.*) rms_norm replaced layer_norm (−4 +1 ops)",
    "in each of 4 layers (layers.*) ~1 add (operands)",
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    paths = tmp_path / "before.json", tmp_path / "after.json"
    for path, program in zip(paths, (first(), second()), strict=True):
        opscope.save(program, path)
    return paths


@pytest.fixture(params=["server", "one file"])
def viewer(request: pytest.FixtureRequest, server: Server, open_address: Open, files: tuple[Path, Path], tmp_path: Path) -> Viewer:
    if request.param == "server":
        compared = open_address(server("--diff", *files))
    else:
        page = tmp_path / "diff.html"
        assert main(["diff", *map(str, files), "-o", str(page)]) == 0
        compared = open_address(page.as_uri())
    changes(compared).first.wait_for()
    return compared


def changes(viewer: Viewer) -> Any:
    return viewer.page.get_by_role("region", name="Changes by module").get_by_role("listitem")


def texts(viewer: Viewer) -> list[str]:
    return [" ".join(text.split()) for text in changes(viewer).all_inner_texts()]


def legend(viewer: Viewer) -> str:
    return str(viewer.page.get_by_role("img", name=re.compile("^Colours")).first.get_attribute("aria-label"))


def test_one_picture_of_both_with_the_counts_of_the_command_line(viewer: Viewer) -> None:
    state = viewer.idle()
    diff = opscope.diff(first(), second())
    counts = diff.to_json()["counts"]
    assert state["passMode"] == "overlay" and state["nodes"] == second().node_count + counts["removed"]
    unchanged = second().node_count - counts["added"] - counts["changed"]
    expected = f"added ({counts['added']}), removed ({counts['removed']}), changed ({counts['changed']}), unchanged ({unchanged})"
    assert legend(viewer) == f"Colours: {expected}"
    bar = viewer.page.get_by_role("region", name="Comparison")
    counted = f"+{2 * LAYERS}−{4 * LAYERS}~{3 * LAYERS}"
    assert until(lambda: counted in "".join(bar.inner_text().split())), "a server counts after the page is shown"
    assert texts(viewer) == GROUPS
    assert diff.basis in viewer.page.get_by_role("region", name="About the selection").inner_text()


def test_the_page_counts_what_the_command_line_counts(open_file: Open, capsys: pytest.CaptureFixture[str]) -> None:
    """Also the nodes that are in another graph now: 42 of them were only on the command line."""
    paths = [str(HLO / name) for name in ("step_lowered.hlo", "step_compiled.hlo")]
    assert main(["diff", *paths]) == 0
    printed = capsys.readouterr().out.splitlines()[0]
    counts = [part for part in printed.split(", ") if not part.endswith("0 copied")]
    assert any(re.fullmatch(r"[1-9]\d* moved", part) for part in counts), printed
    expected = [re.sub(r"^([+−~][\d,]+) (added|removed|changed)$", r"\1", part).replace("×", "") for part in counts]
    viewer = open_file(load_comparison(*paths))
    bar = viewer.page.get_by_role("region", name="Comparison")
    bar.get_by_text("moved").wait_for()
    about = viewer.page.get_by_role("region", name="About the selection").inner_text()
    for text in (bar.inner_text(), about):
        assert "".join(expected).replace(" ", "") in "".join(text.split())


def test_next_and_previous_change(viewer: Viewer) -> None:
    assert viewer.page.get_by_role("button", name="Previous change").is_disabled()
    assert viewer.press("Next change")["selectedNode"] == "layers.0.scale"
    assert viewer.key("j")["selectedNode"] == "layers.0.rms"
    assert viewer.press("Next change")["selectedNode"] == "layers.0.add"
    assert viewer.page.get_by_role("region", name="Comparison").get_by_role("status").inner_text() == "3 of 3"
    assert viewer.page.get_by_role("button", name="Next change").is_disabled()
    assert viewer.key("k")["selectedNode"] == "layers.0.rms"
    viewer.key("Escape")
    changes(viewer).filter(has_text="+1 multiply").get_by_role("button").click()
    assert until(lambda: viewer.idle()["selectedNode"] == "layers.0.scale")


def test_side_by_side_in_step(viewer: Viewer) -> None:
    state = viewer.press("Side by side")
    assert state["passMode"] == "side by side" and len(state["panes"]) == 1
    viewer.page.get_by_role("group", name="Before", exact=True).get_by_text("before.json").wait_for()
    viewer.search("id:layers.1.relu")
    viewer.page.get_by_label("Search", exact=True).press("Enter")
    assert until(lambda: viewer.idle()["panes"][0]["selectedNode"] == "layers.1.relu")
    assert viewer.press("Overlay")["panes"] == []


def test_what_is_open_stays_open_before_and_after(open_file: Open) -> None:
    """Each of the three programs would be opened in another way."""
    compared = load_comparison(*(str(HLO / name) for name in ("step_lowered.hlo", "step_compiled.hlo")))
    viewer = open_file(compared, viewport={"width": 1600, "height": 1000})
    overlay = viewer.idle()["expanded"]
    groups = {group for group in overlay if group.startswith("g:")}
    for mode in ("After", "Before"):
        assert {group for group in viewer.press(mode)["expanded"] if group.startswith("g:")} == groups, mode
    assert viewer.press("Overlay")["expanded"] == overlay


def test_both_sides_are_equally_open(viewer: Viewer) -> None:
    """From the start, and whichever side is changed."""

    def are_open(*groups: str) -> bool:
        state = viewer.idle()
        both = [{group for group in side["expanded"] if "_norm" not in group} for side in (state, *state["panes"])]
        return both == [set(groups), set(groups)]

    assert viewer.idle()["expanded"] == ["x:layers.0", "g:layers.0/mlp", "g:layers.0/layer_norm"]
    viewer.press("Side by side")
    assert until(lambda: are_open("x:layers.0", "g:layers.0/mlp"))
    viewer.press("Collapse all")
    assert until(lambda: are_open())
    viewer.row("layers.0").click()
    viewer.page.keyboard.press("Enter")
    assert until(lambda: are_open("x:layers.0"))
    before = viewer.page.get_by_role("group", name="Before", exact=True).locator("canvas.graph")
    before.focus()
    viewer.page.keyboard.press("c")
    assert until(lambda: are_open())


def test_what_is_shown_is_compared_with_a_chosen_file(server: Server, open_address: Open, files: tuple[Path, Path]) -> None:
    viewer = open_address(server(files[0]), viewport={"width": 900, "height": 700})
    with viewer.page.expect_file_chooser() as chooser:
        viewer.control("Compare with…").click()
    chooser.value.set_files(files[1])
    viewer.page.wait_for_url("**/open/1/**", timeout=0)
    until(lambda: viewer.page.evaluate("window.opscope?.state().status") == "ready")
    changes(viewer).first.wait_for()
    assert texts(viewer) == GROUPS
    assert viewer.idle()["program"] is not None


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comparison_is_accessible(files: tuple[Path, Path], open_address: Open, tmp_path: Path, scheme: str) -> None:
    page = tmp_path / "diff.html"
    assert main(["diff", *map(str, files), "-o", str(page)]) == 0
    viewer = open_address(page.as_uri(), color_scheme=scheme)
    changes(viewer).first.wait_for()
    assert findings(viewer) == []
