"""Opens recordings that may come from a stranger.

SQLite trusts the journal next to a database: it rolls the journal back into the database, and deletes whatever file the journal names
as its "super-journal". So existing files are opened read-only, where SQLite refuses to roll back, and the journal of a killed writer is
rolled back in a private copy. opscope never writes a super-journal; a journal that names one is refused.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import weakref
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from opscope.errors import SourceError
from opscope.naming import suggest_file
from opscope.recording.store.codec import DAMAGED
from opscope.temporary import temporary_directory

APPLICATION_ID = 0x6F707363
FORMAT_VERSION = 1
SCHEMA = f"""
PRAGMA page_size = 1024;
BEGIN;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE page (kind TEXT, first INTEGER, count INTEGER, data BLOB, PRIMARY KEY (kind, first));
CREATE TABLE program (id INTEGER PRIMARY KEY, digest BLOB UNIQUE, nodes INTEGER, data BLOB);
CREATE TABLE snapshot (id INTEGER PRIMARY KEY, module TEXT, pipeline TEXT, name TEXT, seconds REAL, program INTEGER,
                       origins BLOB, attrs TEXT);
COMMIT;
"""
COMPARED = "CREATE TABLE IF NOT EXISTS compared (snapshot INTEGER PRIMARY KEY, matching INTEGER, counts TEXT, diff BLOB)"
"""What each pass changed. The table is added when the passes are first compared."""

Connection = TypeVar("Connection", bound=sqlite3.Connection)

_STEPS, _STEPS_PER_BYTE, _STEPS_PER_CALL = 10_000_000, 4, 1000
"""Reading a row takes some 20 steps of SQLite's machine, and a row has at least as many bytes."""
_LAYOUT = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_SQLITE_MAGIC = b"SQLite format 3\x00"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_ROLLBACK_JOURNAL = b"\x01\x01"
"""Bytes 18 and 19 of a database with a rollback journal; a database with a write-ahead log has others."""


def journal_of(path: Path) -> Path:
    return path.with_name(path.name + "-journal")


def is_recording(head: bytes) -> bool:
    """Whether these are the first bytes of a recording."""
    return head.startswith(_SQLITE_MAGIC) and head[68:72] == APPLICATION_ID.to_bytes(4, "big")


class RecordingFile:
    """Queries a recording file, whether its writer has finished, is still running, or was killed."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        """The file itself, or the private copy in which its journal was rolled back."""
        self._lock = threading.Lock()
        _check(self.path)
        try:
            self._connection = open_to_read(self.path)
        except sqlite3.OperationalError as error:
            if not _asks_for_rollback(error):
                raise
            self._recover()

    def rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            try:
                return self._connection.rows(query, *values)
            except sqlite3.OperationalError as error:
                if not _asks_for_rollback(error):
                    raise
            self._recover()  # the writer was killed after we opened the file
            return self._connection.rows(query, *values)

    def _recover(self) -> None:
        try:
            directory = temporary_directory("opscope-recovery-")
            weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
            copy = directory / "recording.opscope"
            _copy_with_journal(self.path, copy)
        except OSError as error:
            help = "set TMPDIR to a directory with enough space"
            raise SourceError(f"its writer was killed, and copying it for recovery failed ({error.strerror}); {help}") from None
        if _names_super_journal(journal_of(copy)):
            name = journal_of(self.path).name
            help = f"move {name} away to read the recording without it"
            raise SourceError(f"{name} names a super-journal, which opscope never writes; {help}")
        with closing(_guarded(sqlite3.connect(copy))) as connection:
            connection.execute("PRAGMA user_version").fetchone()  # the first read rolls back
        _check(copy)
        self._connection = open_to_read(copy)
        weakref.finalize(self, self._connection.close)  # runs before the directory is removed, which Windows refuses while files are open
        self.path = copy


class _Patience:
    """Ends a query that takes more steps than a file of its size can need: a damaged tree of pages can be endless."""

    def __init__(self, size: int) -> None:
        self.most = self.left = (_STEPS + _STEPS_PER_BYTE * size) // _STEPS_PER_CALL

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


class ReadOnly(sqlite3.Connection):
    """A connection that can only read, for a limited time."""

    def guard(self, size: int) -> None:
        self._patience = _Patience(size)
        self.set_progress_handler(self._patience, _STEPS_PER_CALL)
        self.set_authorizer(_only_reading)

    def rows(self, query: str, *values: Any) -> list[Any]:
        self._patience.left = self._patience.most
        try:
            return self.execute(query, values).fetchall()
        except UnicodeDecodeError:
            raise _not_text() from None


def _not_text() -> SourceError:
    """SQLite repeats damaged names in its errors, and Python cannot decode these."""
    return SourceError(f"{DAMAGED} (a name in it is not UTF-8)")


def _only_reading(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) else sqlite3.SQLITE_DENY


def open_to_read(path: Path, timeout: float = 30) -> ReadOnly:
    """A read-only connection to a database that has exactly opscope's schema."""
    uri = f"{path.resolve().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, check_same_thread=False, factory=ReadOnly)
    try:
        _guarded(connection).guard(path.stat().st_size)
        for row in connection.execute(_LAYOUT):
            if row not in _expected_layout():
                raise SourceError(f"{DAMAGED} (it has a {row[0]} {row[1]!r} that opscope did not write)")
    except UnicodeDecodeError:
        connection.close()
        raise _not_text() from None
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_write(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection that can add rows to a recording. Fails if the journal would have to be rolled back first."""
    open_to_read(path, timeout).close()
    return _guarded(sqlite3.connect(path, timeout=timeout))


def _guarded(connection: Connection) -> Connection:
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


@cache
def _expected_layout() -> frozenset[tuple[Any, ...]]:
    """Every table and index of a recording, as SQLite lists them. Views and triggers would run a stranger's SQL."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA + COMPARED)
        return frozenset(connection.execute(_LAYOUT))


def _asks_for_rollback(error: sqlite3.OperationalError) -> bool:
    return getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY_ROLLBACK"  # Python's own errors (text that is not UTF-8) have no name


def _copy_with_journal(path: Path, copy: Path) -> None:
    """The journal is copied first: if another process rolls it back in the meantime, the copy still has every page that changes."""
    shutil.copyfile(journal_of(path), journal_of(copy))
    shutil.copyfile(path, copy)


def _names_super_journal(journal: Path) -> bool:
    """Whether it ends like the journal of a transaction over several databases."""
    with journal.open("rb") as stream:
        stream.seek(-min(len(_JOURNAL_MAGIC), journal.stat().st_size), os.SEEK_END)
        return stream.read() == _JOURNAL_MAGIC


def _check(path: Path) -> None:
    """Refuse foreign, truncated and too new files with a clear error, before SQLite does."""
    if path.is_dir() or not path.exists():
        raise SourceError(f"no such file{suggest_file(path)}")
    with path.open("rb") as stream:
        head = stream.read(100)
    if not head.startswith(_SQLITE_MAGIC):
        help = "expected a file written by opscope.record, or a directory of compiler dumps"
        raise SourceError(f"is not an opscope recording; {help}" if head else "is empty: nothing was recorded yet; record it again")
    if not is_recording(head):
        raise SourceError("is an SQLite file of another program, not an opscope recording; expected a file written by opscope.record")
    version = int.from_bytes(head[60:64], "big")
    if version > FORMAT_VERSION:
        raise SourceError(f"is a recording in format {version}; this opscope reads up to {FORMAT_VERSION}: pip install -U opscope")
    if head[18:20] != _ROLLBACK_JOURNAL:
        raise SourceError(f"{DAMAGED} (it has a write-ahead log, which opscope does not use)")
    journal = journal_of(path)
    if journal.exists() and not journal.is_file():
        raise SourceError(f"{DAMAGED} ({journal.name} is not a file)")
    page_size = int.from_bytes(head[16:18], "big")
    expected = (65536 if page_size == 1 else page_size) * int.from_bytes(head[28:32], "big")
    if path.stat().st_size < expected and not journal.exists():
        raise SourceError(f"is truncated: {path.stat().st_size:,} of {expected:,} bytes; copy it again")
