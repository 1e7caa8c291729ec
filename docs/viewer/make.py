"""Makes the pictures of the viewer for README.md, docs/viewer.md and docs/passes.md: `python docs/viewer/make.py [NAME…]`.

Needs Chromium, `.bench/transformer2_lowered.hlo` and `.bench/transformer24.hlo`, which benchmarks/make_hlo.py makes, and for the
timeline and the times the sample data next to the repository. `review.py` takes views to look at after a change.
"""

from __future__ import annotations

import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page, sync_playwright

import opscope

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SAMPLES = ROOT.parent / "shared" / "data"
CHROMIUM = "/usr/bin/chromium"


def idle(page: Page) -> None:
    while not page.evaluate("window.opscope?.state().status === 'ready'"):
        time.sleep(0.02)
    page.evaluate("window.opscope.whenIdle()")


def press(page: Page, *names: str) -> None:
    """Presses controls; in a small window some are in the menu View."""
    for name in names:
        button = page.get_by_role("button", name=name, exact=True)
        if button.count():
            button.click()
        else:
            page.get_by_role("button", name="View", exact=True).click()
            page.get_by_role("menu").get_by_text(name, exact=True).click()
            page.keyboard.press("Escape")
        idle(page)


def find(page: Page, query: str) -> None:
    page.get_by_label("Search", exact=True).fill(query)
    idle(page)
    page.keyboard.press("Enter")
    idle(page)


def train_step(page: Page) -> None:
    """Forward and backward side by side, as it opens, large enough to read in a README."""
    for key in ("o", "f"):
        page.keyboard.press(key)
        idle(page)


def attention(page: Page) -> None:
    """A layer opened down to its softmax, with everything about it."""
    find(page, "op:exponential scope:layer_0")
    press(page, "Clear", "Upstream: more", "Upstream: more", "Downstream: more")


def compiled(page: Page) -> None:
    """A compiled training step as it opens."""


def table(page: Page) -> None:
    """Search, colours by bytes, and the table."""
    press(page, "Table")
    page.get_by_label("Colour by", exact=True).select_option("output bytes")
    page.get_by_role("button", name="output bytes", exact=True).click()
    find(page, "op:dot")


def everything(page: Page) -> None:
    """Every one of 114,529 boxes."""
    press(page, "Fold repeats", "Expand all")


def timeline(page: Page) -> None:
    """What one pass did: the nodes that became a fusion, and their history."""
    passes = page.get_by_label("Filter passes", exact=True)
    passes.fill("priority-fusion")
    page.get_by_role("option", name="priority-fusion").click()
    idle(page)
    passes.fill("")
    find(page, "id:fusion.16")


def profile(page: Page) -> None:
    """A training step on an H200: shares of its time on the graph, and what to fix first."""
    page.get_by_label("Colour by", exact=True).select_option("device time")
    for key in ("o", "H", "f"):
        idle(page)
        page.keyboard.press(key)
    idle(page)
    page.get_by_role("list", name="Most to gain").wait_for()


class Picture(NamedTuple):
    source: str | Path
    act: Callable[[Page], None]
    scheme: str = "light"
    width: int = 1600
    height: int = 1000
    scale: float = 1
    directory: str = "viewer"


PICTURES = {
    "train_step": Picture(".bench/transformer2_lowered.hlo", train_step, width=1120, height=740, scale=1.5),
    "attention": Picture("src/opscope/examples/train_step.hlo", attention),
    "compiled": Picture(".bench/transformer24.hlo", compiled, "dark"),
    "table": Picture("src/opscope/examples/train_step.hlo", table),
    "everything": Picture(".bench/transformer24.hlo", everything, "dark"),
    "profile": Picture(SAMPLES / "profiles" / "h200_jax_train_step.tar.gz", profile, width=1360, height=1220),
    "timeline": Picture(SAMPLES / "xla_gpu_scan_passes.tar.gz", timeline, directory="passes"),
}


def load(source: Path, directory: Path) -> opscope.Program | opscope.Recording:
    """A program, the recording of a packed directory of dumps, or the training step of a packed profile."""
    if not source.name.endswith(".tar.gz"):
        return opscope.load(source)
    with tarfile.open(source) as archive:
        archive.extractall(directory, filter="data")
    if source.parent.name == "profiles":
        return opscope.load(next(directory.rglob("*.xplane.pb")), module="jit_train_step", device="h200")
    return opscope.open_recording(directory / source.name.removesuffix(".tar.gz"))


def main(names: list[str]) -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as directory:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for name in names or PICTURES:
            picture = PICTURES[name]
            target = Path(directory, f"{name}.html")
            opscope.save(load(ROOT / picture.source, Path(directory)), target)
            page = browser.new_page(
                viewport={"width": picture.width, "height": picture.height},
                device_scale_factor=picture.scale,
                color_scheme=picture.scheme,
            )
            page.goto(target.as_uri())
            idle(page)
            picture.act(page)
            page.screenshot(path=HERE.parent / picture.directory / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
