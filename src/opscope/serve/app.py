"""The local server: pages, their script, and the programs that it was started with or that a page opened. It serves nothing else.

It listens on loopback. It answers only requests whose Host is a name of this machine, which defeats DNS rebinding, whose Origin, if they
have one, is this server, and whose path starts with its secret token. Which files a page can open is decided in `home.py`.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from opscope import native
from opscope.errors import OpscopeError, about_data, error_line
from opscope.render.writers.html import document, initial, page, viewer_script
from opscope.serve.home import Home
from opscope.serve.matching import Matches
from opscope.serve.recordings import JSON, ServedRecording
from opscope.serve.responses import HEADERS, body_of, refusal
from opscope.serve.running_server import proof
from opscope.serve.sources import Served
from opscope.serve.start_codes import StartCodes
from opscope.serve.uploads import MOST_BYTES
from opscope.view_options import ViewOptions

if TYPE_CHECKING:
    from opscope.serve.live import Guide

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:@/\s]+))(?::[0-9]{1,5})?")
_PROOF = re.compile(r"/proof/([0-9a-f]{32})")
_LONGEST_PATH = 2000
_CHUNK = 1 << 18
_WATCH_SECONDS = 0.5
_GUIDE_SECONDS = 0.1
_MOST_SENT = 1 << 30
"""The largest program, in bytes, that another process of this user can send."""
_MOST_SETTINGS = 1 << 28
_SEEN = ("initial", "theme", "styles", "nodeData")
"""The settings of a page that say what is seen."""
_MOST_LOADED = 8
"""So many of the latest pages keep their programs in memory; the others read them again."""


def make_app(
    served: Sequence[Served],
    token: str,
    *,
    config: dict[str, Any] | None = None,
    hosts: frozenset[str] = LOOPBACK,
    watch: bool = False,
    accept: bool = False,
    guide: Guide | None = None,
    home: Home | None = None,
    starts: StartCodes | None = None,
) -> ASGIApp:
    """The application, with everything under /TOKEN/. With `accept`, whoever has the token can replace the program; with a `guide`, open
    pages follow it; with a `home`, they can open files. Without `served` there has to be a home, and the first page is the home page.

    `starts` are the codes that /start/CODE takes once, in exchange for the address with the token.

    The programs that a page opens are served under /open/NUMBER/ as those of the command line are served under /.
    """
    starts = starts or StartCodes()
    handlers = _Handlers(_Content(served, config or {}), watch, watch or accept or guide is not None, guide, home, starts)
    routes: list[BaseRoute] = [
        Route("/", handlers.page),
        Route("/viewer.js", handlers.script),
        Route("/wire/{number}", handlers.wire),
        Route("/details/{number}", handlers.details),
        Route("/memory/{number}", handlers.memory),
        Route("/source/{number}", handlers.source),
        Route("/match", handlers.match),
        Route("/page.html", handlers.whole_page, methods=["POST"]),
        Route("/recording/{number}/{what}", handlers.recording),
        Route("/recording/{number}/{what}/{pass:int}", handlers.recording),
    ]
    if handlers.has_events:
        routes.append(Route("/events", handlers.events))
    if home:
        routes += [
            Mount("/open/{opening:int}", routes=list(routes)),
            Route("/home", handlers.home_page),
            *home.routes(handlers.add, handlers.find),
        ]
    if accept:
        routes.append(Route("/show", handlers.show, methods=["POST"]))
    starlette = Starlette(routes=routes, exception_handlers={OpscopeError: _unreadable, OSError: _unreadable})
    return _AccessControl(starlette, token, hosts, starts)


class _Handlers:
    """A method for each route."""

    def __init__(
        self, content: _Content, watch: bool, has_events: bool, guide: Guide | None, home: Home | None, starts: StartCodes
    ) -> None:
        self.contents = [content]
        self.watch = watch
        self.has_events = has_events
        self.guide = guide
        self.home = home
        self.starts = starts

    def content(self, request: Request) -> _Content:
        """The content of the page that asks."""
        return self._content(request.path_params.get("opening", 0))

    def _content(self, opening: int) -> _Content:
        if opening >= len(self.contents):
            raise OpscopeError("this server has not opened that; go to its first page")
        return self.contents[opening]

    def find(self, opening: int, number: int) -> Served:
        """A program by the numbers of its page and of the program on it."""
        served = self._content(opening).served
        if number >= len(served):
            raise OpscopeError("that page has no such program; reload it")
        return served[number]

    @property
    def theme(self) -> dict[str, Any]:
        """The setting of the command line that is not about its programs."""
        return {name: value for name, value in self.contents[0].config.items() if name == "theme"}

    def add(self, served: Sequence[Served]) -> int:
        """Serve programs on a page of their own."""
        shown = served[0].recording if isinstance(served[0], ServedRecording) else served[0].program()
        self.contents.append(_Content(served, {**self.theme, **initial(ViewOptions(), shown)}))
        for old in self.contents[1:-_MOST_LOADED]:
            for one in old.served:
                one.release()
        return len(self.contents) - 1

    async def page(self, request: Request) -> Response:
        content = self.content(request)
        if not content.served:
            return await self.home_page(request)
        if self.watch:  # files may have changed while no page was open
            for one in content.served:
                await run_in_threadpool(one.refresh)
        settings = {"sources": [one.entry(i) for i, one in enumerate(content.served)], "url": True, **content.config}
        if self.has_events:
            settings["events"] = "events"
        return self._page(content.served[0].name, settings, request.path_params.get("opening"))

    async def whole_page(self, request: Request) -> Response:
        """The page as one file that needs no server, with the settings that the page sends: what it shows."""
        received = await body_of(request, _MOST_SETTINGS)
        if received is None:
            return refusal(413, "the style rules and node data of this page are too large to save with it")
        try:
            sent = json.loads(received)
        except (ValueError, RecursionError):
            sent = None
        if not isinstance(sent, dict):
            return refusal(400, "the settings of the page must be a JSON object")
        config = {name: sent[name] for name in _SEEN if name in sent}
        sources = [await run_in_threadpool(one.source) for one in self.content(request).served]
        return StreamingResponse(
            document(sources, **config), media_type="text/html", headers={**HEADERS, "Content-Disposition": "attachment"}
        )

    async def home_page(self, request: Request) -> Response:
        offer = await run_in_threadpool(self.home.settings) if self.home else {}
        return self._page("Open a file", {"sources": [], "home": offer, **self.theme})

    def _page(self, title: str, settings: dict[str, Any], opening: int | None = None) -> Response:
        """The first page, or that of something that was opened."""
        if self.home:
            base = "" if opening is None else "../../"
            settings["files"] = {"base": base, "page": opening or 0, "mostBytes": MOST_BYTES}
        return HTMLResponse("".join(page(title, settings, '<script src="viewer.js"></script>')), headers=HEADERS)

    async def script(self, request: Request) -> Response:
        return Response(viewer_script(), media_type="text/javascript", headers=HEADERS)

    async def wire(self, request: Request) -> Response:
        one = _chosen(self.content(request).served, request)
        if one is None:
            return refusal(404, "no such program")
        packed, length = await run_in_threadpool(one.wire)
        headers = {**HEADERS, "Content-Encoding": "gzip", "X-Unpacked-Length": str(length)}
        return StreamingResponse(_pieces(packed), media_type="application/octet-stream", headers=headers)

    async def details(self, request: Request) -> Response:
        one = _chosen(self.content(request).served, request)
        try:
            start, stop = int(request.query_params["start"]), int(request.query_params["stop"])
        except (KeyError, ValueError):
            return refusal(400, "start and stop must be numbers")
        if one is None:
            return refusal(404, "no such program")
        block = await run_in_threadpool(one.details, start, stop)
        return Response(block, media_type="application/octet-stream", headers=HEADERS)

    async def memory(self, request: Request) -> Response:
        one = _chosen(self.content(request).served, request)
        if one is None:
            return refusal(404, "no such program")
        block = await run_in_threadpool(one.memory, request.query_params.get("what-if"))
        return Response(block, media_type="application/octet-stream", headers={**HEADERS, "Content-Encoding": "gzip"})

    async def source(self, request: Request) -> Response:
        one = _chosen(self.content(request).served, request)
        if one is None:
            return refusal(404, "no such program")
        try:
            return Response(await run_in_threadpool(one.source_file, request.query_params), media_type=JSON, headers=HEADERS)
        except (KeyError, ValueError):
            return refusal(404, "not found")

    async def recording(self, request: Request) -> Response:
        one = _chosen(self.content(request).served, request)
        if not isinstance(one, ServedRecording):
            return refusal(404, "no such recording")
        what, number = request.path_params["what"], request.path_params.get("pass", "0")
        try:
            body, kind = await run_in_threadpool(one.answer, what, int(number), request.query_params)
        except (KeyError, ValueError, IndexError):  # the last if a shorter recording has taken its place meanwhile
            return refusal(404, "not found")
        packed = {} if kind == JSON else {"Content-Encoding": "gzip"}
        return Response(body, media_type=kind, headers={**HEADERS, **packed})

    async def match(self, request: Request) -> Response:
        content = self.content(request)
        try:
            body = await run_in_threadpool(content.matches.answer, content.served, request.query_params)
        except (KeyError, ValueError, IndexError):
            return refusal(404, "no such pair of programs")
        return Response(body, media_type=JSON, headers=HEADERS)

    async def events(self, request: Request) -> Response:
        return StreamingResponse(_changes(self.content(request), request, self.guide), media_type="text/event-stream", headers=HEADERS)

    async def show(self, request: Request) -> Response:
        received = await body_of(request, _MOST_SENT)
        if received is None:
            return refusal(413, "the program is too large to send; save it and run `opscope view FILE`")
        content = self.contents[0]
        try:
            await run_in_threadpool(content.replace, received)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            return refusal(422, about_data(error))
        return JSONResponse({"tabs": content.tabs, "start": "" if content.tabs else self.starts.new()}, headers=HEADERS)


async def _unreadable(request: Request, error: Exception) -> Response:
    """Tell the page why a source could not be read."""
    return refusal(422, error_line(error))


class _Content:
    """The programs and settings of a page; they can be replaced."""

    def __init__(self, served: Sequence[Served], config: dict[str, Any]) -> None:
        self.served = served
        self.config = config
        self.matches = Matches()
        self.edition = 0
        self.tabs = 0

    def replace(self, body: bytes) -> None:
        """Serve the programs of a request instead. They are validated like any file."""
        document = json.loads(body)
        programs, config = native.loads(document["programs"]), dict(document["config"])
        self.served, self.config, self.matches = [Served.of(program) for program in programs], config, Matches()
        self.edition += 1


class _AccessControl:
    """Passes on only requests with the token, with a Host that names this machine, and from pages of this server."""

    def __init__(self, app: ASGIApp, token: str, hosts: frozenset[str], starts: StartCodes) -> None:
        self.app = app
        self.token = token
        self.prefix = f"/{token}"
        self.hosts = hosts
        self.starts = starts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        host = _header(scope, b"host")
        if _host_name(host) not in self.hosts:
            await refusal(403, "this server answers only requests for a name of this machine, such as localhost")(scope, receive, send)
            return
        origin = _header(scope, b"origin")
        if origin and origin.partition("://")[2] != host:
            await refusal(403, "this server answers only its own pages")(scope, receive, send)
            return
        path: str = scope["path"]
        question = _PROOF.fullmatch(path)
        if question:
            await PlainTextResponse(proof(self.token, question[1]), headers=HEADERS)(scope, receive, send)
            return
        if self.starts.take(path):
            await RedirectResponse(f"{self.prefix}/", 303, HEADERS)(scope, receive, send)
            return
        prefix, rest = path[: len(self.prefix)], path[len(self.prefix) :]
        is_authorized = hmac.compare_digest(prefix.encode("utf-8", "replace"), self.prefix.encode())
        if not is_authorized or not rest.startswith("/") or len(rest) > _LONGEST_PATH:
            await refusal(404, "not found; use the whole address that `opscope view` printed")(scope, receive, send)
            return
        await self.app({**scope, "path": rest, "raw_path": rest.encode("utf-8", "replace"), "root_path": ""}, receive, send)


def _header(scope: Scope, name: bytes) -> str:
    value: bytes = next((value for key, value in scope["headers"] if key == name), b"")
    return value.decode("latin-1")


def _host_name(host: str) -> str:
    """The Host header without its port, for "[::1]:80" as well as "localhost:80"; empty if it is neither."""
    match = _HOST.fullmatch(host)
    return (match[1] or match[2]).lower() if match else ""


def _chosen(served: Sequence[Served], request: Request) -> Served | None:
    number = request.path_params["number"]
    return served[int(number)] if number.isascii() and number.isdigit() and len(number) < 6 and int(number) < len(served) else None


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
                    await run_in_threadpool(one.refresh)
                stamps = now
                yield "event: changed\ndata: 1\n\n"
    finally:
        content.tabs -= 1
