"""HTTP for the local server: a connection that does not finish its request in time is closed, and one without an answer at the end, too."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = 30.0


class ImpatientProtocol(H11Protocol):
    """uvicorn's protocol, which waits for the rest of a request for as long as its sender likes, and answers 500 to requests that it
    cancels when the server ends."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._answer, self.app = self.app, self._answer_or_cut
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    async def _answer_or_cut(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._answer(scope, receive, send)
        except asyncio.CancelledError:
            self.transport.abort()
            raise

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        """Start the clock unless it runs already; what arrives slowly does not stop it, only a whole request does."""
        if self._is_answering:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(SECONDS, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if not self._is_answering and not self.transport.is_closing():
            self.transport.close()
