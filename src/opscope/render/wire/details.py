"""What people look at node by node (attributes, source frames): a separate block, which may be sent later."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any

from opscope.program import Details, Frame, Program
from opscope.render.wire.own_text import own_lines
from opscope.render.wire.sections import Interner, SectionWriter


def encode_details(program: Program, start: int, stop: int) -> bytes:
    """The details of nodes `start` … `stop-1` (numbered over all graphs), for hosts that send them on demand."""
    block = DetailsWriter()
    number = 0
    for graph in program:
        if number + len(graph) > start and number < stop:
            for node in graph.nodes[max(0, start - number) : stop - number]:
                block.add_shared(node.details)
        number += len(graph)
    return block.encode(start, [] if program.own_text is None else list(own_lines(program, start, stop)))


class DetailsWriter:
    """Attributes and source frames with dictionary coding: key sets, values and stacks of frames are each stored once."""

    def __init__(self) -> None:
        self._keys = Interner()
        self._key_sets: dict[tuple[str, ...], int] = {}
        self._texts = Interner()
        self._plain: dict[str, int] = {}
        self._stacks: dict[tuple[Frame, ...], int] = {(): 0}
        self._frames: dict[Frame, int] = {}
        self._set_of = array("i")
        self._values = array("i")
        self._stack_of = array("i")
        self._rows: dict[int, tuple[int, array[int], int, Details]] = {}
        self._like: dict[int, tuple[int, array[int], int, int]] = {}
        """By a caller's number: key set, values and stack of details that others resemble, and which of the values differs."""

    def add_shared(self, details: Details) -> None:
        """Add the next node's details, which nodes before it may have too. They are kept alive, so that their id is not reused."""
        row = self._rows.get(id(details))
        if row is None:
            place = len(self._values)
            self.add(details.attrs, details.source)
            self._rows[id(details)] = (self._set_of[-1], self._values[place:], self._stack_of[-1], details)
            return
        self._set_of.append(row[0])
        self._values.extend(row[1])
        self._stack_of.append(row[2])

    def add(self, attrs: Mapping[str, Any], source: tuple[Frame, ...]) -> None:
        """Add details."""
        self._set_of.append(self._key_sets.setdefault(tuple(attrs), len(self._key_sets)))
        self._values.extend(map(self._number, attrs.values()))
        self._stack_of.append(self._stacks.setdefault(source, len(self._stacks)))

    def add_like(self, kind: int, attrs: Mapping[str, Any], source: tuple[Frame, ...], name: str, text: str) -> None:
        """Add details of this kind, all of which have these attributes and frames, except that this attribute has this text."""
        row = self._like.get(kind)
        if row is None:
            values = array("i", map(self._number, attrs.values()))
            key_set = self._key_sets.setdefault(tuple(attrs), len(self._key_sets))
            stack = self._stacks.setdefault(source, len(self._stacks))
            row = self._like[kind] = (key_set, values, stack, list(attrs).index(name))
        key_set, values, stack, place = row
        values[place] = self._number(text)
        self._set_of.append(key_set)
        self._values.extend(values)
        self._stack_of.append(stack)

    def _number(self, value: Any) -> int:
        if type(value) is not str:
            return self._texts[json_text(value)]
        number = self._plain.get(value)
        if number is None:
            number = self._plain[value] = self._texts[encode_basestring(value)]
        return number

    def encode(self, start: int, lines: Sequence[str] = ()) -> bytes:
        """`lines` are those of the program's own text, one for each node; none if it has no text."""
        out = SectionWriter()
        sets = [[self._keys[key] for key in keys] for keys in self._key_sets]
        stacks = [[self._frames.setdefault(frame, len(self._frames)) for frame in stack] for stack in self._stacks]
        out.integers("setOf", self._set_of)
        out.table("sets", sets)
        out.integers("values", self._values)
        out.integers("stackOf", self._stack_of)
        out.table("stacks", stacks)
        for name, column in (("file", [f.file for f in self._frames]), ("function", [f.function for f in self._frames])):
            out.integers(f"frames.{name}", [self._keys[text] for text in column])
        out.deltas("frames.line", [frame.line for frame in self._frames])
        out.strings("keys", self._keys)
        out.strings("texts", self._texts)
        if lines:
            out.strings("lines", lines)
        return out.finish({"start": start, "count": len(self._set_of)})


def json_text(value: Any) -> str:
    """JSON that every parser accepts: no NaN and no infinities; other values become text."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_as_text)
    except (ValueError, TypeError):
        return json.dumps(str(value), ensure_ascii=False)


def _as_text(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value) if isinstance(value, (set, frozenset)) else str(value)
