"""Numbered records in compressed pages: how the store keeps everything once.

A record (a name, a text, a node, a graph) gets a number when it is first seen. New records are packed together when a snapshot is
committed, so a snapshot that brings little adds little, and a reader unpacks only the pages that it touches.
"""

from __future__ import annotations

import json
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import Any, Generic, NamedTuple, TypeVar

RECORDS_PER_PAGE = 8192

T = TypeVar("T")


class Page(NamedTuple):
    """A row of the store's table of pages."""

    kind: str
    first: int
    records: int
    data: bytes


def pack_json(value: object) -> bytes:
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"), 9)


def unpack_json(data: bytes) -> Any:
    return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))


def pack_columns(columns: Iterable[list[int]]) -> bytes:
    """Lists of numbers of any length each. Bytes of equal weight are put together, which is what lets zlib see the zeros."""
    flat = array("i")
    lengths = []
    for column in columns:
        lengths.append(len(column))
        flat.extend(column)
    raw = flat.tobytes()
    planes = b"".join(raw[i::4] for i in range(4))
    return array("i", [len(lengths), *lengths]).tobytes() + zlib.compress(planes, 9)


def unpack_columns(data: bytes) -> list[list[int]]:
    count = int.from_bytes(data[:4], "little")
    head = 4 * (count + 1)
    lengths = array("i", data[4:head])
    planes = zlib.decompress(data[head:])
    size = len(planes) // 4
    raw = bytearray(len(planes))
    for i in range(4):
        raw[i::4] = planes[i * size : (i + 1) * size]
    flat = array("i", bytes(raw)).tolist()
    ends = list(accumulate(lengths, initial=0))
    return [flat[start:end] for start, end in pairwise(ends)]


def deltas(numbers: list[int]) -> list[int]:
    """Each number less the one before; undone by `accumulate`."""
    return [b - a for a, b in pairwise([0, *numbers])]


def runs(numbers: Iterable[int]) -> list[int]:
    """[first, count, first, count, …] of numbers that mostly follow each other; a first counts from the end of the run before."""
    found: list[int] = []
    end = next_free = 0
    count = 0
    for number in numbers:
        if count and number == next_free:
            count += 1
        else:
            if count:
                found.append(count)
                end = next_free
            found.append(number - end)
            count = 1
        next_free = number + 1
    if count:
        found.append(count)
    return found


def spans(found: list[int]) -> Iterable[tuple[int, int]]:
    """(first, end) of each run."""
    end = 0
    for i in range(0, len(found), 2):
        first = end + found[i]
        end = first + found[i + 1]
        yield first, end


class PageIndex(Generic[T]):
    """Records by number, over pages that are unpacked when first touched."""

    def __init__(self, fetch: Callable[[int], bytes], unpack: Callable[[bytes], list[T]]) -> None:
        self._fetch = fetch
        self._unpack = unpack
        self.firsts: list[int] = []
        self._unpacked: dict[int, list[T]] = {}

    def page(self, at: int) -> list[T]:
        page = self._unpacked.get(at)
        if page is None:
            page = self._unpacked[at] = self._unpack(self._fetch(self.firsts[at]))
        return page

    def __getitem__(self, number: int) -> T:
        at = bisect_right(self.firsts, number) - 1
        return self.page(at)[number - self.firsts[at]]

    def slice(self, first: int, end: int) -> list[T]:
        """Records first … end - 1."""
        at = bisect_right(self.firsts, first) - 1
        found: list[T] = []
        while first < end:
            page, start = self.page(at), self.firsts[at]
            part = page[first - start : end - start]
            found += part
            first += len(part)
            at += 1
        return found
