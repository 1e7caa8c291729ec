"""A page with the viewer in it, as tests drive it: through accessible names, never through the page's structure."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

MENUS = ("View", "Save")
"""The menus of the toolbar."""


@dataclass
class Viewer:
    """A page with the viewer in it, and what went wrong on it."""

    page: Any
    address: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate("window.opscope.state()")
        return found

    def idle(self) -> dict[str, Any]:
        """Wait until nothing moves; the state at that very moment. Asked for separately, it could be one in which a message from the
        server has changed what is wanted and not yet what is shown."""
        settled: dict[str, Any] = self.page.evaluate("window.opscope.whenIdle().then(() => window.opscope.state())")
        return settled

    def control(self, name: str) -> Any:
        """A control by its name: a button, or an entry of a menu of the toolbar, which is opened."""
        button = self.page.get_by_role("button", name=name, exact=True)
        if button.count():
            return button
        entry = self.page.locator("[role=menuitem], [role=menuitemcheckbox], [role=menuitemradio]").filter(
            has=self.page.get_by_text(name, exact=True), visible=True
        )
        for menu in [] if entry.count() else MENUS:
            self.page.get_by_role("button", name=menu, exact=True).click()
            self.page.get_by_role("menu", name=menu).wait_for()
            if entry.count():
                break
            self.page.keyboard.press("Escape")
        return entry

    def press(self, name: str) -> dict[str, Any]:
        """Press a control. A menu that stays open is closed again."""
        self.control(name).click()
        if self.page.get_by_role("menu").count():
            self.page.keyboard.press("Escape")
        return self.idle()

    def key(self, *names: str) -> dict[str, Any]:
        for name in names:
            self.page.keyboard.press(name)
        return self.idle()

    def choose(self, label: str, value: str) -> dict[str, Any]:
        """Choose from a list of the toolbar, or of its first menu."""
        if not self.page.get_by_label(label, exact=True).count():
            self.page.get_by_role("button", name=MENUS[0], exact=True).click()
        self.page.get_by_label(label, exact=True).select_option(value)
        if self.page.get_by_role("menu").count():
            self.page.keyboard.press("Escape")
        return self.idle()

    def search(self, text: str) -> dict[str, Any]:
        self.page.get_by_label("Search", exact=True).fill(text)
        return self.idle()

    def row(self, name: str) -> Any:
        """A row of the outline."""
        return self.page.get_by_role("treeitem", name=re.compile(f"^{re.escape(name)}\\b")).first

    def place(self, name: str) -> tuple[float, float]:
        """Bring a box to the middle of the canvas; where that is on the page."""
        self.row(name).click()
        self.press("Zoom to selection")
        box = self.page.locator("canvas.graph").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def foreign_requests(self) -> list[str]:
        """Requests for anything but the page itself and what its own host gives."""
        address = urlsplit(self.address)
        own = f"{address.scheme}://{address.netloc}/" if address.netloc else self.address.split("#")[0]
        return [url for url in self.requests if not url.startswith((own, "blob:", "data:"))]


Open = Callable[..., Viewer]


PATIENCE = 300
"""Seconds after which a state will not come any more. No test is judged by it: without it, one that can never pass would keep all others
from ending."""


def until(holds: Callable[[], Any]) -> Any:
    """Ask again until it holds (a page under a strict policy cannot be asked to tell by itself)."""
    end = time.monotonic() + PATIENCE
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, f"still {found!r} after {PATIENCE} seconds"
        time.sleep(0.02)
