"""What each pass did, kept in the recording file: comparing takes longer than reading, so it is done once.

Whoever compares first writes it down beside the snapshots. A file that cannot be written to, that is still being recorded into,
or whose last transaction was cut off, is left as it is, and compared again the next time.
"""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from opscope.errors import SourceError
from opscope.recording.store.database import COMPARED, open_to_read, open_to_write
from opscope.recording.store.values import from_json, to_json

MATCHING = 4
"""Counted up when matching finds something else than before, or diffs have another form: what older code kept is not believed."""


class Comparison(NamedTuple):
    """One pass against the state before it: the counts of its row, and the diff as pages read it (nothing where it repeats)."""

    added: int
    removed: int
    changed: int
    aside: str
    diff: bytes


def _written_by(diff_format: int) -> int:
    """Who wrote a comparison down: how it was matched, and the format of the diff. Others read neither."""
    return MATCHING << 16 | diff_format


def kept(path: Path, diff_format: int) -> dict[int, Comparison]:
    """What is known of the passes of a recording file, by their numbers. `diff_format` is the format of diffs that the caller reads."""
    try:
        with closing(open_to_read(path, timeout=5)) as connection:
            rows = connection.execute(
                "SELECT snapshot, counts, diff FROM compared WHERE matching = ?", (_written_by(diff_format),)
            ).fetchall()
        return {index: _comparison(zlib.decompress(diff), *from_json(counts)) for index, counts, diff in rows}
    except (SourceError, sqlite3.DatabaseError, zlib.error, ValueError, TypeError):
        return {}


def _comparison(diff: bytes, added: int, removed: int, changed: int, aside: str) -> Comparison:
    return Comparison(int(added), int(removed), int(changed), str(aside), diff)


class Keeper:
    """Writes comparisons into a recording file, as long as that works."""

    def __init__(self, path: Path, diff_format: int) -> None:
        self._written_by = _written_by(diff_format)
        self._connection: sqlite3.Connection | None = None
        with suppress(SourceError, sqlite3.DatabaseError):
            self._connection = open_to_write(path, timeout=5)
        self._write(COMPARED)

    def keep(self, index: int, found: Comparison) -> None:
        row = (index, self._written_by, to_json(list(found[:4])), zlib.compress(found.diff, 6))
        self._write("INSERT OR REPLACE INTO compared VALUES (?, ?, ?, ?)", row)

    def _write(self, statement: str, values: tuple[object, ...] = ()) -> None:
        if self._connection is not None:
            try:
                with self._connection:
                    self._connection.execute(statement, values)
            except sqlite3.OperationalError:
                self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
