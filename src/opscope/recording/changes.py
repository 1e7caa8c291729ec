"""What differs between two nodes that are each other's counterpart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from opscope.program import Node, TensorType
from opscope.recording.match.attribute_values import differing, parsed
from opscope.recording.match.indexed_program import Labels

_LONGEST_VALUE = 60


class Change(NamedTuple):
    """One difference of a node: "op", "type", "attrs.NAME", "operands", "scope", "graph", "calls"."""

    field: str
    old: str
    new: str

    def __str__(self) -> str:
        old, new = self.shortened(_LONGEST_VALUE)
        return f"{self.field} {old} → {new}"

    def shortened(self, longest: int) -> tuple[str, str]:
        """Both texts; if one is too long, both are cut to where they differ, with some context before it."""
        if max(len(self.old), len(self.new)) <= longest:
            return self.old, self.new
        shorter = min(len(self.old), len(self.new))
        same = next((i for i in range(shorter) if self.old[i] != self.new[i]), shorter)
        start = max(0, same - longest // 6)
        return _window(self.old, start, longest), _window(self.new, start, longest)


def detail_changes(old: Node, new: Node, labels: Labels) -> Iterator[Change]:
    """Attributes that differ, except those that only name nodes and graphs, which are compared as what they name."""
    before, after = old.attrs, new.attrs
    for name in {**before, **after}:
        was, now = before.get(name), after.get(name)
        if was != now and not (labels.is_name(name, was) or labels.is_name(name, now)):
            changes = _attribute_changes(f"attrs.{name}", was, now)
            yield from (change for change in changes if change.old != change.new)  # 3 and "3" are one value in two files
    follows = "metadata.op_name" in before or "metadata.op_name" in after
    if old.scope != new.scope and not follows:
        yield Change("scope", "/".join(old.scope), "/".join(new.scope))


def _attribute_changes(name: str, was: Any, now: Any) -> Iterator[Change]:
    """One change, or one for each key where both values are texts of objects; none where these are equal."""
    if isinstance(was, str) and isinstance(now, str):
        before, after = parsed(was), parsed(now)
        if before is not None and after is not None:
            yield from (Change(key, _json(one), _json(other)) for key, one, other in differing(before, after, name))
            return
    yield Change(name, _text(was), _text(now))


def _json(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _window(text: str, start: int, longest: int) -> str:
    return ("…" if start else "") + text[start : start + longest] + ("…" if len(text) > start + longest else "")


def types_text(types: tuple[TensorType, ...]) -> str:
    texts = [f"{type_}{type_.layout}" for type_ in types]
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)
