"""Starts the server: a socket on loopback, an address that contains a secret, and the browser."""

from __future__ import annotations

import getpass
import os
import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from opscope.errors import OpscopeError
from opscope.serve.running_server import announced
from opscope.serve.sources import Served
from opscope.serve.start_codes import StartCodes
from opscope.terminal import say

_LONGEST_REQUEST = 1 << 20
"""Bytes of a request without its body: a what-if question about memory names every node that is changed, in the address."""


def serve(
    served: Sequence[Served],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    watch: bool = False,
    accept: bool = False,
    config: dict[str, Any] | None = None,
    browse: Sequence[str] = (),
    say: Callable[[str], None] = say,
) -> None:
    """Serve until Ctrl+C. Prints the address, and how to reach it from another machine.

    With `accept`, later calls by this user find the server and show their programs in it (see `running_server`). Pages can open files
    (see `home`), also in the directories of `browse`. What this user opened before is offered only if nothing is `served`, and only to
    this machine: somebody who was given the address to see one program gets no other file.
    """
    import uvicorn

    from opscope.serve.app import LOOPBACK, make_app
    from opscope.serve.home import Home
    from opscope.serve.uploads import Uploads

    listener = listen(host, port)
    port = listener.getsockname()[1]
    token = secrets.token_urlsafe(16)
    base = address_of(listener, None if host in LOOPBACK else host)
    address = f"{base}/{token}/"
    starts = StartCodes()
    hosts = LOOPBACK if host in LOOPBACK else LOOPBACK | {host, socket.gethostname().lower()}
    uploads = Uploads()
    home = Home(uploads, browse, recent=not served and host in LOOPBACK)
    app = make_app(served, token, config=config, hosts=hosts, watch=watch, accept=accept, home=home, starts=starts)
    server = uvicorn.Server(server_settings(app))
    say(address)
    if host not in LOOPBACK:
        say("the connection is not encrypted: whoever can read the traffic of this network can see the program and the address")
    if os.environ.get("SSH_CONNECTION") or not browser:
        say(f"from another machine: ssh -N -L {port}:{tunnel_end(listener)} {_user()}@{socket.gethostname()}")
    if not served:
        say("choose a file there; Ctrl+C stops the server, and `opscope --help` lists the commands")
    if browser:
        webbrowser.open(f"{base}{starts.new()}")  # other users can read the arguments of processes, so they do not contain the secret
    try:
        with terminated_like_interrupted(server), announced(port, token) if accept else nullcontext():
            server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
        uploads.close()


def _user() -> str:
    """The name of this user; a container may have none for its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "USER"


@contextmanager
def terminated_like_interrupted(server: Any) -> Iterator[None]:
    """Let `kill` end this process like Ctrl+C does: with what it has to clean up.

    The handler raises nothing: an exception is lost if the signal arrives while Python runs a finalizer, and the server would go on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals: list[int] = []

    def stop(number: int, frame: object) -> None:
        signals.append(number)
        server.should_exit = True

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
    if signals:
        sys.exit(128 + signals[0])


def server_settings(app: Any) -> Any:
    """How uvicorn runs the application: quietly, and without waiting for a client for ever."""
    import uvicorn

    from opscope.serve.impatient import ImpatientProtocol

    return uvicorn.Config(
        app,
        http=ImpatientProtocol,
        log_level="critical",
        access_log=False,
        timeout_graceful_shutdown=1,
        lifespan="off",
        h11_max_incomplete_event_size=_LONGEST_REQUEST,
    )


def address_of(listener: socket.socket, name: str | None = None) -> str:
    """The address of a server, by its name or as a number: a browser may look up localhost at [::1], where somebody else can listen."""
    number, port = listener.getsockname()[:2]
    host = name or number
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def tunnel_end(listener: socket.socket) -> str:
    """Where a tunnel to this machine ends: at the number that is bound, because ssh looks up localhost like a browser does."""
    number, port = listener.getsockname()[:2]
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(number, number)
    return f"[{reached}]:{port}" if ":" in reached else f"{reached}:{port}"


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(64)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise OpscopeError(f"cannot listen on {host}:{port}: {reason}; choose another --port") from None
    return listener
