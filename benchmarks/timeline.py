"""How large a recording is as one HTML file, and how long people wait for it, measured in real Chromium with Playwright.

    python benchmarks/timeline.py [--keep] [DIRECTORY or run.opscope …]

Prints for each source: passes, nodes of the largest snapshot, the file's megabytes, seconds to the first picture, and the
milliseconds (median and worst), with its motion (180 ms), from pressing `j` to the picture of the next change, over all changes. `j` opens
what hides a change, so its pictures grow; the step from card to card with the arrow key shows the same boxes throughout.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from results import Figure, keep

from opscope.recording.sources import open_recording
from opscope.render.writers.html import write
from opscope.view_options import ViewOptions

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
DEFAULT = Path(__file__).resolve().parent.parent / ".bench" / "transformer4_passes"


def main() -> None:
    sources = [Path(word) for word in sys.argv[1:] if word != "--keep"] or [DEFAULT]
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for source in sources:
            if not source.exists():
                print(f"{source.name}: not found; run benchmarks/make_dump.py first")
                continue
            figures += measure(source, Path(directory, "page.html"), browser)
        browser.close()
    if "--keep" in sys.argv:
        keep("timeline", figures)


def measure(source: Path, page_file: Path, browser: Any) -> list[Figure]:
    recording = open_recording(source)
    started = time.perf_counter()
    write([recording], page_file, ViewOptions())
    written = time.perf_counter() - started
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    opened = open_page(page, page_file)
    steps, engine = times_of(page, "j", len(recording))
    open_page(page, page_file)
    page.get_by_role("listbox", name="Timeline").focus()
    cards, _ = times_of(page, "ArrowRight", len(recording))
    page.context.close()
    most = max(snapshot.nodes for snapshot in recording)
    print(f"{source.name}: {len(recording)} passes, up to {most:,} nodes, {len(steps)} changes")
    print(f"  one HTML file     {page_file.stat().st_size / 1e6:.2f} MB, written in {written:.1f} s")
    print(f"  first picture     {opened:.2f} s")
    print(f"  next change       {statistics.median(steps):.0f} ms median, {max(steps):.0f} ms worst (with motion)")
    print(f"  of that, engine   {statistics.median(engine):.0f} ms median, {max(engine):.0f} ms worst")
    print(f"  next card         {statistics.median(cards):.0f} ms median, {max(cards):.0f} ms worst (with motion)")
    name, size = source.name, len(recording)
    return [
        Figure("one HTML file", page_file.stat().st_size / 1e6, "MB", name, size),
        Figure("first picture", opened, "s", name, size),
        Figure("next change, median", statistics.median(steps), "ms", name, size),
        Figure("next change, worst", max(steps), "ms", name, size),
        Figure("next card, median", statistics.median(cards), "ms", name, size),
    ]


def open_page(page: Any, file: Path) -> float:
    """Seconds to the first picture."""
    started = time.perf_counter()
    page.goto("about:blank")
    page.goto(file.as_uri())
    while not page.evaluate("!!window.opscope && window.opscope.state().status === 'ready'"):
        time.sleep(0.005)
    seconds = time.perf_counter() - started
    page.evaluate("window.opscope.whenIdle()")
    return seconds


def times_of(page: Any, key: str, presses: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each press of a key that shows another pass: as a person waits, and in the engine."""
    steps: list[float] = []
    engine: list[float] = []
    for _ in range(presses):
        before = page.evaluate("window.opscope.state().pass")
        started = time.perf_counter()
        page.keyboard.press(key)
        page.evaluate("window.opscope.whenIdle()")
        state = page.evaluate("window.opscope.state()")
        if state["pass"] != before:
            steps.append(1000 * (time.perf_counter() - started))
            engine.append(state["lastTotalMs"])
    return steps, engine


if __name__ == "__main__":
    main()
