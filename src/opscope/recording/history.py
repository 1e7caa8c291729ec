"""The history of one node, pass by pass: where it came from, and what it became; and of all nodes over a range of passes.

The viewer's core follows nodes (`web/src/core/program/recording/history.ts`), so that the prompt and the page agree. It runs in V8, which
belongs to a higher layer: this file only names its module, as the tables of readers and writers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opscope.plugin import Plugin, Progress
from opscope.program import NodeKey
from opscope.recording.model import Origin, Recording, Snapshot

if TYPE_CHECKING:
    from opscope.recording.changes import Change

FOLLOWER = Plugin("history", "opscope.render.history", "history of nodes")
CARRIED = "carried"
"""The kind of a step that did nothing to the node. It names no nodes, and has the evidence of the link."""


class Step(NamedTuple):
    """What one pass did to a node: "added", "removed", "changed", "fused", "became", "undecided" (one of `new`) or "carried" (nothing)."""

    snapshot: Snapshot
    kind: str
    old: tuple[NodeKey, ...]
    new: tuple[NodeKey, ...]
    changes: tuple[Change, ...] = ()
    evidence: str = ""
    rule: str = ""
    place: str = ""
    """The source line of the rule."""

    def __str__(self) -> str:
        old, new = _named(self.old), _named(self.new)
        rule = f" ({self.rule})" if self.rule else ""
        if self.kind == "changed":
            what = "changed" if old == new else f"became {new}"
            # of a node that a rule made anew, the attributes are others
            changes = [str(each) for each in self.changes if not (rule and old != new and each.field.startswith("attrs."))]
            return f"{old} {what}{': ' if changes else ''}{'; '.join(changes)}{rule}"
        if self.kind == CARRIED:
            return "nothing"
        if self.kind in ("added", "removed"):
            return f"{new or old} {self.kind}{rule}"
        if self.kind == "undecided":
            return f"{old} perhaps became {new}"
        return f"{old} {'fused into' if self.kind == 'fused' else 'became'} {new}{rule}"


def history(recording: Recording, key: NodeKey, snapshot: Snapshot, carried: bool = False) -> list[Step]:
    """The passes of the snapshot's module that changed the node, before and after the snapshot, in order; with `carried` also those that
    changed other nodes only."""
    steps: list[Step] = FOLLOWER.load().follow(recording, key, snapshot)
    return [step for step in steps if carried or step.kind != CARRIED]


def compose(recording: Recording, before: Snapshot, after: Snapshot, progress: Progress | None = None) -> tuple[Origin, ...]:
    """What became of the nodes of one snapshot in a later one of the same module, through all passes between them."""
    links: tuple[Origin, ...] = FOLLOWER.load().compose(recording, before, after, progress)
    return links


def _named(keys: Sequence[NodeKey]) -> str:
    return ", ".join(id for _, id in keys[:8]) + (f", … ({len(keys)})" if len(keys) > 8 else "")
