"""`opscope repl --live`: one tab that follows the prompt, and neighbours that a click adds to the view."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.harness import Viewer, until

ROOT = Path(__file__).resolve().parent.parent.parent
HLO = ROOT / "tests" / "samples" / "hlo" / "step_compiled.hlo"


class Prompt:
    """A running prompt: lines go in, lines come out."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.exit_code = 0
        self.address = self.read().removeprefix("drawings appear at ")

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def type(self, line: str) -> str:
        self._write(line)
        return self.read()

    def mistype(self, line: str) -> str:
        """Type a line that fails, and read its error."""
        self._write(line)
        self.exit_code = 2
        assert self.process.stderr is not None
        return self.process.stderr.readline().strip()

    def _write(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()


@pytest.fixture
def prompt() -> Iterator[Prompt]:
    command = [sys.executable, "-u", "-m", "opscope", "repl", str(HLO), "--live"]
    environment = {**os.environ, "BROWSER": "true"}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)
    typed = Prompt(process)
    yield typed
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait() == typed.exit_code, "the end of the input ends the prompt and its server"


@pytest.fixture
def viewer(prompt: Prompt, open_address: Callable[..., Viewer]) -> Viewer:
    return open_address(prompt.address)


def shows(viewer: Viewer, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    state: dict[str, Any] = until(lambda: (current := viewer.idle()) and condition(current) and current)
    return state


def test_one_tab_follows_every_drawing(prompt: Prompt, viewer: Viewer) -> None:
    whole = viewer.idle()["boxes"]
    assert prompt.type("fused_computation.11") == "showing fused_computation.11 in the browser"
    state = shows(viewer, lambda state: state["graph"] == "fused_computation.11")
    assert 0 < state["boxes"] < whole
    prompt.type("open")
    assert shows(viewer, lambda state: state["graph"] == "main.23")["boxes"] == whole
    assert "did you mean fused_computation.11" in prompt.mistype("fused_computatio.11")
    assert viewer.idle()["graph"] == "main.23", "an unknown name changes nothing"


def test_a_page_that_is_opened_late_shows_the_last_drawing(prompt: Prompt, open_address: Callable[..., Viewer]) -> None:
    prompt.type("fused_computation.11")
    shows(open_address(prompt.address), lambda state: state["graph"] == "fused_computation.11")


def test_a_click_on_omitted_nodes_adds_them(prompt: Prompt, viewer: Viewer) -> None:
    prompt.type("dot.1 1")
    before = shows(viewer, lambda state: any("not shown" in remark for remark in state["remarks"]))
    viewer.page.get_by_role("treeitem", name="hidden").first.dblclick()
    after = shows(viewer, lambda state: state["boxes"] != before["boxes"])
    assert after["boxes"] > before["boxes"]
    assert "dot.1" in viewer.page.url


def test_parameters_say_where_they_come_from(prompt: Prompt, viewer: Viewer) -> None:
    prompt.type("fused_computation.11")
    shows(viewer, lambda state: state["graph"] == "fused_computation.11")
    viewer.row("param_1.30").click()
    viewer.idle()
    panel = viewer.page.get_by_label("About the selection").inner_text()
    assert "COMES FROM" in panel.upper() and "dot.1" in panel
