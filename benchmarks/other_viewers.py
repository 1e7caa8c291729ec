"""Model Explorer and Netron on the same graphs, driven the same way: through their own servers, pages and buttons."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import Page, sync_playwright

import opscope
from opscope.program import Program

CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]

QUIET = 1.5
"""Seconds without work after which an action is over: between its steps, the worker rests for a moment."""

SPY = """
const PROGRESS = 8;  // the type of messages that only report progress
const Plain = window.Worker;
window.asked = window.answered = 0;
window.Worker = class extends Plain {
  constructor(...args) {
    super(...args);
    this.addEventListener("message", (event) => { if (event.data.eventType !== PROGRESS) window.answered++; });
  }
  postMessage(...args) { window.asked++; super.postMessage(...args); }
};
"""


def measure_model_explorer(program: Program, name: str, directory: Path, patience: float) -> dict[str, Any] | None:
    """A row of the table, or None if Model Explorer is not installed. What does not finish in time is infinite."""
    command = shutil.which("model-explorer", path=str(Path(sys.executable).parent))
    if command is None:
        return None
    target = directory / "model_explorer.json"
    opscope.save(program, target, format="model-explorer")
    row: dict[str, Any] = {"tool": "Model Explorer", "graph": name, "nodes": program.node_count, "MB": target.stat().st_size / 1e6}
    with _server(command, target) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
        page.add_init_script(SPY)
        started = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("mat-icon.expand-all", timeout=patience * 1000)
        row["first picture s"] = _settled(page, 0, started, patience)
        for label, selector in (("Expand all s", "mat-icon.expand-all"), ("Flatten s", "mat-icon.flatten-layers")):
            answered = page.evaluate("window.answered")
            started = time.perf_counter()
            page.click(selector)
            row[label] = _settled(page, answered, started, patience)
            if row[label] == float("inf"):
                break
        browser.close()
    return row


NETRON_GUARD = """
{ const original = window.eval; Object.defineProperty(window, "eval", {get: () => original, set: () => {}}); }
"""
"""Netron removes `eval` from its page, which Playwright needs to query the page."""


def measure_netron(program: Program, name: str, directory: Path, patience: float) -> dict[str, Any] | None:
    """A row of the table, or None if Netron is not installed. Netron has no groups: its first picture is the flat graph."""
    command = shutil.which("netron", path=str(Path(sys.executable).parent))
    if command is None:
        return None
    target = directory / "graph.netron"
    opscope.save(program, target)
    row: dict[str, Any] = {"tool": "Netron", "graph": name, "nodes": program.node_count, "MB": target.stat().st_size / 1e6}
    port = _free_port()
    with subprocess.Popen([command, str(target), "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _until_open(port)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport={"width": 1600, "height": 1000})
            page.add_init_script(NETRON_GUARD)
            page.goto(f"http://127.0.0.1:{port}/")
            page.get_by_role("button", name="Accept").click()
            row["Flatten s"] = _drawn(page, time.perf_counter(), patience)
            browser.close()
        process.terminate()
    return row


def _drawn(page: Page, started: float, patience: float) -> float:
    """Seconds until Netron shows a graph; infinite if it gives up, crashes or takes too long."""
    try:
        page.wait_for_selector("body.default, body.alert", timeout=patience * 1000)
    except PlaywrightError:
        return float("inf")
    return time.perf_counter() - started if page.locator("#target .node").count() else float("inf")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _until_open(port: int) -> None:
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


def _settled(page: Page, answered: int, started: float, patience: float) -> float:
    """Seconds until the worker has answered everything and gets no more work for a while; infinite if that takes too long."""
    page.set_default_timeout(patience * 1000)
    since: float | None = None
    while time.perf_counter() - started < patience:
        asked, replies = page.evaluate("[window.asked, window.answered]")
        now = time.perf_counter()
        if replies <= answered or replies < asked:
            since = None
        elif since is None:
            since = now
        elif now - since > QUIET:
            return since - started
        time.sleep(0.02)
    return float("inf")


@contextmanager
def _server(command: str, target: Path) -> Iterator[str]:
    port = _free_port()
    arguments = [command, str(target), "--no_open_in_browser", "--port", str(port), "--skip_health_check"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("http://"):
                break
        _until_open(port)
        yield line.strip()
        process.terminate()
