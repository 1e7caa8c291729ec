"""The container of the wire format: named columns of numbers after a small JSON directory.

    "OPSW"  u32 version  u32 length of the directory  u32 0
    directory: UTF-8 JSON, padded with spaces to a multiple of 8
    sections, each starting at a multiple of 8, little-endian

The directory has the writer's own fields and, under "sections", `name: [type, coding, offset, count]`. Offsets count from the first
section. A column is stored in the narrowest integer type that fits, after a coding that makes its numbers small: what deflate then
compresses is mostly zeros.

    plain    the numbers
    delta    each number as the difference from the one before
    rows     the lengths of rows; the reader sums them up to row starts (one more number than stored)
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, compress
from math import inf
from operator import not_, sub
from typing import Any, TypeVar

T = TypeVar("T")

MAGIC = b"OPSW"
VERSION = 1

_INTEGER_TYPES = (("u8", "B"), ("i8", "b"), ("u16", "H"), ("i16", "h"), ("i32", "i"))


class SectionWriter:
    """Collects columns and writes them as one block of bytes."""

    def __init__(self) -> None:
        self._directory: dict[str, tuple[str, str, int, int]] = {}
        self._blocks: list[bytes] = []
        self._size = 0

    def integers(self, name: str, values: Sequence[int], coding: str = "plain") -> None:
        for kind, code in _INTEGER_TYPES:
            try:
                column = array(code, values)
            except OverflowError:
                continue
            self._add(name, kind, coding, _little_endian(column), len(values))
            return
        raise OverflowError(f"column {name!r} has a number that needs more than 32 bits")

    def deltas(self, name: str, values: Sequence[int]) -> None:
        self.integers(name, list(map(sub, values, chain((0,), values))), "delta")

    def floats(self, name: str, values: Iterable[float]) -> None:
        column = array("d", map(_finite_or_infinite, values))
        self._add(name, "f64", "plain", _little_endian(column), len(column))

    def rows(self, name: str, lengths: Sequence[int]) -> None:
        self.integers(name, lengths, "rows")

    def table(self, name: str, rows: Sequence[Sequence[int]]) -> None:
        """Rows of different lengths: `name.value` has all numbers, `name.rows` how many each row has."""
        self.rows(f"{name}.rows", list(map(len, rows)))
        self.integers(f"{name}.value", list(chain.from_iterable(rows)))

    def flat_table(self, name: str, lengths: Sequence[int], values: Sequence[int]) -> None:
        """Like `table`, for rows that are already one after the other."""
        self.rows(f"{name}.rows", lengths)
        self.integers(f"{name}.value", values)

    def block(self, name: str, block: bytes) -> None:
        self._add(name, "u8", "plain", block, len(block))

    def strings(self, name: str, texts: Iterable[str]) -> None:
        """A table of strings: `name` has the UTF-8, `name.rows` the length of each in bytes."""
        texts = list(texts)
        whole = "".join(texts)
        if whole.isascii():  # a million names need not be encoded one by one
            self.rows(f"{name}.rows", list(map(len, texts)))
            self.block(name, whole.encode("ascii"))
            return
        lengths = list(map(len, texts))
        for i in compress(range(len(texts)), map(not_, map(str.isascii, texts))):
            lengths[i] = len(texts[i].encode("utf-8", "replace"))
        self.rows(f"{name}.rows", lengths)
        self.block(name, whole.encode("utf-8", "replace"))

    def finish(self, fields: dict[str, Any]) -> bytes:
        whole = {**fields, "sections": self._directory}
        directory = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        directory += b" " * (-len(directory) % 8)
        header = MAGIC + _little_endian(array("I", [VERSION, len(directory), 0]))
        return b"".join([header, directory, *self._blocks])

    def _add(self, name: str, kind: str, coding: str, block: bytes, count: int) -> None:
        self._directory[name] = (kind, coding, self._size, count)
        padded = block + bytes(-len(block) % 8)
        self._blocks.append(padded)
        self._size += len(padded)


def _finite_or_infinite(value: float) -> float:
    """A product of sizes, which Python computes exactly, may be larger than any float."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _little_endian(column: array[Any]) -> bytes:
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()


class Numbers(dict[T, int]):
    """Numbers for values, in order of first use."""

    def __missing__(self, value: T) -> int:
        number = self[value] = len(self)
        return number


class Interner(Numbers[str]):
    """Numbers for strings."""

    def add(self, texts: Iterable[str]) -> int | None:
        """Number the texts that have no number yet. Returns the number of the first, if none of them had one, and all differ."""
        first, texts = len(self), list(texts)
        new: Collection[str] = dict.fromkeys(texts)
        if not self.keys().isdisjoint(new):
            new = [text for text in new if text not in self]
        self.update(zip(new, range(first, first + len(new)), strict=True))
        return first if len(new) == len(texts) else None
