"""The local server: one page, its script, and the programs that it was started with. It serves nothing else.

It listens on loopback. It answers only requests whose Host is a name of this machine, which defeats DNS rebinding, and whose path starts
with its secret token. No request is ever mapped to a file.
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
"""The largest program, in bytes, that another process of this user can send."""
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
    """The application, with everything under /TOKEN/. With `accept`, whoever has the token can replace the program; with a `guide`, open
    pages follow it."""
    handlers = _Handlers(_Content(served, config or {}), watch, watch or accept or guide is not None, guide)
    routes = [
        Route("/", handlers.page),
        Route("/viewer.js", handlers.script),
        Route("/wire/{number}", handlers.wire),
        Route("/details/{number}", handlers.details),
        Route("/match", handlers.match),
        Route("/recording/{number}/{what}", handlers.recording),
        Route("/recording/{number}/{what}/{pass:int}", handlers.recording),
    ]
    if handlers.has_events:
        routes.append(Route("/events", handlers.events))
    if accept:
        routes.append(Route("/show", handlers.show, methods=["POST"]))
    return _AccessControl(Starlette(routes=routes, exception_handlers={OpscopeError: _unreadable}), token, hosts)


class _Handlers:
    """A method for each route."""

    def __init__(self, content: _Content, watch: bool, has_events: bool, guide: Guide | None) -> None:
        self.content = content
        self.watch = watch
        self.has_events = has_events
        self.guide = guide
        self.matches = Matches()

    async def page(self, request: Request) -> Response:
        served = self.content.served
        if self.watch:  # files may have changed while no page was open
            for one in served:
                one.refresh()
        settings: dict[str, Any] = {"sources": [one.entry(i) for i, one in enumerate(served)], "url": True, **self.content.config}
        if self.has_events:
            settings["events"] = "events"
        return HTMLResponse("".join(page(served[0].name, settings, '<script src="viewer.js"></script>')), headers=_HEADERS)

    async def script(self, request: Request) -> Response:
        return Response(viewer_script(), media_type="text/javascript", headers=_HEADERS)

    async def wire(self, request: Request) -> Response:
        one = _chosen(self.content.served, request)
        if one is None:
            return _refusal(404, "no such program")
        packed, length = await run_in_threadpool(one.wire)
        headers = {**_HEADERS, "Content-Encoding": "gzip", "X-Unpacked-Length": str(length)}
        return StreamingResponse(_pieces(packed), media_type="application/octet-stream", headers=headers)

    async def details(self, request: Request) -> Response:
        one = _chosen(self.content.served, request)
        try:
            start, stop = int(request.query_params["start"]), int(request.query_params["stop"])
        except (KeyError, ValueError):
            return _refusal(400, "start and stop must be numbers")
        if one is None:
            return _refusal(404, "no such program")
        block = await run_in_threadpool(one.details, start, stop)
        return Response(block, media_type="application/octet-stream", headers=_HEADERS)

    async def recording(self, request: Request) -> Response:
        one = _chosen(self.content.served, request)
        if not isinstance(one, ServedRecording):
            return _refusal(404, "no such recording")
        what, number = request.path_params["what"], request.path_params.get("pass", "0")
        try:
            body, kind = await run_in_threadpool(one.answer, what, int(number), request.query_params)
        except (KeyError, ValueError):
            return _refusal(404, "not found")
        packed = {} if kind == JSON else {"Content-Encoding": "gzip"}
        return Response(body, media_type=kind, headers={**_HEADERS, **packed})

    async def match(self, request: Request) -> Response:
        try:
            body = await run_in_threadpool(self.matches.answer, self.content.served, request.query_params)
        except (KeyError, ValueError, IndexError):
            return _refusal(404, "no such pair of programs")
        return Response(body, media_type=JSON, headers=_HEADERS)

    async def events(self, request: Request) -> Response:
        return StreamingResponse(_changes(self.content, request, self.guide), media_type="text/event-stream", headers=_HEADERS)

    async def show(self, request: Request) -> Response:
        received = bytearray()
        async for piece in request.stream():
            received += piece
            if len(received) > _MOST_SENT:
                return _refusal(413, "the program is too large to send; save it and run `opscope view FILE`")
        try:
            await run_in_threadpool(self.content.replace, bytes(received))
        except (ValueError, KeyError, TypeError) as error:
            return _refusal(422, str(error))
        return JSONResponse({"tabs": self.content.tabs}, headers=_HEADERS)


async def _unreadable(request: Request, error: Exception) -> Response:
    """Tell the page why a source could not be read."""
    return _refusal(422, str(error))


class _Content:
    """The programs and settings that are being served; they can be replaced."""

    def __init__(self, served: Sequence[Served], config: dict[str, Any]) -> None:
        self.served = served
        self.config = config
        self.edition = 0
        self.tabs = 0

    def replace(self, body: bytes) -> None:
        """Serve the programs of a request instead. They are validated like any file."""
        document = json.loads(body)
        programs, config = native.loads(document["programs"]), dict(document["config"])
        self.served, self.config = [Served.of(program) for program in programs], config
        self.edition += 1


class _AccessControl:
    """Passes on only requests with the token and with a Host that names this machine."""

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
            await _refusal(403, "this server answers only requests for a name of this machine, such as localhost")(scope, receive, send)
            return
        path: str = scope["path"]
        prefix, rest = path[: len(self.prefix)], path[len(self.prefix) :]
        is_authorized = hmac.compare_digest(prefix.encode("utf-8", "replace"), self.prefix.encode())
        if not is_authorized or not rest.startswith("/"):
            await _refusal(404, "not found; use the whole address that `opscope view` printed")(scope, receive, send)
            return
        await self.app({**scope, "path": rest, "raw_path": rest.encode("utf-8", "replace"), "root_path": ""}, receive, send)


def _host_name(host: str) -> str:
    """The Host header without its port, for "[::1]:80" as well as "localhost:80"."""
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


async def _changes(content: _Content, request: Request, guide: Guide | None) -> AsyncIterator[str]:
    """An event whenever a file has changed, the programs were replaced, or the guide shows another view."""
    yield ": watching\n\n"
    shown = 0
    edition, stamps = content.edition, [one.stamp() for one in content.served]
    content.tabs += 1
    try:
        while not await request.is_disconnected():
            if guide and guide.now[0] != shown:
                shown, state = guide.now
                yield f"event: view\ndata: {state}\n\n"
            await asyncio.sleep(_GUIDE_SECONDS if guide else _WATCH_SECONDS)
            now = [one.stamp() for one in content.served]
            if content.edition != edition:
                edition, stamps = content.edition, now
                yield "event: replaced\ndata: 1\n\n"
            elif now != stamps:
                for one in content.served:
                    one.refresh()
                stamps = now
                yield "event: changed\ndata: 1\n\n"
    finally:
        content.tabs -= 1
