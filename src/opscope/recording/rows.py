"""One row per pass, for `opscope passes` and the timeline."""

from __future__ import annotations

from typing import Any, NamedTuple

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
    aside = diff.aside if diff.same else ""
    return Row(snapshot, len(diff.all_added), len(diff.all_removed), len(diff.changed), diff.merged, diff.copied, aside)
