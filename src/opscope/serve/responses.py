"""What requests and answers of the server have in common."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from opscope.render.writers.html import policy

HEADERS = {
    "Content-Security-Policy": policy("'self'", "'self'", "'self'"),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


def refusal(status: int, reason: str) -> PlainTextResponse:
    return PlainTextResponse(reason, status_code=status, headers=HEADERS)


async def body_of(request: Request, most: int) -> bytes | None:
    """The body of a request; None if it is longer than `most` bytes."""
    received = bytearray()
    async for piece in request.stream():
        received += piece
        if len(received) > most:
            return None
    return bytes(received)
