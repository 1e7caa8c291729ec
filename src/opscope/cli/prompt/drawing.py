"""Where the prompt's drawings go: a file each, or one live browser tab."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.render import write
from opscope.render.writers.html import initial
from opscope.temporary import temporary_directory
from opscope.view_options import ViewOptions


def open_in_browser(address: str, browser: str | None) -> bool:
    """Open an address with a program, or with the default browser. Returns whether it could be started."""
    import subprocess
    import webbrowser

    if not browser:
        return webbrowser.open(address)
    try:
        subprocess.Popen([browser, address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    except OSError:
        return False
    return True


class FileDrawer:
    """Writes an HTML file for each drawing, opens it if a browser was named, and returns its path."""

    def __init__(self, directory: Path | None, browser: str | None = None) -> None:
        self._directory = directory
        self._browser = browser
        self._count = 0

    @property
    def directory(self) -> Path:
        if self._directory is None:
            self._directory = temporary_directory("opscope-drawings-")
        self._directory.mkdir(parents=True, exist_ok=True)
        return self._directory

    def draw(self, program: Program, options: ViewOptions, title: str) -> str:
        self._count += 1
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", title)[:60]
        path = self.directory / f"{self._count:03}-{name}.html"
        write([program], path, options)
        if self._browser and not open_in_browser(path.absolute().as_uri(), self._browser):
            raise OpscopeError(f"cannot start {self._browser!r}; the drawing is {path}")
        return str(path)

    def open(self, program: Program) -> str:
        path = self.directory / "program.html"
        write([program], path, ViewOptions())
        return f"opened {path}" if open_in_browser(path.absolute().as_uri(), self._browser) else str(path)

    def close(self) -> None:
        """Nothing to close: the files are the result."""


class LiveDrawer:
    """Shows every drawing in one browser tab, for as long as the prompt runs."""

    def __init__(self, program: Program, say: Callable[..., None], browser: str | None = None) -> None:
        from opscope.serve.live import LiveServer
        from opscope.serve.sources import Served

        self._server = LiveServer([Served.of(program)])
        say(f"drawings appear at {self._server.address}")
        open_in_browser(self._server.start, browser)

    def draw(self, program: Program, options: ViewOptions, title: str) -> str:
        self._server.guide.show(initial(options).get("initial", {}))
        return f"showing {title} in the browser"

    def open(self, program: Program) -> str:
        return self.draw(program, ViewOptions(), program.name)

    def close(self) -> None:
        self._server.close()
