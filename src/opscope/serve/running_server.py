"""Finds the running server, so that the next call can show its program in the tab that is already open.

A server that accepts programs writes its port and secret into a file that only this user can read, and deletes the file when it ends.
A file that others could have written is ignored.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple

from opscope import native
from opscope.program import Program
from opscope.serve.private_state import read_private, write_private

_PATIENCE_SECONDS = 60
_LONGEST_PROOF = 100


class Shown(NamedTuple):
    """Where a program is shown, in how many open tabs, and what a browser is started with if there is none."""

    address: str
    tabs: int
    start: str


def state_file() -> Path:
    """In the user's runtime directory, which the system clears, or else in the cache directory."""
    home = os.environ.get("XDG_RUNTIME_DIR") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "opscope", "server.json")


@contextmanager
def announced(port: int, token: str) -> Iterator[None]:
    """Announce in the state file that a server accepts programs at this port, until the context ends. The latest server wins; one that
    cannot write the file is not found."""
    path = state_file()
    state = json.dumps({"pid": os.getpid(), "port": port, "token": token})
    written = write_private(path, state)
    try:
        yield
    finally:
        if written and read_private(path) == state:
            path.unlink(missing_ok=True)


def _running() -> tuple[int, str] | None:
    """Port and token of the running server, if only this user can read and write its file."""
    try:
        state = json.loads(read_private(state_file()))
        return int(state["port"]), str(state["token"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def proof(token: str, question: str) -> str:
    """What only somebody who has the token can answer; it does not reveal the token."""
    return hmac.new(token.encode(), question.encode(), "sha256").hexdigest()


def _is_ours(connection: HTTPConnection, token: str) -> bool:
    """Whether the server that wrote the file still listens, and not somebody else at the same port, who must not get the token."""
    question = secrets.token_hex(16)
    connection.request("GET", f"/proof/{question}")
    return hmac.compare_digest(connection.getresponse().read(_LONGEST_PROOF), proof(token, question).encode())


def show_in_running(program: Program, config: dict[str, Any]) -> Shown | None:
    """Show a program in the running server; None if there is none."""
    running = _running()
    if running is None:
        return None
    port, token = running
    body = json.dumps({"programs": native.dumps([program]), "config": config}).encode()
    base = f"http://127.0.0.1:{port}"
    connection = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
    connection.auto_open = 0  # whoever listens next has proved nothing
    try:
        connection.connect()
        if not _is_ours(connection, token):
            return None
        connection.request("POST", f"/{token}/show", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            return None
        answer = json.loads(response.read())
        return Shown(f"{base}/{token}/", int(answer["tabs"]), f"{base}{answer['start']}")
    except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError):
        return None
    finally:
        connection.close()
