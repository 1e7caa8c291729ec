"""A server in the background of a running program, whose pages follow the views that the program chooses."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Sequence
from typing import Any

from opscope.serve.sources import Served
from opscope.serve.start import address_of, listen, server_settings
from opscope.serve.start_codes import StartCodes


class Guide:
    """The view that open pages should show: a viewer state (`web/src/ui/state/view.ts`) and its sequence number."""

    def __init__(self) -> None:
        self._now: tuple[int, str] = (0, "{}")

    def show(self, state: dict[str, Any]) -> None:
        self._now = (self._now[0] + 1, json.dumps(state))

    @property
    def now(self) -> tuple[int, str]:
        """Sequence number and state together, because the server and the program are different threads."""
        return self._now


class LiveServer:
    """Serves programs from a background thread until it is closed."""

    def __init__(self, served: Sequence[Served]) -> None:
        import uvicorn

        from opscope.serve.app import make_app

        self._listener = listen("127.0.0.1", 0)
        token = secrets.token_urlsafe(16)
        self.guide = Guide()
        base, starts = address_of(self._listener), StartCodes()
        self.address = f"{base}/{token}/"
        self.start = f"{base}{starts.new()}"
        """The same for one browser, which is started with it: other users can read the arguments of processes."""
        app = make_app(served, token, guide=self.guide, starts=starts)
        self._server = uvicorn.Server(server_settings(app))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(5)
        self._listener.close()
