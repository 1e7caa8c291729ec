"""Memory at a point, as the JSON and the groups that `opscope memory` prints."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from opscope.memory.model import Buffer, Live, Memory

_NUMBER = re.compile(r"\d+")
_SUFFIX = re.compile(r"(?:[._]|(?<!\d))\d++$")
"""What tells nodes of one kind apart."""
_NUMBERS = re.compile(r"(?:\d++[._])++")
"""The numbers that a name ends in, backwards: forwards, every place of a long name would be tried to its end."""


class Group(NamedTuple):
    """Buffers of one module, source line or kind."""

    name: str
    bytes: int
    buffers: int
    largest: str


_KEYS: dict[str, Callable[[Live], str]] = {
    "module": lambda row: "/".join(row.buffer.scope),
    "source": lambda row: row.buffer.source,
    "kind": lambda row: row.buffer.kind,
}


def grouped(rows: list[Live], per: str) -> list[Group]:
    """The rows summed by module, source line or kind, the largest first."""
    groups: dict[str, Group] = {}
    for row in rows:
        name = _KEYS[per](row)
        before = groups.get(name) or Group(name, 0, 0, row.buffer.name)
        groups[name] = before._replace(bytes=before.bytes + (row.buffer.bytes or 0), buffers=before.buffers + 1)
    return sorted(groups.values(), key=lambda group: (-group.bytes, group.name))


def line_of(buffer: Buffer) -> tuple[str, ...]:
    """What values have in common that one line of the user's program makes, in all repeated layers. One line may make several kinds: to
    recompute the activations is cheap, to recompute the products with them is not."""
    return buffer.source, _NUMBER.sub("#", "/".join(buffer.scope)), _SUFFIX.sub("", buffer.node), str(buffer.type)


def equal_lines(buffers: Iterable[Buffer]) -> list[list[Buffer]]:
    """Buffers of the same line and kind, those with the most bytes first. Two results of a node are two values."""
    lines: dict[tuple[str, ...], list[Buffer]] = defaultdict(list)
    for buffer in buffers:
        lines[*line_of(buffer), buffer.output].append(buffer)
    return sorted(lines.values(), key=lambda each: -sum(buffer.bytes or 0 for buffer in each))


def repeats(rows: Iterable[Live]) -> list[list[Live]]:
    """Equal buffers of repeated layers together, as in the viewer: the same kind, type, size and line, and but for numbers the same name
    and module. Those with the most bytes first."""
    equal: dict[tuple[object, ...], list[Live]] = defaultdict(list)
    for row in rows:
        buffer = row.buffer
        name, scope = _NUMBER.sub("#", _without_numbers(buffer.node)), _NUMBER.sub("#", "/".join(buffer.scope))
        equal[buffer.kind, buffer.bytes, buffer.source, str(buffer.type), buffer.output, name, scope].append(row)
    unused = [each for each in equal.values() if not each[0].buffer.node]  # what is reserved and not in use comes last
    others = [each for each in equal.values() if each[0].buffer.node]
    return sorted(others, key=lambda each: -len(each) * (each[0].buffer.bytes or 0)) + unused


def _without_numbers(name: str) -> str:
    numbers = _NUMBERS.match(name[::-1])
    return name[: len(name) - numbers.end()] if numbers else name


def source_lines(buffers: Iterable[Buffer]) -> list[list[list[Buffer]]]:
    """Buffers of the same source line, of every layer together, and of these the equal ones together; those with the most bytes first.
    Where no line is known, only equal ones are together."""
    lines: dict[tuple[str, ...], list[list[Buffer]]] = defaultdict(list)
    for equal in equal_lines(buffers):
        first = equal[0]
        lines[(first.source,) if first.source else (*line_of(first), first.output)].append(equal)
    return sorted(lines.values(), key=lambda each: -sum(buffer.bytes or 0 for equal in each for buffer in equal))


def to_json(memory: Memory, position: int, per: str) -> dict[str, Any]:
    """What `opscope memory --json` prints for one module."""
    rows = memory.live(position)
    live = [_row_json(memory, row) for row in rows] if per == "buffer" else [_group_json(group, per) for group in grouped(rows, per)]
    return {
        "name": memory.name,
        "origin": memory.origin,
        "peak_bytes": memory.peak_bytes,
        **({} if memory.measured is None else {"measured_peak_bytes": memory.measured.bytes}),
        "peak_at": memory.step_at(memory.peak),
        "at": memory.step_at(position),
        "position": position,
        "bytes": memory.bytes_at(position),
        **{f"{use}_bytes": size for use, size in memory.split.items()},
        "unknown": memory.unknown,
        "live": live,
        "curve": [list(point) for point in memory.curve],
    }


def _row_json(memory: Memory, row: Live) -> dict[str, Any]:
    buffer = row.buffer
    return {
        "node": buffer.node,
        "output": buffer.output,
        "graph": buffer.graph,
        "type": str(buffer.type) if buffer.type else "",
        "bytes": buffer.bytes,
        "kind": buffer.kind,
        "born": buffer.born,
        "last": buffer.last,
        "last_use": memory.step_at(buffer.last if buffer.read is None else min(buffer.read, buffer.last)),
        "why": buffer.why,
        "scope": "/".join(buffer.scope),
        "module": "/".join(buffer.scope),
        "source": buffer.source,
        "part": buffer.part,
        "allocation": buffer.slot[0] if buffer.slot else None,
        "shares": [other.name for other in row.shares],
    }


def _group_json(group: Group, per: str) -> dict[str, Any]:
    return {per: group.name, "bytes": group.bytes, "buffers": group.buffers, "largest": group.largest}
