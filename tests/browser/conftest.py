"""Real Chromium around the viewer, from a file and from the server, with every console error and every request watched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from browser.harness import Open, Viewer, until
from opscope.errors import OpscopeError
from opscope.program import Program
from opscope.render.writers.html import viewer_script, write
from opscope.view_options import ViewOptions

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="session")
def browser(chromium: Callable[..., Any]) -> Iterator[Any]:
    try:
        viewer_script()
    except OpscopeError as error:
        pytest.skip(str(error))
    started = chromium("--disable-gpu", "--font-render-hinting=none")
    yield started
    started.close()


@contextmanager
def opening(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Viewer]]:
    """Opens an address and waits for the picture. At the end: no console error, no request to anywhere else.

    Pictures change at once, which saves the wait for every motion; modules about what a person sees moving have another `MOTION`.
    """
    motion = getattr(request.module, "MOTION", "reduce")
    viewers: list[Viewer] = []
    contexts: list[Any] = []

    def open_address(address: str, *, wait: bool = True, faults: bool = False, script: str = "", **settings: Any) -> Viewer:
        usual = {"viewport": {"width": 1400, "height": 900}, "accept_downloads": True, "reduced_motion": motion}
        context = browser.new_context(**usual | settings)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        viewer = Viewer(page, address)
        page.on("console", lambda message: viewer.errors.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: viewer.errors.append(str(error)))
        page.on("request", lambda request: viewer.requests.append(request.url))
        if script:
            page.add_init_script(script)
        page.goto(address)
        if wait:
            until(lambda: page.evaluate("!!window.opscope && window.opscope.state().status !== 'loading'"))
            viewer.idle()
        if not faults:
            viewers.append(viewer)
        return viewer

    yield open_address
    for viewer in viewers:
        assert viewer.errors == []
        assert viewer.foreign_requests() == []
    for context in contexts:
        context.close()


@pytest.fixture
def open_address(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Viewer]]:
    with opening(browser, request) as open_address:
        yield open_address


@pytest.fixture(scope="module")
def open_shared(browser: Any, request: pytest.FixtureRequest) -> Iterator[Callable[..., Viewer]]:
    """Like `open_address`, for a page that many tests use: opening it takes longer than most tests."""
    with opening(browser, request) as open_address:
        yield open_address


@pytest.fixture
def open_file(open_address: Callable[..., Viewer], tmp_path: Path) -> Open:
    """Exports programs to one HTML file and opens it from file://."""

    def open_file(*programs: Program, options: ViewOptions | None = None, **settings: Any) -> Viewer:
        target = tmp_path / "page.html"
        write(list(programs), target, options or ViewOptions())
        return open_address(target.as_uri() + settings.pop("hash", ""), **settings)

    return open_file


@contextmanager
def serving(directory: Path) -> Iterator[Callable[..., str]]:
    """Starts `opscope view` in a directory and gives its address."""
    running: list[subprocess.Popen[str]] = []

    def serve(*arguments: str | Path, env: dict[str, str] | None = None) -> str:
        command = [sys.executable, "-m", "opscope", "view", *map(str, arguments), "--no-browser"]
        settings = {**os.environ, **(env or {})}
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=directory, env=settings)
        running.append(process)
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise AssertionError(process.stderr.read() if process.stderr else "the server said nothing")
        return address

    yield serve
    for process in running:
        process.terminate()
        process.wait()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts `opscope view` and gives its address."""
    with serving(tmp_path) as serve:
        yield serve


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Like `server`, for one server with many pages: starting it takes longer than most tests."""
    with serving(tmp_path_factory.mktemp("served")) as serve:
        yield serve
