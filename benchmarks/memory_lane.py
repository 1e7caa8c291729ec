"""How long people wait for the memory of a program of 100,000 nodes: in Python, and in the panel in real Chromium.

    python benchmarks/memory_lane.py [--size 100000] [--keep]

Takes the training graph of that size, and the compiled 24-layer HLO (`.bench/transformer24.hlo`, made by benchmarks/make_hlo.py) if it is
there. In Python: CPU seconds to compute the memory with reasons, to encode it for the page, and to suggest what to recompute. In the
viewer, served by `opscope view`: the time from opening the panel to the lane, from moving over the lane to the node that runs there, to
highlight half of the run, and the longest time for which the page did not answer.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from playwright.sync_api import Page, sync_playwright
from results import Figure, keep
from training_graph import training_graph
from viewer import CHROMIUM, FLAGS, HLO, LONGEST_BLOCK_MS, PATIENCE, WATCH, wait

import opscope
from opscope.analysis.enrich import enrich
from opscope.memory.shown import memory_of, planner_of
from opscope.memory.suggest import answer
from opscope.program import Program
from opscope.render.wire.memory import encode_memory

Value = TypeVar("Value")
HOVERS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--keep", action="store_true", help="append the figures to benchmarks/results/memory_lane.jsonl")
    arguments = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as scratch:
        graph = Path(scratch) / "training.json"
        opscope.save(training_graph(arguments.size), graph)
        for name, source in {f"training step, {arguments.size:,}": graph, "compiled 24-layer HLO": HLO}.items():
            if source.exists():
                figures += [*in_python(name, opscope.load(source)), *in_viewer(name, source, opscope.load(source).node_count)]
    for figure in figures:
        print(f"{figure.graph:28} {figure.name:42} {figure.value:10.3f} {figure.unit:3} {figure.target}")
    if arguments.keep:
        keep("memory_lane", figures)


def in_python(name: str, program: Program) -> list[Figure]:
    """CPU seconds. The program has been enriched before: the page shows it."""
    of = (name, program.node_count)
    enrich(program)
    memory, computing = timed(lambda: memory_of(program))
    _, encoding = timed(lambda: encode_memory(memory, program))
    _, suggesting = timed(lambda: answer(planner_of(program), [], True))
    return [
        Figure("memory with reasons, CPU", computing, "s", *of),
        Figure("memory for the page, CPU", encoding, "s", *of),
        Figure("suggest, CPU", suggesting, "s", *of),
    ]


def timed(work: Callable[[], Value]) -> tuple[Value, float]:
    started = time.process_time()
    return work(), time.process_time() - started


def in_viewer(name: str, source: Path, size: int) -> list[Figure]:
    with served(source) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.add_init_script(WATCH)
        page.goto(address)
        wait(page, "window.opscope?.state().status === 'ready'")
        page.evaluate("window.opscope.whenIdle()")
        page.evaluate("window.blocked = 0")
        started = time.perf_counter()
        page.keyboard.press("u")
        point = page.get_by_role("status", name="Point")
        point.filter(has_text="Step").wait_for(timeout=1e3 * PATIENCE)
        opening = time.perf_counter() - started
        hovering = statistics.median(hover(page, share) for share in (i / HOVERS for i in range(1, HOVERS)))
        brushing = brush(page)
        blocked = page.evaluate("window.blocked")
        browser.close()
    of, load = (name, size), f"load average {os.getloadavg()[0]:.0f}"
    return [
        Figure("panel open", opening, "s", *of, note=load),
        Figure("hover, median", 1e3 * hovering, "ms", *of, note=load),
        Figure("half of the run highlighted", 1e3 * brushing, "ms", *of, note=load),
        Figure("longest block", blocked, "ms", *of, at_most=LONGEST_BLOCK_MS, note=load),
    ]


def hover(page: Page, share: float) -> float:
    """Seconds from moving over the lane to the sentence about that step."""
    box = page.get_by_role("slider", name="Point of the run").bounding_box()
    assert box is not None
    point = page.get_by_role("status", name="Point")
    before = point.inner_text()
    started = time.perf_counter()
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    point.filter(has_not_text=before).wait_for(timeout=1e3 * PATIENCE)
    return time.perf_counter() - started


def brush(page: Page) -> float:
    """Seconds from dragging over half of the lane until the page is still."""
    box = page.get_by_role("slider", name="Point of the run").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.down()
    started = time.perf_counter()
    page.mouse.move(box["x"] + 0.75 * box["width"], y, steps=8)
    page.evaluate("window.opscope.whenIdle()")
    page.mouse.up()
    return time.perf_counter() - started


@contextmanager
def served(source: Path) -> Iterator[str]:
    """The address of the viewer, while it runs."""
    command = [sys.executable, "-m", "opscope", "view", str(source), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        try:
            yield next(match[0] for line in server.stdout if (match := re.search(r"http://\S+", line)))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
