"""Which server is running, so that the next call can show its program in the tab that is already open.

A server that takes programs writes its port and its secret into a file that only this user can read, and takes the file away when
it ends. A file that others could have written is not believed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple

from opscope import native
from opscope.program import Program

_PATIENCE_SECONDS = 60


class Shown(NamedTuple):
    """Where a program is shown now, and how many open tabs have turned to it."""

    address: str
    tabs: int


def state_file() -> Path:
    """In the user's runtime folder, which the system empties, else in the cache."""
    home = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "opscope", "server.json")


@contextmanager
def announced(port: int, token: str) -> Iterator[None]:
    """The state file says, while this lasts, that a server takes programs at this port. The latest server is the one."""
    path = state_file()
    state = json.dumps({"pid": os.getpid(), "port": port, "token": token})
    written = _write_private(path, state)
    try:
        yield
    finally:
        if written and _text(path) == state:
            path.unlink(missing_ok=True)


def _write_private(path: Path, text: str) -> bool:
    """Never readable by others, not even for a moment. A home that cannot be written means: no other call finds this server."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(text)
        fresh.replace(path)
    except OSError:
        return False
    return True


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _running() -> tuple[int, str] | None:
    """Port and token of the running server, if its file is this user's alone."""
    path = state_file()
    try:
        found = path.stat()
        if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & 0o077):
            return None
        state = json.loads(_text(path))
        return int(state["port"]), str(state["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def show_in_running(program: Program, config: dict[str, Any]) -> Shown | None:
    """Hand a program to the running server; None where there is none."""
    running = _running()
    if running is None:
        return None
    port, token = running
    body = json.dumps({"programs": native.dumps([program]), "config": config}).encode()
    connection = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("POST", f"/{token}/show", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            return None
        return Shown(f"http://localhost:{port}/{token}/", int(json.loads(response.read())["tabs"]))
    except (OSError, HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()
