"""Numbered records in compressed pages, which let the store keep everything once.

A record (a name, a text, a node, a graph) gets a number when it first appears. The new records of a snapshot are packed together when it
is committed, so a snapshot with few changes adds few bytes, and a reader unpacks only the pages that it uses.
"""

from __future__ import annotations

import json
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate, pairwise
from typing import Any, Generic, NamedTuple, TypeVar

from opscope.limits import decompressed

RECORDS_PER_PAGE = 8192

T = TypeVar("T")


class Page(NamedTuple):
    """A row of the table `page`."""

    kind: str
    first: int
    records: int
    data: bytes


def pack_json(value: object) -> bytes:
    return zlib.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"), 9)


def unpack_json(data: bytes, decompress: Callable[[bytes], bytes] = decompressed) -> Any:
    return json.loads(decompress(data).decode("utf-8", "surrogatepass"))


def pack_columns(columns: Iterable[list[int]]) -> bytes:
    """Pack lists of numbers of any length. Bytes of equal significance are stored together, so that zlib sees runs of zeros."""
    flat = array("i")
    lengths = []
    for column in columns:
        lengths.append(len(column))
        flat.extend(column)
    raw = flat.tobytes()
    planes = b"".join(raw[i::4] for i in range(4))
    return array("i", [len(lengths), *lengths]).tobytes() + zlib.compress(planes, 9)


def unpack_columns(data: bytes, decompress: Callable[[bytes], bytes] = decompressed) -> list[list[int]]:
    count = int.from_bytes(data[:4], "little")
    head = 4 * (count + 1)
    lengths = array("i", data[4:head])
    planes = decompress(data[head:])
    size = len(planes) // 4
    raw = bytearray(len(planes))
    for i in range(4):
        raw[i::4] = planes[i * size : (i + 1) * size]
    flat = array("i", bytes(raw)).tolist()
    ends = list(accumulate(lengths, initial=0))
    return [flat[start:end] for start, end in pairwise(ends)]


def deltas(numbers: list[int]) -> list[int]:
    """The differences between consecutive numbers; `accumulate` restores them."""
    return [b - a for a, b in pairwise([0, *numbers])]


def runs(numbers: Iterable[int]) -> list[int]:
    """Mostly consecutive numbers as [first, count, first, count, …]; each first is relative to the end of the run before."""
    encoded: list[int] = []
    end = next_free = 0
    count = 0
    for number in numbers:
        if count and number == next_free:
            count += 1
        else:
            if count:
                encoded.append(count)
                end = next_free
            encoded.append(number - end)
            count = 1
        next_free = number + 1
    if count:
        encoded.append(count)
    return encoded


def spans(encoded: list[int]) -> Iterable[tuple[int, int]]:
    """The (first, end) of each run that `runs` encoded."""
    end = 0
    for i in range(0, len(encoded), 2):
        first = end + encoded[i]
        end = first + encoded[i + 1]
        yield first, end


class PageIndex(Generic[T]):
    """Records by number, in pages that are unpacked on first use."""

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

    def spans(self, encoded: list[int]) -> list[tuple[int, int]]:
        """The (first, end) of each run. A record occurs only once in a graph or program, so there cannot be more than in all pages."""
        decoded = list(spans(encoded))
        if sum(end - first for first, end in decoded) > (self.firsts[-1] + RECORDS_PER_PAGE if self.firsts else 0):
            raise ValueError("it refers to more records than there are")
        return decoded

    def slice(self, first: int, end: int) -> list[T]:
        """Records first … end - 1."""
        at = bisect_right(self.firsts, first) - 1
        records: list[T] = []
        while first < end:
            page, start = self.page(at), self.firsts[at]
            part = page[first - start : end - start]
            records += part
            first += len(part)
            at += 1
        return records
