"""The home page: files that a person chooses in the browser.

A page can send a file of its own computer, and can name what this server was given: something in the directories of `--browse`, what
this user opened before, and the examples. It can name nothing else. All of them are read as the command line reads a SOURCE.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from opscope.demo import EXAMPLES, PREFIX
from opscope.errors import OpscopeError, SourceError, error_line
from opscope.serve.directories import Directories
from opscope.serve.opening import compare_served, open_source
from opscope.serve.recent import forget_all, recent_paths, remember
from opscope.serve.responses import HEADERS, body_of, refusal
from opscope.serve.sources import Served
from opscope.serve.uploads import MOST_BYTES, Uploads, too_large

Show = Callable[[Sequence[Served]], int]
"""Serves programs on a page of their own, and returns its number."""
Find = Callable[[int, int], Served]
"""A program that is served, by the numbers of its page and of the program on it."""
_MOST_SOURCES = 64
_LONGEST_REQUEST = 1 << 20


class Home:
    """What the home page offers. With `recent`, also what this user opened before."""

    def __init__(self, uploads: Uploads, directories: Sequence[str] = (), *, recent: bool = False) -> None:
        self.uploads = uploads
        self.directories = Directories(directories)
        self.recent = recent
        self._opening = asyncio.Lock()

    def settings(self) -> dict[str, Any]:
        """What the page shows at first."""
        offer: dict[str, Any] = {
            "examples": [{"name": example.name, "what": example.what} for example in EXAMPLES],
            "directories": self.directories.names,
            "machine": socket.gethostname(),
        }
        if self.recent:
            offer["recent"] = [{"path": str(path), "name": path.name, "place": _short(path.parent)} for path in recent_paths()]
        return offer

    def routes(self, show: Show, find: Find) -> list[Route]:
        async def open_(request: Request) -> Response:
            return await self._open(request, show)

        async def compare(request: Request) -> Response:
            return await self._compare(request, show, find)

        return [
            Route("/upload", self._upload, methods=["POST"]),
            Route("/open", open_, methods=["POST"]),
            Route("/compare", compare, methods=["POST"]),
            Route("/browse", self._browse),
            Route("/recent", self._forget, methods=["DELETE"]),
        ]

    async def _upload(self, request: Request) -> Response:
        name = request.query_params.get("name", "")
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > MOST_BYTES:
            return refusal(413, too_large(name))
        number, path = self.uploads.place(name)
        try:
            if not await _written(request, path):
                return refusal(413, too_large(name))
        except (ClientDisconnect, OSError) as error:
            path.unlink(missing_ok=True)
            return refusal(507, self.uploads.without_place(error_line(error)))
        return JSONResponse({"upload": number}, headers=HEADERS)

    async def _open(self, request: Request, show: Show) -> Response:
        """Show the named sources on one page, or say what is wrong with each of them."""
        sources = _sources(await body_of(request, _LONGEST_REQUEST))
        if sources is None:
            return refusal(400, "name the sources to open")
        async with self._opening:
            served, problems = await run_in_threadpool(self._read, sources)
        if any(problems):
            return JSONResponse({"problems": problems}, status_code=422, headers=HEADERS)
        return JSONResponse({"page": f"open/{show(served)}/"}, headers=HEADERS)

    async def _compare(self, request: Request, show: Show, find: Find) -> Response:
        """Show how the program on a page differs from the named source, or what two named sources differ in."""
        body = await body_of(request, _LONGEST_REQUEST)
        sources = _sources(body)
        shown = None if sources is None else _shown(body)
        if sources is None or len(sources) + (shown is not None) != 2:
            return refusal(400, "name two programs to compare")
        async with self._opening:
            served, problems = await run_in_threadpool(self._read, sources, single=True)
            if any(problems):
                return JSONResponse({"problems": problems}, status_code=422, headers=HEADERS)
            first = served[0] if shown is None else find(shown["page"], shown["program"])
            compared = await run_in_threadpool(compare_served, first, served[-1], None if shown is None else shown.get("pass"))
        return JSONResponse({"page": f"open/{show([compared])}/"}, headers=HEADERS)

    def _read(self, sources: Sequence[dict[str, Any]], single: bool = False) -> tuple[list[Served], list[str]]:
        served: list[Served] = []
        problems: list[str] = []
        for source in sources:
            try:
                path = self._path(source)
                if Path(path).is_fifo():  # opening it would wait for a writer, and every page for this one
                    raise OpscopeError(f"{path}: has become a pipe; put the file back")
                opened = open_source(path)
                if single and len(opened) > 1:
                    raise SourceError(f"has {len(opened)} modules, and only one can be compared; use `opscope diff --module NAME`", path)
                served += opened
                if "recent" in source or "directory" in source:
                    remember(Path(path))
                problems.append("")
            except Exception as error:  # the page shows all of them, as the command line does
                problems.append(self.uploads.without_place(error_line(error)))
        return served, problems

    def _path(self, source: dict[str, Any]) -> str:
        """What a page may name, as the command line would name it."""
        match source:
            case {"upload": int(number)}:
                return str(self.uploads.path(number))
            case {"directory": int(number), "path": str(path)}:
                return str(self.directories.source(number, path))
            case {"recent": str(path)} if self.recent and Path(path) in recent_paths():
                return path
            case {"example": str(name)} if name in [example.name for example in EXAMPLES]:
                return PREFIX + name
        raise OpscopeError("the page offers no such file; reload it")

    async def _browse(self, request: Request) -> Response:
        number = request.query_params.get("directory", "")
        if not (number.isascii() and number.isdigit() and len(number) < 6):
            return refusal(400, "directory must be a number")
        listing = await run_in_threadpool(self.directories.listing, int(number), request.query_params.get("path", ""))
        return JSONResponse(listing, headers=HEADERS)

    async def _forget(self, request: Request) -> Response:
        if not self.recent:
            return refusal(404, "not found")
        await run_in_threadpool(forget_all)
        return JSONResponse({}, headers=HEADERS)


async def _written(request: Request, path: Path) -> bool:
    """Write the body of a request into a file; False, without the file, if it is too large."""
    size = 0
    with path.open("xb") as file:
        async for piece in request.stream():
            size += len(piece)
            if size > MOST_BYTES:
                break
            file.write(piece)
    if size > MOST_BYTES:
        path.unlink()
    return size <= MOST_BYTES


def _sources(body: bytes | None) -> list[dict[str, Any]] | None:
    """The sources of a request; None if it is malformed."""
    try:
        sources = json.loads(body or b"")["sources"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    valid = isinstance(sources, list) and 0 < len(sources) <= _MOST_SOURCES and all(isinstance(each, dict) for each in sources)
    return sources if valid else None


def _shown(body: bytes | None) -> dict[str, int] | None:
    """The program on a page that a request names; None if there is none, or it is malformed."""
    shown = json.loads(body or b"{}").get("shown")
    valid = isinstance(shown, dict) and {"page", "program"} <= set(shown) <= {"page", "program", "pass"}
    return shown if valid and all(type(number) is int and number >= 0 for number in shown.values()) else None


def _short(directory: Path) -> str:
    """A directory as people write it: ~/models."""
    home = os.path.expanduser("~")
    return "~" + str(directory).removeprefix(home) if directory.is_relative_to(home) and home != "/" else str(directory)
