"""Codes that start a browser: each is exchanged once for the address with the token, because other users can read the arguments of
processes."""

from __future__ import annotations

import hmac
import secrets

PATH = "/start/"
_MOST = 8
"""Codes that no browser has used yet: more would be of browsers that never came."""


class StartCodes:
    """The codes of a server that are not used yet."""

    def __init__(self, *codes: str) -> None:
        self._codes = list(codes)

    def new(self) -> str:
        """The path of a page for a browser that is started now."""
        self._codes = [*self._codes[1 - _MOST :], secrets.token_urlsafe(16)]
        return f"{PATH}{self._codes[-1]}"

    def take(self, path: str) -> bool:
        """Whether a request is for such a path; the next one for the same path is not."""
        known = [code for code in self._codes if hmac.compare_digest(path.encode("utf-8", "replace"), f"{PATH}{code}".encode())]
        self._codes = [code for code in self._codes if code not in known]
        return bool(known)
