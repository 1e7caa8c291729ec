"""A drawing of the prompt on a plain web server, as interactive_graphviz's tutorial serves its pages."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import opscope
from browser.harness import Open

HLO = Path(__file__).resolve().parent.parent / "samples" / "hlo" / "step_lowered.hlo"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a drawing of the whole entry: `opscope repl`, then `python3 -m http.server` in its directory."""
    entry = opscope.load(HLO).entry
    prompt = [sys.executable, "-m", "opscope", "repl", f"--hlo_text={HLO}", "--output", str(tmp_path)]
    done = subprocess.run(prompt, input=f"{entry}\n", capture_output=True, text=True, check=True)
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        port = re.search(r"port (\d+)", server.stdout.readline())
        assert port is not None
        yield f"http://localhost:{port[1]}/{Path(done.stdout.strip()).name}"
        server.terminate()


@pytest.mark.step("0.8", "0.10", "0.11")
def test_any_web_server_shows_a_drawing(served: str, open_address: Open) -> None:
    """One address of localhost, which a forwarded port reaches too. Nothing is loaded from elsewhere, and nothing fails."""
    viewer = open_address(served)
    program = opscope.load(HLO)
    state = viewer.state()
    assert (state["program"], state["graph"], state["nodes"]) == (program.name, program.entry, program.node_count)
    assert state["boxes"] == len(program.main) + len(state["expanded"]), "every instruction of the computation, and the groups around them"
    root = program.main.outputs[0][0]
    viewer.search(root)
    assert viewer.key("Enter")["selectedNode"] == root
