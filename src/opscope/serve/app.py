"""The local server: a page, its script, and the programs it was given. Nothing else can be had from it.

It listens on loopback, answers only requests whose Host is a name of this machine (a page elsewhere cannot reach it through DNS
tricks) and whose path starts with its secret token, and knows no way from a request to a file.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from opscope import native
from opscope.errors import OpscopeError
from opscope.render.writers.html import page, policy, viewer_script
from opscope.serve.matching import Matches
from opscope.serve.recordings import JSON, ServedRecording
from opscope.serve.sources import Served

if TYPE_CHECKING:
    from opscope.serve.live import Guide

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_CHUNK = 1 << 18
_WATCH_SECONDS = 0.5
_GUIDE_SECONDS = 0.1
_MOST_SENT = 1 << 30
"""Bytes of a program that another process of this user sends to be shown."""
_HEADERS = {
    "Content-Security-Policy": policy("'self'", "'self'", "'self'"),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


def make_app(
    served: Sequence[Served],
    token: str,
    *,
    config: dict[str, Any] | None = None,
    hosts: frozenset[str] = LOOPBACK,
    watch: bool = False,
    accept: bool = False,
    guide: Guide | None = None,
) -> ASGIApp:
    """The application: everything lives under /TOKEN/. With `accept`, who knows the token may put another program into it; with a
    `guide`, open pages show what it says."""
    answers = _Answers(_Shelf(served, config or {}), watch, watch or accept or guide is not None, guide)
    routes = [
        Route("/", answers.page),
        Route("/viewer.js", answers.script),
        Route("/wire/{number}", answers.wire),
        Route("/details/{number}", answers.details),
        Route("/match", answers.match),
        Route("/recording/{number}/{what}", answers.recording),
        Route("/recording/{number}/{what}/{pass:int}", answers.recording),
    ]
    if answers.has_events:
        routes.append(Route("/events", answers.events))
    if accept:
        routes.append(Route("/show", answers.show, methods=["POST"]))
    return _Gate(Starlette(routes=routes, exception_handlers={OpscopeError: _unreadable}), token, hosts)


class _Answers:
    """A method for each route."""

    def __init__(self, shelf: _Shelf, watch: bool, has_events: bool, guide: Guide | None) -> None:
        self.shelf = shelf
        self.watch = watch
        self.has_events = has_events
        self.guide = guide
        self.matches = Matches()

    async def page(self, request: Request) -> Response:
        served = self.shelf.served
        if self.watch:  # what changed while no page was open has told nobody
            for one in served:
                one.refresh()
        settings: dict[str, Any] = {"sources": [one.entry(i) for i, one in enumerate(served)], "url": True, **self.shelf.config}
        if self.has_events:
            settings["events"] = "events"
        return HTMLResponse("".join(page(served[0].name, settings, '<script src="viewer.js"></script>')), headers=_HEADERS)

    async def script(self, request: Request) -> Response:
        return Response(viewer_script(), media_type="text/javascript", headers=_HEADERS)

    async def wire(self, request: Request) -> Response:
        one = _chosen(self.shelf.served, request)
        if one is None:
            return _refusal(404, "no such program")
        packed, length = await run_in_threadpool(one.wire)
        headers = {**_HEADERS, "Content-Encoding": "gzip", "X-Unpacked-Length": str(length)}
        return StreamingResponse(_pieces(packed), media_type="application/octet-stream", headers=headers)

    async def details(self, request: Request) -> Response:
        one = _chosen(self.shelf.served, request)
        try:
            start, stop = int(request.query_params["start"]), int(request.query_params["stop"])
        except (KeyError, ValueError):
            return _refusal(400, "start and stop must be numbers")
        if one is None:
            return _refusal(404, "no such program")
        block = await run_in_threadpool(one.details, start, stop)
        return Response(block, media_type="application/octet-stream", headers=_HEADERS)

    async def recording(self, request: Request) -> Response:
        one = _chosen(self.shelf.served, request)
        if not isinstance(one, ServedRecording):
            return _refusal(404, "no such recording")
        what, number = request.path_params["what"], request.path_params.get("pass", "0")
        try:
            body, kind = await run_in_threadpool(one.answer, what, int(number), request.query_params)
        except (KeyError, ValueError):
            return _refusal(404, "nothing here")
        packed = {} if kind == JSON else {"Content-Encoding": "gzip"}
        return Response(body, media_type=kind, headers={**_HEADERS, **packed})

    async def match(self, request: Request) -> Response:
        try:
            body = await run_in_threadpool(self.matches.answer, self.shelf.served, request.query_params)
        except (KeyError, ValueError, IndexError):
            return _refusal(404, "no such pair of programs")
        return Response(body, media_type=JSON, headers=_HEADERS)

    async def events(self, request: Request) -> Response:
        return StreamingResponse(_changes(self.shelf, request, self.guide), media_type="text/event-stream", headers=_HEADERS)

    async def show(self, request: Request) -> Response:
        received = bytearray()
        async for piece in request.stream():
            received += piece
            if len(received) > _MOST_SENT:
                return _refusal(413, "the program is too large to be sent; save it and use `opscope view FILE`")
        try:
            await run_in_threadpool(self.shelf.replace, bytes(received))
        except (ValueError, KeyError, TypeError) as error:
            return _refusal(422, str(error))
        return JSONResponse({"tabs": self.shelf.tabs}, headers=_HEADERS)


async def _unreadable(request: Request, error: Exception) -> Response:
    """A source that could not be read after all: the page says why."""
    return _refusal(422, str(error))


class _Shelf:
    """What is served now."""

    def __init__(self, served: Sequence[Served], config: dict[str, Any]) -> None:
        self.served = served
        self.config = config
        self.edition = 0
        self.tabs = 0

    def replace(self, sent: bytes) -> None:
        """Take another program in place of all that is here. What was sent is checked like any file."""
        document = json.loads(sent)
        programs, config = native.loads(document["programs"]), dict(document["config"])
        self.served, self.config = [Served.of(program) for program in programs], config
        self.edition += 1


class _Gate:
    """Lets through what knows the token and calls the machine by a name of its own."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str]) -> None:
        self.app = app
        self.prefix = f"/{token}"
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if _host_name(host) not in self.hosts:
            await _refusal(403, "this server answers only to this machine's own names")(scope, receive, send)
            return
        path: str = scope["path"]
        given, rest = path[: len(self.prefix)], path[len(self.prefix) :]
        known = hmac.compare_digest(given.encode("utf-8", "replace"), self.prefix.encode())
        if not known or not rest.startswith("/"):
            await _refusal(404, "nothing here; use the address that `opscope view` printed")(scope, receive, send)
            return
        await self.app({**scope, "path": rest, "raw_path": rest.encode("utf-8", "replace"), "root_path": ""}, receive, send)


def _host_name(host: str) -> str:
    """The Host header without its port: "[::1]:80" and "localhost:80" alike."""
    if host.startswith("["):
        name, closed, _ = host[1:].partition("]")
        return name.lower() if closed else ""
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _chosen(served: Sequence[Served], request: Request) -> Served | None:
    number = request.path_params["number"]
    return served[int(number)] if number.isascii() and number.isdigit() and len(number) < 6 and int(number) < len(served) else None


def _refusal(status: int, reason: str) -> PlainTextResponse:
    return PlainTextResponse(reason, status_code=status, headers=_HEADERS)


async def _pieces(block: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(block), _CHUNK):
        yield block[at : at + _CHUNK]


async def _changes(shelf: _Shelf, request: Request, guide: Guide | None) -> AsyncIterator[str]:
    """One event whenever a file has changed, another program has come, or the guide has something else to show."""
    yield ": watching\n\n"
    shown = 0
    edition, seen = shelf.edition, [one.stamp() for one in shelf.served]
    shelf.tabs += 1
    try:
        while not await request.is_disconnected():
            if guide and guide.now[0] != shown:
                shown, state = guide.now
                yield f"event: view\ndata: {state}\n\n"
            await asyncio.sleep(_GUIDE_SECONDS if guide else _WATCH_SECONDS)
            now = [one.stamp() for one in shelf.served]
            if shelf.edition != edition:
                edition, seen = shelf.edition, now
                yield "event: replaced\ndata: 1\n\n"
            elif now != seen:
                for one in shelf.served:
                    one.refresh()
                seen = now
                yield "event: changed\ndata: 1\n\n"
    finally:
        shelf.tabs -= 1
