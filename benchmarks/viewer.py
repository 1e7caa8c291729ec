"""How long people wait for the viewer, measured in real Chromium (headless, no GPU) with Playwright.

    python benchmarks/viewer.py [--sizes 1000,10000,50000] [--only opscope|model-explorer|netron] [--json FILE] [--keep]

Opens one-file pages of the transformer training graph, of the compiled 24-layer HLO (`.bench/transformer24.hlo`, made by
benchmarks/make_hlo.py) and of 100,000 boxes, and prints the time to the first picture, of Expand all and of Flatten (both with repeats
shown one by one, so that every node is drawn), the frames while panning and zooming, and the longest time the page did not answer. A
press ends when the page is idle; that is 150 ms after the camera has stopped, when its place is written into the address. Other work on
the machine makes all of them longer, but hardly the CPU time of the longest block, which is printed beside it. Browsers tell of blocks of
50 ms and more; 0 means that there was none. If Model
Explorer and Netron are installed, they get the same graphs in the same run. A figure that misses its target is printed with the target.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from results import Figure, keep
from training_graph import training_graph

import opscope
from opscope.program import Program
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
HLO = Path(__file__).resolve().parent.parent / ".bench" / "transformer24.hlo"
PATIENCE = 150.0
NEVER = float("inf")
"""For what did not finish in time; then larger graphs are not tried."""
ASKED: dict[str, dict[str, float]] = {
    "training step, 1,000": {"first picture s": 1, "Expand all s": 0.5, "Flatten s": 0.5},
    "training step, 10,000": {"first picture s": 1.5, "Expand all s": 1.5, "Flatten s": 2},
    "training step, 50,000": {"first picture s": 3, "Expand all s": 5, "Flatten s": 8},
    "compiled 24-layer HLO": {"first picture s": 4, "MB": 8},
    "100,000 boxes": {"pan far ms": 33, "zoom ms": 33, "pan near ms": 33},
}
LONGEST_BLOCK_MS = 100.0
SETTLE_MS = 200
"""Until the observer of long tasks has heard of what ran before."""

WATCH = """
window.blocked = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.blocked = Math.max(window.blocked, entry.duration);
}).observe({type: "longtask", buffered: true});
"""
FRAMES = """(milliseconds) => new Promise((done) => {
  const frames = []; let last = performance.now(); const end = last + milliseconds;
  const tick = (now) => { frames.push(now - last); last = now; now < end ? requestAnimationFrame(tick) : done(frames); };
  requestAnimationFrame(tick);
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1000,10000,50000")
    parser.add_argument("--boxes", type=int, default=100_000, help="graph size for the frame times; 0 leaves them out")
    parser.add_argument("--only", choices=["opscope", "model-explorer", "netron"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/viewer.jsonl")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",") if size]
    results: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory:
        if arguments.only in (None, "opscope"):
            for size in sizes:
                results.append(measure(training_graph(size), f"training step, {size:,}", Path(directory)))
                show(results[-1])
            if HLO.exists():
                program = opscope.load(HLO)
                results.append(measure(program, "compiled 24-layer HLO", Path(directory)))
                show(results[-1])
            if arguments.boxes:
                results.append(frames(training_graph(arguments.boxes), f"{arguments.boxes:,} boxes", Path(directory)))
                show(results[-1])
        from other_viewers import measure_model_explorer, measure_netron

        for tool, measure_other in (("model-explorer", measure_model_explorer), ("netron", measure_netron)):
            for size in sizes if arguments.only in (None, tool) else []:
                row = measure_other(training_graph(size), f"training step, {size:,}", Path(directory), PATIENCE)
                if row is None:
                    print(f"{tool} is not installed; skipped")
                    break
                results.append(row)
                show(row)
                if NEVER in row.values():
                    break
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))
    if arguments.keep:
        keep("viewer", [figure for row in results for figure in figures_of(row)])


def measure(program: Program, name: str, directory: Path) -> dict[str, Any]:
    """Open, Expand all, Flatten."""
    target = directory / "page.html"
    started = time.perf_counter()
    write([program], target, ViewOptions())
    export = time.perf_counter() - started
    with opened(target) as (page, first):
        press(page, "Fold repeats")
        expand = press(page, "Expand all")
        boxes = page.evaluate("window.opscope.state().boxes")
        flatten = press(page, "Flatten")
        blocked = page.evaluate("window.blocked")
        task = longest_task(page)
    return {
        "tool": "opscope",
        "graph": name,
        "nodes": program.node_count,
        "export s": export,
        "MB": target.stat().st_size / 1e6,
        "first picture s": first,
        "Expand all s": expand,
        "boxes": boxes,
        "Flatten s": flatten,
        "longest block ms": blocked,
        "longest block, CPU ms": task,
    }


def frames(program: Program, name: str, directory: Path) -> dict[str, Any]:
    """Frame times while dragging and zooming with every box drawn, near and far."""
    target = directory / "frames.html"
    write([program], target, ViewOptions())
    with opened(target) as (page, _):
        press(page, "Fold repeats")
        press(page, "Expand all")
        page.evaluate("window.blocked = 0")
        row: dict[str, Any] = {
            "tool": "opscope",
            "graph": name,
            "nodes": program.node_count,
            "boxes": page.evaluate("window.opscope.state().boxes"),
        }
        row["pan far ms"], row["pan far worst ms"] = moving(page, lambda: drag(page))
        row["zoom ms"], row["zoom worst ms"] = moving(page, lambda: wheel(page))
        page.evaluate("window.opscope.whenIdle()")
        row["pan near ms"], row["pan near worst ms"] = moving(page, lambda: drag(page))
        row["longest block ms"] = page.evaluate("window.blocked")
    return row


def moving(page: Page, move: Callable[[], None]) -> tuple[float, float]:
    """Median and worst frame while something moves."""
    page.evaluate(f"() => {{ window.frames = ({FRAMES})(2500); }}")
    end = time.perf_counter() + 2.4
    while time.perf_counter() < end:
        move()
    times = page.evaluate("() => window.frames")
    return statistics.median(times), max(times)


def drag(page: Page) -> None:
    page.mouse.move(700, 500)
    page.mouse.down()
    for i in range(12):
        page.mouse.move(700 + 14 * (i % 6), 500 + 9 * i)
    page.mouse.up()


def wheel(page: Page) -> None:
    page.mouse.move(800, 500)
    for _ in range(6):
        page.mouse.wheel(0, -120)


@contextmanager
def opened(target: Path) -> Iterator[tuple[Page, float]]:
    """A page with its first picture painted, and the seconds from opening it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.add_init_script(WATCH)
        page.goto("about:blank")
        browser.start_tracing(page=page, categories=["toplevel", "blink.user_timing"])
        started = time.perf_counter()
        page.goto(target.as_uri())
        wait(page, "window.opscope?.state().status === 'ready'")
        page.evaluate("window.opscope.whenIdle()")
        yield page, time.perf_counter() - started
        browser.close()


def longest_task(page: Page) -> float:
    """CPU milliseconds of the longest task of the page's main thread until now. May be asked once."""
    page.evaluate("performance.mark('the page')")
    assert page.context.browser is not None
    events = json.loads(page.context.browser.stop_tracing())["traceEvents"]
    mark = next(event for event in events if event["name"] == "the page")
    thread = (mark["pid"], mark["tid"])
    tasks = (event for event in events if event["name"] == "ThreadControllerImpl::RunTask" and (event["pid"], event["tid"]) == thread)
    return max(task.get("tdur", 0) for task in tasks) / 1000


def cpu_seconds(page: Page) -> float:
    """What the process of the page has used so far, its worker included."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return next(metric["value"] for metric in metrics if metric["name"] == "ProcessTime")


def press(page: Page, name: str) -> float:
    """Seconds from pressing a button until the picture is still."""
    page.wait_for_timeout(SETTLE_MS)
    blocked = page.evaluate("window.blocked")
    place = page.get_by_role("button", name=name, exact=True).bounding_box()
    assert place is not None, f"the page has a button {name}"
    page.wait_for_timeout(SETTLE_MS)
    page.evaluate("(blocked) => { window.blocked = blocked; }", blocked)  # Playwright's search for the button is not the page's work
    started = time.perf_counter()
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.evaluate("window.opscope.whenIdle()")
    return time.perf_counter() - started


def wait(page: Page, condition: str) -> None:
    end = time.perf_counter() + PATIENCE
    while not page.evaluate(condition):
        if time.perf_counter() > end:
            raise TimeoutError(condition)
        time.sleep(0.01)


def asked_of(row: dict[str, Any]) -> dict[str, float]:
    return {"longest block ms": LONGEST_BLOCK_MS, **ASKED.get(row["graph"], {})} if row["tool"] == "opscope" else {}


def figures_of(row: dict[str, Any]) -> Iterator[Figure]:
    """A figure for each cell: its last word is the unit."""
    for cell, value in row.items():
        if cell in ("tool", "graph", "nodes", "boxes"):
            continue
        name, _, unit = cell.rpartition(" ")
        note = f"over {PATIENCE:.0f} s" if value == NEVER else ""
        yield Figure(name or "file", value, unit, row["graph"], row["nodes"], row["tool"], asked_of(row).get(cell), note=note)


def show(row: dict[str, Any]) -> None:
    asked = asked_of(row)
    cells = []
    for name, value in row.items():
        if name in ("tool", "graph"):
            continue
        text = f"over {PATIENCE:.0f}" if value == NEVER else f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
        missed = name in asked and value > asked[name]
        cells.append(f"{name} {text}" + (f" (MISSED: target {asked[name]:g})" if missed else " (met)" if name in asked else ""))
    print(f"{row['tool']:15} {row['graph']:24} " + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
