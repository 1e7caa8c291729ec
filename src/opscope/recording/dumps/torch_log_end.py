"""Whether a structured log of torch.compile ends where a record ends."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_RECORD = re.compile(rb"^[VDIWE]\d{4} [\d:.]+ \d+ \S+?:\d+\] \{.*\}[ \r]*$", re.MULTILINE)
_PAYLOAD = re.compile(rb'"has_payload": "(?P<hash>[0-9a-f]{32})"')
_BLOCK = 1 << 18
_MOST = 1 << 25
"""A longer record than this is not looked at."""


def is_cut(path: Path) -> bool:
    """Whether the last record is not complete: its last line has no end, or its payload is not the one whose hash it states. Hashes say
    nothing in a log that somebody has edited, so that of the record before must be right."""
    size, block = path.stat().st_size, _BLOCK
    with path.open("rb") as stream:
        while True:
            stream.seek(max(0, size - block))
            tail = stream.read()
            if tail and not tail.endswith(b"\n"):
                return True
            records = list(_RECORD.finditer(tail))
            if len(records) > 1 or block >= min(size, _MOST):
                break
            block *= 4
    if not records:
        return False
    ends = [*(record.start() for record in records[1:]), len(tail)]
    are_right = [
        hashlib.md5(_payload(tail[record.end() : end]), usedforsecurity=False).hexdigest() == stated["hash"].decode()
        for record, end in zip(records, ends, strict=True)
        if (stated := _PAYLOAD.search(record[0]))
    ]
    has_payload = _PAYLOAD.search(records[-1][0]) is not None
    return has_payload and are_right[-2:] == [True, False]


def _payload(text: bytes) -> bytes:
    """The lines that are indented by a tab, without it."""
    return b"".join(line[1:] for line in text[1:].splitlines(keepends=True) if line.startswith(b"\t")).removesuffix(b"\n")
