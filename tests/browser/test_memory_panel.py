"""The memory panel: the lane, the point, and the buffers alive there, as `opscope memory` prints them and linked with the graph."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

from browser.harness import Open, Viewer, until
from opscope.loading import load_all
from opscope.memory.flow import value_key
from opscope.memory.model import Memory
from opscope.memory.read_from import remember_source
from opscope.memory.shown import planner_of
from opscope.memory.sources import read_memory
from opscope.memory.suggest import answer, known_error
from opscope.quantities import short_bytes
from opscope.recording.sources import open_recording
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions

SAMPLES = Path(__file__).parents[1] / "samples"
SNAPSHOTS = Path(__file__).parents[1] / "memory" / "snapshots"


@pytest.fixture(scope="module")
def memory(gpu_dump: Path) -> Memory:
    (memory,) = read_memory(str(gpu_dump))
    return memory


@pytest.fixture(scope="module")
def page(gpu_dump: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    recording = open_recording(gpu_dump).only(-1)
    remember_source(str(gpu_dump), recording)
    target = tmp_path_factory.mktemp("memory") / "page.html"
    write([recording], target, ViewOptions())
    return target.as_uri()


@pytest.fixture(scope="module")
def opened(open_shared: Open, page: str) -> Viewer:
    """The page with the panel open: first before the last pass, whose memory it does not have, and then after it."""
    viewer = open_shared(page)
    viewer.key("u")
    alert = viewer.page.get_by_role("alert")
    until(lambda: alert.count())
    assert "after the last pass of each module" in alert.inner_text()
    return to_the_last_pass(viewer)


@pytest.fixture
def viewer(opened: Viewer) -> Viewer:
    """The same page for every test, at the peak and with nothing grouped."""
    opened.page.get_by_label("Group buffers by").select_option("buffer")
    opened.press("Go to the peak")
    until(lambda: len(cells(opened)) > 5)
    return opened


def to_the_last_pass(viewer: Viewer) -> Viewer:
    viewer.press("Show the last pass")
    until(lambda: point(viewer).startswith("Step"))
    return viewer


def point(viewer: Viewer) -> str:
    return viewer.page.get_by_role("status", name="Point").inner_text()


def cells(viewer: Viewer) -> list[list[str]]:
    """The texts of the table, read at once."""
    rows = viewer.page.get_by_role("table", name="Buffers alive").get_by_role("row")
    texts: list[list[str]] = rows.evaluate_all(
        "all => all.map((row) => [...row.querySelectorAll('[role=cell]')].map((cell) => cell.textContent))"
    )
    return texts[1:]


def step(memory: Memory, position: int) -> str:
    name = memory.step_at(position)
    return f"Step {position + 1} of {len(memory.steps)}, {name}: {short_bytes(memory.bytes_at(position))} in use"


def slider(viewer: Viewer) -> Any:
    return viewer.page.get_by_role("slider", name="Point of the run")


def at(viewer: Viewer, memory: Memory, position: int) -> tuple[float, float]:
    """Where a position is in the lane."""
    box = slider(viewer).bounding_box()
    return box["x"] + (position + 0.5) / len(memory.steps) * box["width"], box["y"] + box["height"] / 2


def agrees(viewer: Viewer, memory: Memory) -> None:
    """The panel says what the command says."""
    assert viewer.page.get_by_role("status", name="Peak").inner_text() == "peak 3.33 MB, reported by XLA"
    assert point(viewer).startswith(step(memory, memory.peak))
    until(lambda: len(cells(viewer)) > 5)
    live = memory.live(memory.peak)
    table = viewer.page.get_by_role("table", name="Buffers alive")
    columns = [head.inner_text() for head in table.get_by_role("columnheader").all()]
    shown = [dict(zip(columns, row, strict=True)) for row in cells(viewer)[:4]]
    for row, (buffer, _) in zip(shown, live, strict=False):
        assert (row["bytes"], row["buffer"], row["type"], row["why it is alive"]) == (
            short_bytes(buffer.bytes or 0),
            buffer.name,
            str(buffer.type),
            buffer.why.removeprefix("saved for backward: "),
        )
    folded = [int(times[1]) for row in cells(viewer) for cell in row if (times := re.match(r"▸ (\d+) ×", cell))]
    assert folded, "equal buffers are one row"
    alive = sum(1 + len(row.shares) for row in live)
    assert int(table.get_attribute("aria-rowcount")) == 1 + alive - sum(folded) + len(folded)


def test_the_panel_says_what_the_command_says(viewer: Viewer, memory: Memory) -> None:
    agrees(viewer, memory)
    panel = viewer.page.get_by_role("region", name="Memory", exact=True)
    assert "run `opscope memory SOURCE --suggest`" in panel.inner_text(), "a page from a file cannot compute it"
    assert panel.get_by_role("button", name="Suggest").count() == 0


def test_a_server_computes_memory_and_answers_what_if(
    open_address: Open, server: Callable[..., str], gpu_dump: Path, memory: Memory, run: Run
) -> None:
    viewer = open_address(server(gpu_dump))
    viewer.key("u")
    agrees(to_the_last_pass(viewer), memory)
    raised = viewer.page.get_by_role("button", name="Raised most by pass 83")
    until(raised.count)
    assert "peak memory" in viewer.page.get_by_role("complementary", name="Details").inner_text()
    status = viewer.page.get_by_role("status", name="What if")
    assert status.count() == 0
    (program,) = load_all(str(gpu_dump))
    remember_source(str(gpu_dump), program)
    planner = planner_of(program)
    actions = {"cudnn-conv.1{0}": "offload", "loop_transpose_fusion": "recompute", "while.15{3}": "bf16"}
    for name, action in actions.items():
        viewer.page.get_by_label(f"What if: {name}", exact=True).select_option(action)
        viewer.idle()
    changes = [f"--what-if={action}={name}" for name, action in actions.items()]
    told = json.loads(run("memory", gpu_dump, *changes, "--json").stdout)
    peak, before, moved = (short_bytes(told[key]) for key in ("bytes_after", "bytes", "moved_bytes"))
    assert told["flops"] > 0 and told["bytes_after"] < told["bytes"], "what the command says"
    assert status.inner_text() == (
        f"Estimated, with 3 values changed: {peak} in use at the peak instead of {before}, "
        f"{short_bytes(told['flops'])[:-1]}FLOP computed again, {moved} moved off the device and back"
    )
    loop = viewer.page.get_by_label("What if: while.15{3}", exact=True)
    loop.select_option("recompute")
    until(lambda: "all of a loop would run again" in status.inner_text())
    assert loop.input_value() == "bf16", "what is refused is not kept"
    viewer.press("Clear what-if")
    assert status.count() == 0 and loop.input_value() == ""
    viewer.press("Suggest")
    assert status.inner_text() == "Nothing to suggest: no value that is saved for backward lowers the peak"
    assert answer(planner, [], suggests=True).suggestions == [], "what the loop saves is in use at the peak"


# The next view is lost on its way to the worker, so the viewer takes the worker for busy and starts another one when a view is asked for.
LOSE_A_VIEW = """(() => {
    const Real = window.Worker;
    window.workers = 0;
    window.Worker = class extends Real {
        constructor(...given) { super(...given); this.number = window.workers++; }
        postMessage(message, ...rest) {
            if (window.losing && this.number === 0 && message.method === "view") return;
            super.postMessage(message, ...rest);
        }
    };
})()"""


def test_what_if_survives_another_engine_and_another_panel(open_address: Open, server: Callable[..., str]) -> None:
    viewer = open_address(server(SNAPSHOTS / "transformer_early.pickle.gz"), script=LOSE_A_VIEW)
    until(lambda: len(cells(viewer)) > 5)
    select = viewer.page.get_by_label(re.compile("What if: .* equal")).first
    select.select_option("offload")
    status = viewer.page.get_by_role("status", name="What if")
    until(lambda: "moved off the device" in status.inner_text())
    said, lane = status.inner_text(), slider(viewer).screenshot()
    viewer.page.evaluate("window.losing = true")
    viewer.page.keyboard.press("e")
    viewer.page.keyboard.press("c")
    until(lambda: viewer.page.evaluate("window.workers") == 2)
    viewer.idle()
    slider(viewer).focus()
    viewer.key("+")
    until(lambda: slider(viewer).screenshot() != lane)
    viewer.key("0")
    until(lambda: slider(viewer).screenshot() == lane)
    viewer.page.get_by_role("tab", name="Table").click()
    viewer.key("u")
    assert status.inner_text() == said and select.input_value() == "offload"
    select.select_option("")
    until(lambda: status.count() == 0)


def test_a_snapshot_of_pytorch_opens_with_its_memory(open_address: Open, server: Callable[..., str]) -> None:
    file = SNAPSHOTS / "transformer_early.pickle.gz"
    (memory,) = read_memory(str(file))
    viewer = open_address(server(file))
    until(lambda: len(cells(viewer)) > 5)
    assert (
        viewer.page.get_by_role("status", name="Peak").inner_text() == f"peak {short_bytes(memory.peak_bytes)}, measured by the allocator"
    )
    assert point(viewer).startswith(step(memory, memory.peak))
    largest = memory.live(memory.peak)[0].buffer
    table = viewer.page.get_by_role("table", name="Buffers alive")
    assert largest.why in cells(viewer)[0] and largest.name in cells(viewer)[0]
    table.get_by_role("button", name=largest.name, exact=True).first.click()
    until(lambda: viewer.idle()["selectedNode"] == largest.node)
    equal = table.get_by_role("button", name=re.compile(r"\d ×")).first
    before = int(table.get_attribute("aria-rowcount"))
    times = int(re.sub(r"\D", "", equal.inner_text()))
    equal.click()
    until(lambda: table.get_attribute("aria-rowcount") == str(before + times))
    assert equal.get_attribute("aria-expanded") == "true"
    viewer.press("Suggest")
    (program,) = load_all(str(file))
    remember_source(str(file), program)
    suggested = answer(planner_of(program), [], suggests=True)
    status = viewer.page.get_by_role("status", name="What if").inner_text()
    assert status.startswith(f"Estimated, with {len(suggested.changes)} values changed: {short_bytes(suggested.result.memory.live_peak)}")
    assert status.endswith("an unknown number of FLOP computed again"), "an allocator does not know what computes a value"
    viewer.page.get_by_text("What to write").click()
    assert suggested.advice[-1] in viewer.page.get_by_role("region", name="Memory", exact=True).inner_text()


def test_suggest_marks_what_a_checkpoint_recomputes(open_address: Open, server: Callable[..., str], tmp_path: Path) -> None:
    log = tmp_path / "compiled.log"
    log.write_bytes(gzip.decompress((SAMPLES / "kineto" / "compiled.log.gz").read_bytes()))
    (memory,) = read_memory(str(log))
    viewer = open_address(server(log), permissions=["clipboard-read", "clipboard-write"])
    viewer.key("u")
    to_the_last_pass(viewer)
    until(lambda: len(cells(viewer)) > 5)
    why = "saved for backward: buf24 (gelu_backward) needs linear for the gradient of gelu"
    (largest,) = [row for row in cells(viewer) if why.partition(": ")[2] in row]
    assert "2 ×" in " ".join(largest) and "kept" in " ".join(largest)
    viewer.press("Suggest")
    status = viewer.page.get_by_role("status", name="What if")
    until(lambda: "with 1 checkpoint:" in status.inner_text())
    until(lambda: any("recomputed" in row and why.partition(": ")[2] in row for row in cells(viewer)))
    marked = [row for row in cells(viewer) if "recomputed" in row or "some recomputed" in row]
    (program,) = load_all(str(log))
    result = answer(planner_of(program), [], suggests=True).result
    live = memory.live(memory.peak)
    assert sum(value_key(each.buffer) in result.checkpointed for each in live) >= len(marked) > 0
    viewer.press("Clear what-if")
    until(lambda: not any("recomputed" in row for row in cells(viewer)))
    # A value that somebody chose is in the number, and not in the code: the page says what the code alone does.
    chosen = viewer.page.get_by_label(re.compile("^What if: buf")).last
    name = chosen.get_attribute("aria-label").removeprefix("What if: ").partition(" ")[0]
    chosen.select_option("offload")
    until(lambda: "changed:" in status.inner_text())
    viewer.press("Suggest")
    until(lambda: re.search(r"with 1 checkpoint and \d+ values? changed: ", status.inner_text()))
    viewer.page.get_by_text("What to write").click()
    panel = viewer.page.get_by_role("region", name="Memory", exact=True)
    said = panel.inner_text()
    assert f"This code alone: {short_bytes(result.memory.live_peak)} in use at the peak." in said
    assert re.search(rf"It does not do what you chose for \d+ values?: .*{re.escape(name)}", said)
    assert f"The estimate: {known_error(planner_of(program))}." in said
    panel.get_by_role("button", name="Copy", exact=True).click()
    assert viewer.page.evaluate("navigator.clipboard.readText()").splitlines() == answer(planner_of(program), [], suggests=True).advice


def test_the_lane_and_the_graph_are_linked(viewer: Viewer, memory: Memory) -> None:
    position = memory.position_of("cudnn-conv.1")
    viewer.page.mouse.move(*at(viewer, memory, position))
    until(lambda: point(viewer).startswith(step(memory, position)))
    viewer.page.mouse.click(*at(viewer, memory, position))
    until(lambda: viewer.idle()["selectedNode"] == "cudnn-conv.1")
    assert slider(viewer).get_attribute("aria-valuenow") == str(position)
    slider(viewer).focus()
    viewer.key("ArrowRight", "ArrowRight", "ArrowLeft")
    viewer.page.mouse.move(5, 5)
    until(lambda: point(viewer).startswith(step(memory, position + 1)))
    viewer.key("End")
    until(lambda: point(viewer).startswith(step(memory, len(memory.steps) - 1)))
    viewer.press("Go to the peak")
    until(lambda: viewer.idle()["selectedNode"] == memory.step_at(memory.peak))
    table = viewer.page.get_by_role("table", name="Buffers alive")
    until(lambda: table.get_by_role("button", name="while.15", exact=True).count())
    table.get_by_role("button", name="while.15", exact=True).first.click()
    until(lambda: viewer.idle()["selectedNode"] == "while.15")


def test_what_the_keys_outlined_does_not_stay_outlined(viewer: Viewer, memory: Memory) -> None:
    """Going to a node shows that node, and not also the edges of the step that was looked at before."""
    viewer.page.mouse.move(5, 5)
    canvas = viewer.page.get_by_role("application", name="Graph", exact=True)
    until(lambda: viewer.idle()["selectedNode"] == memory.step_at(memory.peak))
    at_the_peak = canvas.screenshot()
    slider(viewer).focus()
    viewer.key("End")
    until(lambda: canvas.screenshot() != at_the_peak)
    slider(viewer).focus()
    viewer.press("Go to the peak")
    until(lambda: canvas.screenshot() == at_the_peak)


def test_a_part_of_the_lane_is_highlighted_on_the_graph(viewer: Viewer, memory: Memory) -> None:
    canvas = viewer.page.get_by_role("application", name="Graph", exact=True)
    before = canvas.screenshot()
    x, y = at(viewer, memory, 3)
    viewer.page.mouse.move(x, y)
    viewer.page.mouse.down()
    viewer.page.mouse.move(*at(viewer, memory, 30), steps=5)
    viewer.page.mouse.up()
    viewer.page.mouse.move(5, 5)
    until(lambda: canvas.screenshot() != before)
    slider(viewer).focus()
    viewer.key("Escape")
    until(lambda: canvas.screenshot() == before)


def test_groups_sum_up_and_close(viewer: Viewer) -> None:
    viewer.page.get_by_label("Group buffers by").select_option("kind")
    until(lambda: any(row[1].startswith("saved ") for row in cells(viewer)))
    first = cells(viewer)[0]
    assert first[0] == short_bytes(4 * 524_288) and first[1].startswith("saved") and first[1].endswith("4 buffers")
    viewer.page.get_by_role("button", name="saved for backward", exact=True).click()
    until(lambda: len(cells(viewer)) > 1 and len(cells(viewer)[1]) == 2)


def test_the_dock_shows_one_panel_and_remembers_sizes(open_address: Open, page: str) -> None:
    viewer = open_address(page, viewport={"width": 900, "height": 700}, color_scheme="dark")
    viewer.key("u")
    to_the_last_pass(viewer)
    panel = viewer.page.get_by_role("region", name="Memory", exact=True)
    before = panel.bounding_box()["height"]
    viewer.page.get_by_role("separator", name="Resize memory").focus()
    viewer.key("ArrowUp")
    assert panel.bounding_box()["height"] == before + 24
    viewer.page.get_by_role("tab", name="Table").click()
    assert "table" in viewer.idle()["panels"] and "memory" not in viewer.state()["panels"]
    viewer.key("u")
    assert panel.bounding_box()["height"] == before + 24
    viewer.press("Close memory")
    assert panel.count() == 0
