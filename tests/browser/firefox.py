"""Firefox through Marionette, its own end of WebDriver: what geckodriver passes on, without geckodriver."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

FIREFOX = Path("/usr/bin/firefox-esr")
_PREFERENCES: dict[str, Any] = {
    "marionette.port": 0,
    "browser.download.folderList": 2,
    "browser.download.useDownloadDir": True,
    "browser.download.alwaysOpenPanel": False,
    "browser.helperApps.neverAsk.saveToDisk": "image/svg+xml,text/html,image/png",
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "app.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.enabled": False,
    "ui.prefersReducedMotion": 1,
}


class Firefox:
    """A running Firefox with one page. Downloads go to `downloads`."""

    def __init__(self, profile: Path, downloads: Path) -> None:
        profile.mkdir()
        downloads.mkdir()
        preferences = {**_PREFERENCES, "browser.download.dir": str(downloads)}
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in preferences.items()]
        (profile / "user.js").write_text("".join(lines), encoding="utf-8")
        command = [str(FIREFOX), "--headless", "--marionette", "--profile", str(profile), "--no-remote", "about:blank"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = self._port(profile / "MarionetteActivePort")
        self.stream = socket.create_connection(("127.0.0.1", port)).makefile("rwb")
        self._receive()
        self.number = 0
        self.ask("WebDriver:NewSession", {})

    def _port(self, file: Path) -> int:
        """Firefox writes the port that it chose into its profile."""
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"Firefox ended with {self.process.returncode}")
            text = file.read_text() if file.exists() else ""
            if text.strip():
                return int(text)
            time.sleep(0.05)

    def ask(self, name: str, parameters: dict[str, Any]) -> Any:
        """One command: a message with its length, and the answer."""
        self.number += 1
        message = json.dumps([0, self.number, name, parameters]).encode()
        self.stream.write(f"{len(message)}:".encode() + message)
        self.stream.flush()
        _, _, problem, answer = self._receive()
        if problem:
            raise AssertionError(f"{name}: {problem.get('message')}")
        return answer.get("value") if isinstance(answer, dict) else answer

    def _receive(self) -> Any:
        digits = b""
        while not digits.endswith(b":"):
            digits += self.stream.read(1)
        return json.loads(self.stream.read(int(digits[:-1])))

    def open(self, address: str) -> None:
        self.ask("WebDriver:Navigate", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script, or of the promise that it returns."""
        body = f"const done = arguments[arguments.length - 1]; Promise.resolve((() => {{ {script} }})()).then(done);"
        return self.ask("WebDriver:ExecuteAsyncScript", {"script": body, "args": [*arguments]})

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.stream.close()
