"""Searches all passes of a recording at once, with the core in V8."""

from __future__ import annotations

import json
from typing import NamedTuple

from opscope.plugin import Progress
from opscope.recording.model import Recording, Snapshot
from opscope.render.draw import host
from opscope.render.wire.recording import encode_programs, encode_recording


class PassMatches(NamedTuple):
    """What a query finds in the program after a pass."""

    snapshot: Snapshot
    touched: bool
    """Whether the pass added, changed, removed or replaced something that the query is about. Of a parameter, that is also what uses it."""
    nodes: int
    ids: tuple[str, ...]
    """The first few nodes that were not there before the pass."""
    more: bool
    """Whether there are more of them."""


def search_passes(recording: Recording, query: str, progress: Progress | None = None, *, compared: bool = True) -> list[PassMatches]:
    """One row per pass. The query is as in the viewer's search: text, /a regular expression/, op:dot scope:layer_1.

    Passes that are not `compared`, which takes most of the time, count as not touched.
    """
    wire = encode_recording(recording, progress) if compared else encode_programs(recording)
    _, answer = host.run(wire, [("load", None), ("searchPasses", {"query": query})])
    rows = json.loads(answer)
    return [PassMatches(recording[row["pass"]], row["touched"], row["count"], tuple(row["ids"]), row["more"]) for row in rows]
