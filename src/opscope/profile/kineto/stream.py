"""The events of a chrome trace, one after another, without the whole file in memory."""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedIOBase
from json import JSONDecodeError
from typing import Any, TypeAlias

from opscope.errors import OpscopeError

HOST = ("cpu_op", "user_annotation", "python_function")
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver", "hip_runtime", "xpu_runtime", "privateuse1_runtime", "mtia_runtime")
"""Categories of events: what the host did, what the device did, and calls that launch it."""

_CHUNK = 4 << 20
_LONGEST_EVENT = 16 << 20
"""More text than this without the end of an event is not a trace."""
_BEGIN = re.compile(r'\s*(?:\[|\{.*?"traceEvents"\s*:\s*\[)', re.DOTALL)
_GPU = re.compile(r'"deviceProperties"\s*:\s*\[\s*\{')

_FLAT = r"[^{}]*+(?:\{[^{}]*+\}[^{}]*+)?+\}"
"""The rest of an event without braces in its texts."""
_SKIPPED = (
    rf'\{{\s*"ph":\s*"[sftiM]",{_FLAT}',
    rf'\{{\s*"ph":\s*"X",\s*"cat":\s*"python_function",\s*"name":\s*"'
    rf'(?:<built-in|<frozen|torch/|[^"\\]*(?:site|dist)-packages/torch/)[^"\\]*+"{_FLAT}',
)
_BETWEEN = rf"[\s,]*+(?:(?:{'|'.join(_SKIPPED)})[\s,]*+)*+"
"""What lies between two events that matter: arrows, marks, and the Python frames of torch itself, which are most of a trace with stacks."""
_NEXT = re.compile(_BETWEEN)
_SPAN = re.compile(
    rf'{_BETWEEN}\{{\s*+"ph":\s*+"X",\s*+"cat":\s*+"([^"\\]*+)",\s*+"name":\s*+"([^"\\]*+)",'
    r'\s*+"pid":\s*+([^,{}]++),\s*+"tid":\s*+([^,{}]++),\s*+"ts":\s*+([\d.]++),\s*+"dur":\s*+([\d.]++)'
    r'(?:,\s*+"args":\s*+\{|\s*+\})'
)
"""An event as Kineto writes it, up to its arguments. Most of its text is the shapes of these, which are not needed here.

The patterns only save time: an event that they do not recognize is decoded as JSON."""
_END = re.compile(r"\}\s*+\}")
_NUMBERS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(HOST, ("External id", "Sequence number", "Fwd thread id")),
    **dict.fromkeys(DEVICE, ("External id", "stream", "device", "correlation")),
    **dict.fromkeys(CALLS, ("External id", "correlation")),
}
"""The arguments of each category that opscope uses."""
_KEYS = {category: tuple([(name, f'"{name}":') for name in names]) for category, names in _NUMBERS.items()}
_NUMBER = re.compile(r"\s*+(-?\d{1,18})(?!\d)")

_NOTHING: Mapping[str, Any] = {}

Event: TypeAlias = tuple[Any, Any, Any, Any, Any, Any, Mapping[str, Any]]
"""Category, name, process, thread, start and duration in microseconds as the trace has them, and numbers among the arguments."""


class EventStream:
    """Iterates over the events that have a duration. `problem` says afterwards why it ended early, if it did."""

    def __init__(self, stream: BufferedIOBase, took: Callable[[int], None] | None = None) -> None:
        self._stream = stream
        self._took = took
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self.problem = ""
        self.has_gpu = False
        """Whether the trace begins with the properties of a GPU."""
        self.others = 0
        """Events without a duration, as far as they were decoded."""

    def __iter__(self) -> Iterator[Event]:
        text = ""
        while (begin := _BEGIN.match(text)) is None:
            more = self._more()
            if not more or len(text) > _LONGEST_EVENT:
                raise OpscopeError("has no list of events; expected the chrome trace that export_chrome_trace writes")
            text += more
        at = begin.end()
        self.has_gpu = _GPU.search(text, 0, at) is not None
        decode = json.JSONDecoder().raw_decode
        match_span, match_end = _SPAN.match, _END.match
        while True:
            span = match_span(text, at)
            if span is not None:
                stop = span.end()
                category, name, process, thread, start, duration = span.groups()
                if text[stop - 1] == "}":
                    at = stop
                    yield category, name, process, thread, start, duration, _NOTHING
                    continue
                close = text.find("}", stop)
                end = match_end(text, close) if close > 0 and text.find("{", stop, close) < 0 else None
                if end is not None:
                    at = end.end()
                    yield category, name, process, thread, start, duration, _arguments(_KEYS.get(category, ()), text, stop, close)
                    continue
            between = _NEXT.match(text, at)
            at = between.end() if between else at
            if at < len(text) and text[at] == "]":
                return
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
                if not isinstance(event, dict) or event.get("ph") != "X":
                    self.others += 1
                    continue
                category, name, process, thread, start, duration = map(event.get, ("cat", "name", "pid", "tid", "ts", "dur"))
                yield category, name, process, thread, start, duration, event.get("args") or _NOTHING

    def _more(self) -> str:
        """The next characters; nothing at the end of the file, or where it cannot be decompressed."""
        data = b""
        try:
            while len(data) < _CHUNK and (piece := self._stream.read1(_CHUNK - len(data))):
                data += piece
        except EOFError:
            self.problem = "the compressed trace is truncated"
        except (zlib.error, OSError):
            self.problem = "the compressed trace is damaged"
        if self._took is not None:
            self._took(len(data))
        return self._utf8.decode(data, final=not data)


def _arguments(keys: Sequence[tuple[str, str]], text: str, start: int, stop: int) -> dict[str, int]:
    """The numbers among the arguments of an event that opscope uses."""
    arguments = {}
    for name, key in keys:
        at = text.find(key, start, stop)
        if at >= 0 and (number := _NUMBER.match(text, at + len(key), stop)):
            arguments[name] = int(number[1])
    return arguments
