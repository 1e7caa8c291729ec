"""A drawing of the prompt on a plain web server, as interactive_graphviz's tutorial serves its pages."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

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


@pytest.mark.step("0.8", "0.11")
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


@pytest.fixture
def forwarded() -> Iterator[Callable[[str], str]]:
    """Forwards a port of this machine to that of an address, byte for byte, as an ssh tunnel and VS Code do."""
    listening: list[socket.socket] = []

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def accept(listener: socket.socket, port: int) -> None:
        with suppress(OSError):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection(("127.0.0.1", port))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=ends, daemon=True).start()

    def forward(address: str) -> str:
        parts = urlsplit(address)
        listener = socket.create_server(("127.0.0.1", 0))
        listening.append(listener)
        threading.Thread(target=accept, args=(listener, parts.port), daemon=True).start()
        return parts._replace(netloc=f"localhost:{listener.getsockname()[1]}").geturl()

    yield forward
    for listener in listening:
        listener.close()


@pytest.mark.step("0.10")
def test_a_forwarded_port_shows_the_same_picture(
    server: Callable[..., str], forwarded: Callable[[str], str], open_address: Open, tmp_path: Path
) -> None:
    """At another port and by another name. Without the secret of the address, the forwarded port shows nothing."""
    address = server(HLO)
    pictures = []
    for each in (address, forwarded(address)):
        viewer = open_address(each)
        with viewer.page.expect_download() as download:
            viewer.press("Save SVG")
        pictures.append(download.value.path().read_text("utf-8"))
    assert pictures[0] == pictures[1] and pictures[0].count('class="box"') > 10
    parts = urlsplit(forwarded(address))
    assert open_address(f"http://{parts.netloc}/", wait=False, faults=True).page.locator("canvas").count() == 0
