"""One row per pass, for `opscope passes` and the timeline."""

from __future__ import annotations

from typing import Any, NamedTuple

from opscope.program import NodeKey
from opscope.recording.diff import Diff
from opscope.recording.model import Recording, Snapshot


class Row(NamedTuple):
    snapshot: Snapshot
    added: int
    removed: int
    changed: int
    merged: int = 0
    """Nodes that became part of another node that was already there."""
    copied: int = 0
    """Further copies of nodes. Nodes before + added + copied - removed - merged = nodes after, in every row."""
    aside: str = ""
    """What differs if no node does: names, order or annotations."""

    @property
    def unchanged(self) -> bool:
        """Whether nothing differs: a pass that only renames or reorders nodes, or changes annotations, did something."""
        return not (self.added or self.removed or self.changed or self.merged or self.copied or self.aside)

    def to_json(self) -> dict[str, Any]:
        s = self.snapshot
        return {
            "index": s.index,
            "pipeline": " / ".join(s.pipeline),
            "pass": s.name,
            "seconds": s.seconds,
            "nodes": s.nodes,
            "added": self.added,
            "removed": self.removed,
            "changed": self.changed,
            "merged": self.merged,
            "copied": self.copied,
            "module": s.module,
            "aside": self.aside,
            **({"file": s.attrs["file"]} if "file" in s.attrs else {}),
        }


def row_of(recording: Recording, snapshot: Snapshot) -> Row:
    """What one pass changed, in numbers."""
    if recording.repeats(snapshot):
        return Row(snapshot, 0, 0, 0)
    diff = recording.diff(snapshot.index)
    assert diff is not None
    came, went = in_rewrites(diff)
    aside = diff.aside if diff.same else ""
    return Row(snapshot, len(diff.added) + came, len(diff.removed) + went, len(diff.changed), diff.merged, diff.copied, aside)


def in_rewrites(diff: Diff) -> tuple[int, int]:
    """How many nodes were added and removed by rewrites of several nodes, which match as a group although none of them is the same.

    A node that is now computed several times (one old, several new, by identity) counts as added once for each further time.
    """
    came: set[NodeKey] = set()
    went: set[NodeKey] = set()
    for match in diff.compared:
        if len(match.a) == len(match.b) == 1:
            continue
        if match.evidence == "rewrite":
            came.update(match.b)
            went.update(match.a)
        elif match.evidence == "identity":
            came.update(match.b[1:])
    return len(came), len(went)
