"""Matches nodes between two served programs, so that panes of different sources stay in step."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence

from opscope.program import NodeKey, Program
from opscope.recording.diff import diff
from opscope.serve.recordings import ServedRecording
from opscope.serve.sources import Served

_CACHE_SIZE = 8
_Counterparts = dict[NodeKey, list[NodeKey]]


class Matches:
    """The matches of pairs of programs. The latest few are cached."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[int, ...], _Counterparts] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, served: Sequence[Served], query: Mapping[str, str]) -> bytes:
        """The nodes of source `b` that match the node (`graph`, `id`) of source `a`, as JSON."""
        a, pass_a, b, pass_b = (int(query[name]) for name in ("a", "passA", "b", "passB"))
        with self._lock:
            counterparts = self._cache.get((a, pass_a, b, pass_b))
            if counterparts is None:
                counterparts = _counterparts(_program(served[a], pass_a), _program(served[b], pass_b))
                self._cache[a, pass_a, b, pass_b] = counterparts
                if len(self._cache) > _CACHE_SIZE:
                    self._cache.popitem(last=False)
        matches = counterparts.get((query["graph"], query["id"]), [])
        return json.dumps([{"graph": graph, "id": id} for graph, id in matches[:12]]).encode()


def _program(one: Served, pass_: int) -> Program:
    return one.program_after(pass_) if isinstance(one, ServedRecording) else one.program()


def _counterparts(a: Program, b: Program) -> _Counterparts:
    counterparts: _Counterparts = defaultdict(list)
    for match in diff(a, b).matched:
        for key in match.a:
            counterparts[key].extend(match.b)
    return counterparts
