"""Model Explorer 0.1.33 itself: its server, and its page in Chromium."""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_COLOURS = """async (bytes) => {
  const picture = await createImageBitmap(new Blob([Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0))]));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  return new Set(new Uint32Array(context.getImageData(0, 0, picture.width, picture.height).data.buffer)).size;
}"""
_BLANK = 8
"""A canvas without a graph has fewer colours than this."""


@pytest.fixture
def their_server() -> Iterator[str]:
    """Model Explorer 0.1.33 itself. It starts slowly, so only one test uses it."""
    command = Path(sys.executable).parent / "model-explorer"
    if not command.exists() and not shutil.which("model-explorer"):
        pytest.skip("Model Explorer is not installed: pip install ai-edge-model-explorer==0.1.33")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [str(command), "--no_open_in_browser", "--skip_health_check", "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "BROWSER": "true"},
    )  # fmt: skip
    try:
        while not answers(f"{address}/check_health"):
            assert process.poll() is None, "model-explorer ended before it listened"
            time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def their_page(chromium: Callable[..., Any], server: str, file: Path) -> str:
    """The texts of Model Explorer's page once it has drawn the graph of a file."""
    request = urllib.parse.quote(json.dumps({"models": [{"url": str(file)}]}))
    browser = chromium("--enable-unsafe-swiftshader")
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    page.set_default_timeout(120_000)
    page.goto(f"{server}/?data={request}")
    page.get_by_text("op node count").wait_for()
    canvas = page.locator("webgl-renderer canvas").first
    while page.evaluate(_COLOURS, base64.b64encode(canvas.screenshot()).decode()) < _BLANK:
        time.sleep(0.2)
    texts = " ".join(page.inner_text("body").split())
    browser.close()
    return texts
