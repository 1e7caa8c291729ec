"""The home page, and files that are dropped onto any page, in real Chromium."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLE, Corpus

import opscope
from browser.harness import Open, Viewer, until
from browser.samples import network

Server = Callable[..., str]
SAMPLES = Path(__file__).resolve().parents[1] / "samples"

DROP = """([selector, files]) => {
  const carried = new DataTransfer();
  for (const [name, text] of files) carried.items.add(new File([text], name));
  const target = document.querySelector("#opscope").shadowRoot.querySelector(selector);
  target.dispatchEvent(new DragEvent("drop", {dataTransfer: carried, bubbles: true, cancelable: true, composed: true}));
}"""


@pytest.fixture
def home(server: Server, open_address: Open) -> Callable[..., Viewer]:
    """Starts `opscope view` without a source, and opens its home page."""

    def home(*arguments: str | Path, faults: bool = False, env: dict[str, str] | None = None, **settings: Any) -> Viewer:
        return open_address(server(*arguments, env=env), faults=faults, **settings)

    return home


def drop(viewer: Viewer, *files: tuple[str, str], on: str = ".app") -> None:
    viewer.page.evaluate(DROP, [on, files])


def choose(viewer: Viewer, *files: Path) -> None:
    """Choose files in the dialog of the browser."""
    with viewer.page.expect_file_chooser() as chooser:
        viewer.page.get_by_role("button", name="Select from your computer", exact=True).click()
    chooser.value.set_files(files)


def opened(viewer: Viewer, number: int = 1) -> dict[str, Any]:
    """Wait for the page of the first opening, or of a later one, and until it shows a program."""
    viewer.page.wait_for_url(f"**/open/{number}/**", timeout=0)
    until(lambda: viewer.page.evaluate("window.opscope.state().status") == "ready")
    return viewer.idle()


def back_home(viewer: Viewer) -> None:
    """Press Back and wait for the home page. It may come from the browser's cache; then it loads itself again."""
    viewer.page.go_back()
    viewer.page.get_by_role("button", name="Select from your computer", exact=True).wait_for()


def sources(viewer: Viewer) -> list[str]:
    return list(viewer.page.get_by_label("Source", exact=True).locator("option").all_inner_texts())


def problems(viewer: Viewer) -> list[str]:
    viewer.page.get_by_role("alert").first.wait_for()
    return list(viewer.page.get_by_role("alert").all_inner_texts())


def refused_by_the_command_line(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "opscope", "info", path.name], cwd=path.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    return done.stderr.strip()


def svg(viewer: Viewer) -> str:
    with viewer.page.expect_download() as saving:
        viewer.page.get_by_role("button", name="Save SVG", exact=True).click()
    return str(Path(saving.value.path()).read_text("utf-8"))


@pytest.mark.step("3.11")
def test_a_downloaded_json_of_hidet_is_opened_in_the_page(home: Callable[..., Viewer], corpus: Corpus) -> None:
    """hidet's tutorial ends in a hosted page in which one opens the JSON that hidet 0.3.1 wrote: every operator is drawn, with its operands
    as in the file."""
    file = corpus("hidet_passes") / "hidet-0.3.1" / "attention-graph.json"
    viewer = home()
    choose(viewer, file)
    opened(viewer)
    viewer.key("m")
    picture = svg(viewer)
    (graph,) = json.loads(file.read_text("utf-8"))["graphs"]
    for node in graph["nodes"]:
        assert node["name"] in picture
        assert viewer.search(f"id:/^{re.escape(node['name'])}$/")["matches"] == 1
        viewer.key("Enter")
        details = viewer.page.get_by_role("complementary", name="Details").inner_text()
        for operand in node["inputs"]:
            producer = operand["arguments"][0]["name"].partition(":")[0]
            assert producer in ("input", "const") or producer in details


@pytest.mark.step("4.15")
def test_selected_models_are_viewed_together(home: Callable[..., Viewer], tmp_path: Path) -> None:
    """Model Explorer's home page: select from your computer, then view the selected models. Here also with others, and in one click."""
    viewer = home()
    viewer.page.get_by_label("Select detach", exact=True).check()
    choose(viewer, SAMPLES / "model_explorer" / "every_field.json", SAMPLES / "torch" / "block.pt2")
    selected = viewer.page.get_by_label("Selected files", exact=True)
    until(lambda: "block.pt2" in selected.inner_text())
    assert [row["name"] for row in viewer.idle()["selected"]] == ["detach", "every_field.json", "block.pt2"]
    viewer.page.get_by_role("button", name="View selected", exact=True).click()
    opened(viewer)
    names = sources(viewer)
    assert names[0] == "demo:detach" and names[-1] == "block.pt2" and all(name.startswith("every_field.json") for name in names[1:-1])
    for number, name in enumerate(names):
        state = viewer.choose("Source", str(number))
        assert state["status"] == "ready" and state["nodes"] > 0, name
    graphs = json.loads((SAMPLES / "model_explorer" / "every_field.json").read_text("utf-8"))["graphs"]
    viewer.choose("Source", "1")
    ids = {node["id"] for node in graphs[0]["nodes"]}
    assert {id for id in ids if viewer.search(f"id:/^{re.escape(id)}$/")["matches"]} == ids


def test_a_dropped_file_opens_at_once_and_back_returns(home: Callable[..., Viewer]) -> None:
    viewer = home()
    drop(viewer, ("step.hlo", EXAMPLE.read_text("utf-8")))
    assert opened(viewer)["nodes"] == opscope.load(EXAMPLE).node_count
    assert viewer.page.title() == "step.hlo · opscope"
    viewer.page.reload()
    assert opened(viewer)["program"] == opscope.load(EXAMPLE).name
    back_home(viewer)


def test_a_bad_file_is_refused_as_the_command_line_refuses_it(home: Callable[..., Viewer], tmp_path: Path) -> None:
    files = {
        "bad.hlo": "HloModule m\nENTRY e { ROOT x = f32[2 parameter(0) }\n",
        "bad.json": '{"format": "opscope",\n "version" 1}',
        "empty.onnx": "",
        "picture.svg": "<svg/>",
        "notes.txt": "no graph at all",
    }
    viewer = home(faults=True)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        drop(viewer, (name, text))
        sentence = refused_by_the_command_line(tmp_path / name)
        viewer.page.get_by_role("alert").filter(has_text=sentence).wait_for()
        assert problems(viewer) == [sentence], "the problem of the file before is gone"
    drop(viewer, ("step.hlo", EXAMPLE.read_text("utf-8")), ("bad.hlo", files["bad.hlo"]))
    until(lambda: "bad.hlo:2:" in problems(viewer)[0])
    viewer.page.get_by_role("button", name="View selected", exact=True).click()
    assert opened(viewer)["nodes"] == opscope.load(EXAMPLE).node_count, "the good one can still be opened"


def test_a_file_that_is_too_large_is_not_even_sent(home: Callable[..., Viewer]) -> None:
    viewer = home()
    viewer.page.evaluate(
        """() => {
          const file = new File(["x"], "my model.onnx");
          Object.defineProperty(file, "size", {value: 3e9});
          const carried = {items: [{kind: "file", webkitGetAsEntry: () => null, getAsFile: () => file}], types: ["Files"]};
          const event = new DragEvent("drop", {bubbles: true, cancelable: true, composed: true});
          Object.defineProperty(event, "dataTransfer", {value: carried});
          document.querySelector("#opscope").shadowRoot.querySelector(".app").dispatchEvent(event);
        }"""
    )
    assert problems(viewer) == ["my model.onnx has 3.00 GB, and a page can send 1.00 GB; run: opscope view 'my model.onnx'"]
    assert not [url for url in viewer.requests if "/upload" in url]


def test_a_dropped_directory_is_explained(home: Callable[..., Viewer]) -> None:
    """Tests cannot make a real directory entry; this one has the methods that Chromium's have."""
    viewer = home()
    viewer.page.evaluate(
        """() => {
          const carried = {items: [{kind: "file", webkitGetAsEntry: () => ({isDirectory: true, name: "dump"}), getAsFile: () => null}]};
          const event = new DragEvent("drop", {bubbles: true, cancelable: true, composed: true});
          Object.defineProperty(event, "dataTransfer", {value: carried});
          document.querySelector("#opscope").shadowRoot.querySelector(".app").dispatchEvent(event);
        }"""
    )
    assert problems(viewer) == ["dump is a directory, which a page cannot send; run: opscope view dump"]


def test_files_of_the_machine_that_serves(home: Callable[..., Viewer], corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "models" / "deep").mkdir(parents=True)
    shutil.copy(EXAMPLE, tmp_path / "models" / "deep" / "step.hlo")
    shutil.copytree(corpus("hidet_passes") / "hidet-0.3.1" / "outs", tmp_path / "models" / "dump")
    viewer = home("--browse", tmp_path / "models")
    page = viewer.page
    page.get_by_role("button", name="deep", exact=True).click()
    page.get_by_role("button", name="step.hlo", exact=True).click()
    assert opened(viewer)["nodes"] == opscope.load(EXAMPLE).node_count
    back_home(viewer)
    page.get_by_role("button", name="dump", exact=True).click()
    assert opened(viewer, 2)["pass"] is not None, "a dump has its timeline"


def test_a_directory_that_cannot_be_listed_is_reported(home: Callable[..., Viewer], tmp_path: Path) -> None:
    (tmp_path / "models" / "deep").mkdir(parents=True)
    viewer = home("--browse", tmp_path / "models", faults=True)
    viewer.page.get_by_role("button", name="deep", exact=True).wait_for()
    (tmp_path / "models" / "deep").rmdir()
    viewer.page.get_by_role("button", name="deep", exact=True).click()
    assert "deep: no such file in" in problems(viewer)[0]


def test_recent_files_are_offered_and_can_be_cleared(home: Callable[..., Viewer], server: Server, tmp_path: Path) -> None:
    state = {"OPSCOPE_STATE": str(tmp_path / "state")}
    for name, layers in (("a.json", 2), ("b.json", 5)):
        opscope.save(network(layers), tmp_path / name)
        server(tmp_path / name, env=state)
    viewer = home(env=state)
    recent = viewer.page.get_by_label("Recent", exact=True)
    assert [text.strip() for text in recent.get_by_role("button").all_inner_texts()] == ["Clear recent files", "b.json", "a.json"]
    recent.get_by_role("button", name="a.json", exact=True).click()
    assert opened(viewer)["nodes"] == network(2).node_count
    back_home(viewer)
    until(lambda: recent.get_by_role("button").all_inner_texts()[1].strip() == "a.json")
    viewer.press("Clear recent files")
    assert recent.get_by_role("listitem").count() == 0 and not (tmp_path / "state" / "recent.json").exists()


def test_whoever_was_given_one_file_is_not_offered_the_others(server: Server, open_address: Open, tmp_path: Path) -> None:
    state = {"OPSCOPE_STATE": str(tmp_path / "state")}
    opscope.save(network(), tmp_path / "n.json")
    viewer = open_address(server(tmp_path / "n.json", env=state))
    viewer.page.get_by_role("link", name="Open a file", exact=True).click()
    viewer.page.get_by_label("Examples", exact=True).wait_for()
    assert viewer.page.get_by_label("Recent", exact=True).count() == 0
    assert str(tmp_path) not in viewer.page.content()


def test_the_keyboard_is_enough(home: Callable[..., Viewer]) -> None:
    viewer = home()
    order = []
    for _ in range(8):
        viewer.page.keyboard.press("Tab")
        order.append(
            viewer.page.evaluate("(at => at?.ariaLabel ?? at?.textContent)(document.querySelector('#opscope').shadowRoot.activeElement)")
        )
    assert order[:2] == ["Theme", "Select from your computer"] and order[-2:] == ["Select detach", "detach"]
    viewer.page.keyboard.press("Enter")
    assert opened(viewer)["program"] == "SelfDistillation"


@pytest.mark.parametrize("on", ["canvas.graph", ".bar"])
def test_a_file_that_is_dropped_onto_a_served_page_opens(server: Server, open_address: Open, tmp_path: Path, on: str) -> None:
    opscope.save(network(), tmp_path / "n.json")
    viewer = open_address(server(tmp_path / "n.json"))
    drop(viewer, ("step.hlo", EXAMPLE.read_text("utf-8")), on=on)
    assert opened(viewer)["nodes"] == opscope.load(EXAMPLE).node_count
    drop(viewer, ("other.json", (tmp_path / "n.json").read_text("utf-8")), on=on)
    assert opened(viewer, 2)["program"] == "network"


@pytest.mark.parametrize(("served", "offer"), [(True, "Drop files to open them"), (False, "Drop style rules or node data to apply them")])
def test_a_dragged_file_is_told_what_this_page_takes(
    server: Server, open_address: Open, open_file: Open, tmp_path: Path, served: bool, offer: str
) -> None:
    opscope.save(network(), tmp_path / "n.json")
    viewer = open_address(server(tmp_path / "n.json")) if served else open_file(network())
    drag = DROP.replace('"drop"', '"dragenter"')
    viewer.page.evaluate(drag, [".app", [("step.hlo", "HloModule m")]])
    shown = """() => getComputedStyle(document.querySelector("#opscope").shadowRoot.querySelector("main"), "::after").content"""
    assert until(lambda: viewer.page.evaluate(shown).strip('"')) == offer


def test_a_bad_file_that_is_dropped_onto_the_viewer_leaves_it_as_it_is(server: Server, open_address: Open, tmp_path: Path) -> None:
    opscope.save(network(), tmp_path / "n.json")
    viewer = open_address(server(tmp_path / "n.json"), faults=True)
    drop(viewer, ("bad.json", '{"format": "opscope",\n "version" 1}'), on="canvas.graph")
    (sentence,) = problems(viewer)
    assert sentence.startswith("bad.json:2:12: not JSON")
    viewer.press("Close")
    assert viewer.page.get_by_role("alert").count() == 0 and viewer.state()["nodes"] == network().node_count


def test_a_page_from_a_file_says_what_to_run(open_file: Open) -> None:
    viewer = open_file(network())
    for on in ("canvas.graph", ".bar"):
        drop(viewer, ("my step.hlo", "HloModule m"), ("b.json", '{"graphs": []}'), on=on)
        (sentence,) = problems(viewer)
        assert sentence.startswith("This page cannot read my step.hlo, b.json; run: opscope view 'my step.hlo' b.json")
        viewer.press("Close")
    assert viewer.page.get_by_role("link", name="Open a file", exact=True).count() == 0


def test_a_server_that_has_ended_is_reported(home: Callable[..., Viewer]) -> None:
    viewer = home(faults=True)
    viewer.page.context.set_offline(True)
    drop(viewer, ("step.hlo", "HloModule m"))
    assert problems(viewer) == ["The server does not answer; if it was stopped, run `opscope view` again"]


@pytest.mark.parametrize("width", [900, 1400, 3840])
def test_nothing_overlaps_or_is_cut_off(home: Callable[..., Viewer], tmp_path: Path, width: int) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / ("long name " * 12 + ".hlo")).touch()
    viewer = home("--browse", tmp_path / "models", viewport={"width": width, "height": 900})
    viewer.page.get_by_role("listitem").filter(has_text="long name").first.wait_for()
    boxes = viewer.page.evaluate(
        """() => [...document.querySelector("#opscope").shadowRoot.querySelectorAll("section")].map((section) => {
          const {left, right, top, bottom} = section.getBoundingClientRect();
          return [left, right, top, bottom, section.scrollWidth - section.clientWidth];
        })"""
    )
    assert len(boxes) == 4
    assert all(left >= 0 and right <= width and spill <= 0 for left, right, _, _, spill in boxes)
    for i, (left, right, top, bottom, _) in enumerate(boxes):
        for other in boxes[i + 1 :]:
            assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
