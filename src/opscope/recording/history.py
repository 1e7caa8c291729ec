"""What happened to one node, pass by pass: where it came from, and what it became."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from opscope.program import NodeKey
from opscope.recording.model import Recording, Snapshot

if TYPE_CHECKING:
    from opscope.recording.diff import Change, Diff, Fusion, Match

_MOST = 200
"""A frontier that grows beyond this is not a history any more."""
_FRONTIER = 3
"""Of so many nodes together it is told what they became, and not every change of one of them."""


class Step(NamedTuple):
    """What one pass did to the nodes that are followed: "added", "removed", "changed", "fused" or "became"."""

    snapshot: Snapshot
    kind: str
    old: tuple[NodeKey, ...]
    new: tuple[NodeKey, ...]
    changes: tuple[Change, ...] = ()
    evidence: str = ""
    rule: str = ""

    def __str__(self) -> str:
        old, new = _named(self.old), _named(self.new)
        told = f" ({self.rule})" if self.rule else ""
        if self.kind == "changed":
            return f"{new} changed: {'; '.join(f'{c.field} {_short(c.old)} → {_short(c.new)}' for c in self.changes)}{told}"
        if self.kind in ("added", "removed"):
            return f"{new or old} {self.kind}{told}"
        return f"{old} {'fused into' if self.kind == 'fused' else 'became'} {new}{told}"


def history(recording: Recording, key: NodeKey, snapshot: Snapshot) -> list[Step]:
    """The passes of the snapshot's module that did something to a node of it, those before it and those after, in order."""
    own = [each for each in recording if each.module == snapshot.module]
    at = own.index(snapshot)
    past: list[Step] = []
    frontier: tuple[NodeKey, ...] = (key,)
    for each in reversed(own[1 : at + 1]):
        if not frontier:
            break
        if found := _diff(recording, each):
            trail = _Trail(found, each)
            before = trail.sources(frontier)
            past[:0] = trail.steps(before, frontier)
            frontier = before
    future: list[Step] = []
    frontier = (key,)
    for each in own[at + 1 :]:
        if not frontier:
            break
        if found := _diff(recording, each):
            trail = _Trail(found, each)
            after = trail.results(frontier)
            future += trail.steps(frontier, after)
            frontier = after
    return past + future


def _diff(recording: Recording, snapshot: Snapshot) -> Diff | None:
    if recording.repeats(snapshot):
        return None
    found = recording.diff(snapshot.index)
    recording.forget_diff(snapshot.index)
    return found


class _Trail:
    """One pass, seen from the nodes that are followed through it."""

    def __init__(self, diff: Diff, snapshot: Snapshot) -> None:
        self.diff, self.snapshot = diff, snapshot
        self.of_old: dict[NodeKey, list[Match]] = {}
        self.of_new: dict[NodeKey, list[Match]] = {}
        for match in diff.compared:
            for key in match.a:
                self.of_old.setdefault(key, []).append(match)
            for key in match.b:
                self.of_new.setdefault(key, []).append(match)
        self.fusion_of: dict[str, Fusion] = {name: f for f in diff.fusions for name in diff.b[f.new[0]][f.new[1]].calls}
        self.fusions = {fusion.new: fusion for fusion in diff.fusions}

    def sources(self, keys: Iterable[NodeKey]) -> tuple[NodeKey, ...]:
        """What some nodes after the pass were before it."""
        found: dict[NodeKey, None] = {}
        for key in keys:
            if key[0] in self.diff.untouched:
                found[key] = None
            elif key in self.fusions:
                found.update(dict.fromkeys(self.fusions[key].old))
            else:
                found.update(dict.fromkeys(old for match in self.of_new.get(key, ()) for old in match.a))
        return tuple(found)[:_MOST]

    def results(self, keys: Iterable[NodeKey]) -> tuple[NodeKey, ...]:
        """What some nodes before the pass became."""
        found: dict[NodeKey, None] = {}
        for key in keys:
            if key[0] in self.diff.untouched:
                found[key] = None
            else:
                found.update(dict.fromkeys(new for match in self.of_old.get(key, ()) for new in match.b))
        return tuple(found)[:_MOST]

    def steps(self, old: Sequence[NodeKey], new: Sequence[NodeKey]) -> list[Step]:
        """What the pass did to them: one step, or none where they stayed as they were."""
        touched = [key for key in new if key[0] not in self.diff.untouched]
        if not old or not new:
            return [Step(self.snapshot, "removed" if old else "added", tuple(old), tuple(new))]
        joined = dict.fromkeys(fusion for key in touched if (fusion := self.fusions.get(key) or self.fusion_of.get(key[0])))
        if joined:
            return [Step(self.snapshot, "fused", fusion.old, (fusion.new,)) for fusion in joined]
        matches = dict.fromkeys(match for key in touched for match in self.of_new.get(key, ()))
        rewritten = [match for match in matches if len(match.a) > 1 or len(match.b) > 1]
        if rewritten:
            return [Step(self.snapshot, "became", m.a, m.b, m.changes, m.evidence, m.rule) for m in rewritten]
        changed = [match for match in matches if match.changes or match.rule]
        if len(new) > _FRONTIER:
            return []
        return [Step(self.snapshot, "changed" if m.changes else "became", m.a, m.b, m.changes, m.evidence, m.rule) for m in changed]


def _named(keys: Sequence[NodeKey]) -> str:
    return ", ".join(id for _, id in keys[:8]) + (f", … ({len(keys)})" if len(keys) > 8 else "")


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 :]}"
