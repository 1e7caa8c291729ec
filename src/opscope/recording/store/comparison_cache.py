"""What each pass changed, cached in the recording file, because comparing takes longer than reading.

Whoever compares first stores the result next to the snapshots. A file that is read-only, still being recorded, or has an interrupted
transaction is left alone, and compared again the next time.
"""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from opscope.errors import SourceError
from opscope.limits import decompressed
from opscope.recording.store.database import COMPARED, open_to_read, open_to_write
from opscope.recording.store.values import from_json, to_json

MATCHING = 11
"""Increment when matching changes its results, or diffs their form: results of other versions are ignored."""


class Comparison(NamedTuple):
    """One pass compared with the snapshot before it: the counts of its row, and its diff for the viewer (empty if nothing changed)."""

    added: int
    removed: int
    changed: int
    merged: int
    copied: int
    aside: str
    diff: bytes

    @property
    def counts(self) -> tuple[int, int, int, int, int, str]:
        return self[:6]


def _version(diff_format: int) -> int:
    """The version of a comparison: that of the matching and that of the diff's format."""
    return MATCHING << 16 | diff_format


def read_comparisons(path: Path, diff_format: int) -> dict[int, Comparison]:
    """The comparisons cached in a recording file, by pass index. `diff_format` is the format of diffs that the caller reads."""
    try:
        with closing(open_to_read(path, timeout=5)) as connection:
            rows = connection.rows("SELECT snapshot, counts, diff FROM compared WHERE matching = ?", _version(diff_format))
        return {index: _comparison(decompressed(diff), *from_json(counts)) for index, counts, diff in rows}
    except (SourceError, sqlite3.DatabaseError, zlib.error, ValueError, TypeError):
        return {}


def _comparison(diff: bytes, added: int, removed: int, changed: int, merged: int, copied: int, aside: str) -> Comparison:
    return Comparison(int(added), int(removed), int(changed), int(merged), int(copied), str(aside), diff)


class ComparisonWriter:
    """Caches comparisons in a recording file, for as long as writing succeeds."""

    def __init__(self, path: Path, diff_format: int) -> None:
        self._version = _version(diff_format)
        self._connection: sqlite3.Connection | None = None
        with suppress(SourceError, sqlite3.DatabaseError):
            self._connection = open_to_write(path, timeout=5)
        self._execute(COMPARED)

    def write(self, index: int, comparison: Comparison) -> None:
        row = (index, self._version, to_json(list(comparison.counts)), zlib.compress(comparison.diff, 6))
        self._execute("INSERT OR REPLACE INTO compared VALUES (?, ?, ?, ?)", row)

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> None:
        if self._connection is not None:
            try:
                with self._connection:
                    self._connection.execute(statement, values)
            except sqlite3.DatabaseError:  # the disk is full, or the file is damaged
                self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
