"""Where a prompt's drawings go: a file each, or one page that is kept up to date."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from opscope.program import Program
from opscope.render import write
from opscope.render.writers.html import initial
from opscope.view_options import ViewOptions


class FileDrawer:
    """Writes an HTML for each drawing and tells its path."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._count = 0

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="opscope-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    def draw(self, program: Program, options: ViewOptions, title: str) -> str:
        self._count += 1
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", title)[:60]
        path = self.folder / f"{self._count:03}-{name}.html"
        write([program], path, options)
        return str(path)

    def open(self, program: Program) -> str:
        import webbrowser

        path = self.folder / "program.html"
        write([program], path, ViewOptions())
        return str(path) if not webbrowser.open(path.as_uri()) else f"opened {path}"

    def close(self) -> None:
        """Files stay: they are what was asked for."""


class LiveDrawer:
    """Shows each drawing in one browser tab, which stays open while the prompt does."""

    def __init__(self, program: Program, say: Callable[[str], None]) -> None:
        import webbrowser

        from opscope.serve.live import LiveServer
        from opscope.serve.sources import Served

        self._server = LiveServer([Served.of(program)])
        say(f"drawings appear at {self._server.address}")
        webbrowser.open(self._server.address)

    def draw(self, program: Program, options: ViewOptions, title: str) -> str:
        self._server.guide.show(initial(options).get("initial", {}))
        return f"{title} is shown in the browser"

    def open(self, program: Program) -> str:
        return self.draw(program, ViewOptions(), program.name)

    def close(self) -> None:
        self._server.close()
