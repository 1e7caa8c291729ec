"""opscope's own JSON (see `opscope.native`)."""

from __future__ import annotations

import re

from opscope.native import loads
from opscope.program import Program
from opscope.readers import Progress, Verdict
from opscope.readers.source import Source

_MARK = re.compile(r'"format"\s*:\s*"opscope"')


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    head = source.head_text.lstrip("\ufeff \t\r\n")
    if not head.startswith("{"):
        return Verdict(0, "not a JSON object")
    return Verdict(1, 'says "format": "opscope"') if _MARK.search(head) else Verdict(0, 'JSON without "format": "opscope"')


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    return loads(source.read_text())
