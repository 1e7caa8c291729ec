"""Makes the pictures of the viewer that the README shows: python docs/viewer/make.py (needs Chromium and .bench/transformer24.hlo)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import opscope

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CHROMIUM = "/usr/bin/chromium"


def idle(page: Page) -> None:
    while not page.evaluate("window.opscope?.state().status === 'ready'"):
        time.sleep(0.02)
    page.evaluate("window.opscope.whenIdle()")


def press(page: Page, *names: str) -> None:
    for name in names:
        page.get_by_role("button", name=name, exact=True).click()
        idle(page)


def find(page: Page, query: str) -> None:
    page.get_by_label("Search", exact=True).fill(query)
    idle(page)
    page.keyboard.press("Enter")
    idle(page)


def attention(page: Page) -> None:
    """A layer opened down to its softmax, with everything about it."""
    find(page, "op:exponential scope:layer_0")
    press(page, "Clear", "Upstream: more", "Upstream: more", "Downstream: more")


def compiled(page: Page) -> None:
    """A compiled training step as it opens."""
    press(page, "Fit")


def table(page: Page) -> None:
    """Search, colours by bytes, and the table."""
    press(page, "Table")
    page.get_by_label("Colour by", exact=True).select_option("output bytes")
    page.get_by_role("button", name="output bytes", exact=True).click()
    find(page, "op:dot")


def everything(page: Page) -> None:
    """Every one of 107,000 boxes."""
    press(page, "Fold repeats", "Expand all")


PICTURES: dict[str, tuple[str, str, Callable[[Page], None]]] = {
    "attention": ("examples/train_step.hlo", "light", attention),
    "compiled": (".bench/transformer24.hlo", "dark", compiled),
    "table": ("examples/train_step.hlo", "light", table),
    "everything": (".bench/transformer24.hlo", "dark", everything),
}


def main() -> None:
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for name, (source, scheme, act) in PICTURES.items():
            target = Path(folder, f"{name}.html")
            opscope.save(opscope.load(ROOT / source), target)
            page = browser.new_page(viewport={"width": 1600, "height": 1000}, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(target.as_uri())
            idle(page)
            act(page)
            page.screenshot(path=HERE / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
