"""Which node of one served program is which of another: how panes of different sources stay in step."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Mapping, Sequence

from opscope.program import NodeKey, Program
from opscope.recording.diff import diff
from opscope.serve.recordings import ServedRecording
from opscope.serve.sources import Served

_KEPT = 8
_Counterparts = dict[NodeKey, list[NodeKey]]


class Matches:
    """Matchings of pairs of programs, the latest few of them kept."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, ...], _Counterparts] = OrderedDict()
        self._lock = threading.Lock()

    def answer(self, served: Sequence[Served], query: Mapping[str, str]) -> bytes:
        """Nodes of source b that the node `graph`, `id` of source a is, as JSON."""
        a, pass_a, b, pass_b = (int(query[name]) for name in ("a", "passA", "b", "passB"))
        with self._lock:
            counterparts = self._known.get((a, pass_a, b, pass_b))
            if counterparts is None:
                counterparts = _counterparts(_program(served[a], pass_a), _program(served[b], pass_b))
                self._known[a, pass_a, b, pass_b] = counterparts
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        found = counterparts.get((query["graph"], query["id"]), [])
        return json.dumps([{"graph": graph, "id": id} for graph, id in found[:12]]).encode()


def _program(one: Served, pass_: int) -> Program:
    return one.program_after(pass_) if isinstance(one, ServedRecording) else one.program()


def _counterparts(a: Program, b: Program) -> _Counterparts:
    counterparts: _Counterparts = defaultdict(list)
    for match in diff(a, b).matched:
        for key in match.a:
            counterparts[key].extend(match.b)
    return counterparts
