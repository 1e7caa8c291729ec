"""The events of a chrome trace, one after another, without the whole file in memory."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from json import JSONDecodeError
from typing import Any

from opscope.errors import OpscopeError

_CHUNK = 4 << 20
_LONGEST_EVENT = 16 << 20
"""More text than this without the end of an event is not a trace."""
_BEGIN = re.compile(r'\s*(?:\[|\{.*?"traceEvents"\s*:\s*\[)', re.DOTALL)

_FLAT = r"[^{}]*+(?:\{[^{}]*+\}[^{}]*+)?+\}"
"""The rest of an event without braces in its texts."""
_SKIPPED = (
    rf'\{{\s*"ph":\s*"[sftiM]",{_FLAT}',
    rf'\{{\s*"ph":\s*"X",\s*"cat":\s*"python_function",\s*"name":\s*"'
    rf'(?:<built-in|<frozen|torch/|[^"\\]*(?:site|dist)-packages/torch/)[^"\\]*+"{_FLAT}',
)
_BETWEEN = re.compile(rf"[\s,]*+(?:(?:{'|'.join(_SKIPPED)})[\s,]*+)*+")
"""What lies between two events that matter: arrows, marks, and the Python frames of torch itself, which are most of a trace with stacks."""
_SPAN = re.compile(
    r'\{\s*"ph":\s*"X",\s*"cat":\s*"(?P<cat>[^"\\]*+)",\s*"name":\s*"(?P<name>[^"\\]*+)",\s*"pid":\s*(?P<pid>[^,{}]++),\s*"tid":\s*(?P<tid>[^,{}]++),'
    r'\s*"ts":\s*(?P<ts>[\d.]++),\s*"dur":\s*(?P<dur>[\d.]++)(?:,\s*"args":\s*\{(?P<args>[^{}]*+)\})?\s*\}'
)
"""An event as Kineto writes it. Most of its text is the shapes of arguments, which are not needed here.

The patterns only save time: an event that they do not recognize is decoded as JSON."""
_ARGUMENTS = ("External id", "Sequence number", "Fwd thread id", "correlation", "stream", "device")
_KEYS = tuple([(name, f'"{name}":') for name in _ARGUMENTS])
_NUMBER = re.compile(r"\s*(-?\d{1,18})(?!\d)")


class EventStream:
    """Iterates over the events. `problem` says afterwards why it ended early, if it did."""

    def __init__(self, stream: BufferedIOBase, took: Callable[[int], None] | None = None) -> None:
        self._stream = stream
        self._took = took
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.problem = ""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        text = ""
        while (begin := _BEGIN.match(text)) is None:
            more = self._more()
            if not more or len(text) > _LONGEST_EVENT:
                raise OpscopeError("has no list of events; expected the chrome trace that export_chrome_trace writes")
            text += more
        at = begin.end()
        decode = json.JSONDecoder().raw_decode
        between = _BETWEEN.match
        while True:
            skipped = between(text, at)
            at = skipped.end() if skipped else at
            if at < len(text) and text[at] == "]":
                return
            span = _SPAN.match(text, at)
            if span is not None:
                at = span.end()
                event = span.groupdict()
                event["ph"], event["args"] = "X", _arguments(span["args"] or "")
                yield event
                continue
            try:
                event, at = decode(text, at)
            except JSONDecodeError:
                more = "" if len(text) - at > _LONGEST_EVENT else self._more()
                if not more:
                    self.problem = self.problem or "the trace is truncated"
                    return
                text, at = text[at:] + more, 0
            except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
                self.problem = "the trace is damaged"
                return
            else:
                if isinstance(event, dict):
                    yield event

    def _more(self) -> str:
        """The next characters; nothing at the end of the file, or where it cannot be decompressed."""
        data = b""
        try:
            while len(data) < _CHUNK and (piece := self._stream.read1(_CHUNK - len(data))):
                data += piece
        except (EOFError, zlib.error, OSError):
            self.problem = "the trace is truncated, and the rest of it cannot be decompressed"
        if self._took is not None:
            self._took(len(data))
        return self._utf8.decode(data, final=not data)


def _arguments(text: str) -> dict[str, int]:
    """The numbers among the arguments of an event that opscope uses."""
    arguments = {}
    for name, key in _KEYS:
        at = text.find(key)
        if at >= 0 and (number := _NUMBER.match(text, at + len(key))):
            arguments[name] = int(number[1])
    return arguments
