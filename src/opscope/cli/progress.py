"""A progress bar on a terminal for anything that takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opscope.terminal import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from opscope.plugin import Progress

PATIENCE = 1.0


@contextmanager
def progress(what: str) -> Iterator[Progress]:
    """Yield a function to call with the fraction that is done, 0 to 1. Nothing is shown on a pipe or within the first second."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    late = _LateBar(what)
    timer = threading.Timer(PATIENCE, late.show)
    timer.daemon = True
    timer.start()
    try:
        yield late.update
    finally:
        timer.cancel()
        late.stop()


class _LateBar:
    """Imports rich and draws the bar only after `PATIENCE` seconds; the bar is indeterminate until the first report."""

    def __init__(self, what: str) -> None:
        self.what = one_line(what)
        self.done: float | None = None
        self.bar: Bar | None = None
        self.task: TaskID | None = None
        self.over = False
        self.lock = threading.Lock()

    def show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        with self.lock:
            if self.over:
                return
            columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
            self.bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self.task = self.bar.add_task(self.what, total=None)
            self.bar.start()

    def update(self, done: float) -> None:
        self.done = done
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, total=1.0, completed=done)

    def stop(self) -> None:
        with self.lock:
            self.over = True
            if self.bar is not None:
                self.bar.stop()
