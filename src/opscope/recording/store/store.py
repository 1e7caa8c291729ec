"""The recording file: SQLite, one transaction per snapshot.

A compiler that crashes or is killed loses only the pass that was running: committed snapshots are complete, and `database` rolls the
rest back in a private copy when the file is next opened. Opening a snapshot reads only the pages that it uses.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from opscope.errors import OpscopeError, SourceError, blamed_on_source
from opscope.program import EMPTY, Frame, NodeKey, Program, line_number
from opscope.program import Path as Scope
from opscope.recording.model import MEANINGS_OF_IDS, Origin, Recording, Snapshot
from opscope.recording.store.codec import DAMAGED, KINDS, Decoder, Encoder
from opscope.recording.store.database import SCHEMA, RecordingFile
from opscope.recording.store.pages import pack_json, unpack_json
from opscope.recording.store.program_blob import Packed, absorb
from opscope.recording.store.values import from_json, to_json
from opscope.whole_file import check_target, refuse_to_replace, remove_journals

_SET = "INSERT OR REPLACE INTO meta VALUES (?, ?)"


class StoreError(OpscopeError):
    """A recording that cannot be written, usually because the disk is full. What was committed before stays."""

    is_full = False


class StoreWriter:
    """Adds snapshots to a new recording. Without a path, the recording is in memory.

    If writing fails, the recording is as it was before, and the next write may succeed. A `patient` writer may even begin on a full disk.
    """

    def __init__(
        self, path: str | Path | None = None, *, overwrite: bool = False, patient: bool = False, attrs: Mapping[str, Any] = EMPTY
    ) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            _clear(self.path, overwrite)
        self._encoder = Encoder()
        self._lock = threading.Lock()
        self._count = 0
        self._has_begun = False
        try:
            with self._reporting():
                self._connection = sqlite3.connect(":memory:" if self.path is None else self.path, timeout=30, check_same_thread=False)
                self._begin()
            self.set(**attrs)
        except StoreError as error:
            if not (patient and error.is_full):
                raise

    def _begin(self) -> None:
        """Make the tables, once there is room for them."""
        if not self._has_begun:
            try:
                self._connection.executescript(SCHEMA)
            except BaseException:
                self._connection.rollback()
                raise
            self._has_begun = True

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:  # the caller's fault, such as a snapshot after the end
            raise
        except (sqlite3.DatabaseError, OSError) as error:
            failure = StoreError(f"{self.path}: cannot be written: {error}")
            failure.is_full = getattr(error, "sqlite_errorname", "") == "SQLITE_FULL" or getattr(error, "errno", 0) == errno.ENOSPC
            raise failure from None

    def set(self, **attrs: Any) -> None:
        """Set attributes of the whole recording, such as the compiler and the files that were skipped."""
        with self._lock, self._reporting():
            self._begin()
            with self._connection:
                self._connection.executemany(_SET, _attr_rows(attrs))

    def add(
        self,
        program: Program | Packed | int,
        name: str,
        *,
        pipeline: Scope = (),
        module: str = "",
        seconds: float | None = None,
        origins: Iterable[Origin] = (),
        attrs: Mapping[str, Any] = EMPTY,
    ) -> int:
        """Commit one snapshot and return its index. If that fails, nothing of it is stored, and no index is used up."""
        packed_origins = [[o.old, o.new, o.evidence, o.rule, list(o.where) if o.where else None] for o in origins]
        with self._lock:
            index = self._count
            try:
                with self._reporting():
                    self._begin()
                with self._reporting(), self._connection:
                    row = (index, _storable(module), json.dumps(pipeline), _storable(name), seconds, self._content(program))
                    self._connection.execute(
                        "INSERT INTO snapshot VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (*row, pack_json(packed_origins) if packed_origins else None, _storable(to_json(attrs)) if attrs else None),
                    )
            except BaseException:
                self._encoder.forget()
                raise
            self._encoder.keep()
            self._count += 1
            return index

    def _content(self, program: Program | Packed | int) -> int:
        """The number of a program's content, which is stored if it is new. A number refers to content that is already stored."""
        if isinstance(program, int):
            return program
        body = absorb(self._encoder, program) if isinstance(program, Packed) else self._encoder.program(program)
        nodes = program.nodes if isinstance(program, Packed) else program.node_count
        digest = hashlib.blake2b(body, digest_size=16).digest()
        run = self._connection.execute
        row = run("SELECT id FROM program WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            self._connection.executemany("INSERT INTO page VALUES (?, ?, ?, ?)", self._encoder.new_pages())
            row = (run("INSERT INTO program VALUES (NULL, ?, ?, ?)", (digest, nodes, body)).lastrowid,)
        return int(row[0])

    def content_of(self, index: int) -> int:
        """The number of a snapshot's content, to add the same content again."""
        with self._lock, self._reporting():
            row = self._connection.execute("SELECT program FROM snapshot WHERE id = ?", (index,)).fetchone()
            if row is None:
                raise StoreError(f"{self.path}: cannot be written: what was written is not there any more")
            return int(row[0])

    def close(self, finished: bool = True) -> None:
        try:
            if finished:
                self.set(finished=True)
        finally:
            if self.path is not None:
                self._connection.close()

    def finished(self, source: str, skipped: list[str]) -> Recording:
        """Finish the recording of a source, and return it under the source's name, with the parts that could not be read."""
        self.set(skipped=skipped)
        self.close()
        recording = self.recording()
        recording.name = source
        return recording

    def recording(self) -> Recording:
        """The recording, to read. A recording in memory lives as long as the result does."""
        if self.path is not None:
            return open_store(self.path)
        return _read(self._rows, "recording")

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()


def _storable(text: str) -> str:
    """A text that SQLite takes: half of a surrogate pair, as in a file name that is not UTF-8, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def open_store(path: str | Path, name: str | None = None) -> Recording:
    """Open a recording file, which is checked before any of it is used."""
    name = name or str(path)
    with _errors_of(name):
        file = RecordingFile(Path(path))
    return _read(file.rows, name, file.path)


def save_recording(recording: Recording, path: str | Path, *, overwrite: bool = False, attrs: Mapping[str, Any] = EMPTY) -> None:
    """Write any recording to a file: one from a directory of dumps, one in memory, or a copy of another file, with further `attrs`."""
    if recording.file is not None and "finished" in recording.attrs:
        if not (Path(path).exists() and recording.file.samefile(path) and overwrite):
            _clear(Path(path), overwrite)
            shutil.copyfile(recording.file, path)
            if attrs:
                _add_attrs(Path(path), attrs)
        return
    writer = StoreWriter(path, overwrite=overwrite, attrs={**recording.attrs, **attrs})
    for s in recording:
        common: dict[str, Any] = {"pipeline": s.pipeline, "module": s.module, "seconds": s.seconds, "attrs": s.attrs}
        writer.add(s.program, s.name, origins=s.origins, **common)
    writer.close()


def _add_attrs(path: Path, attrs: Mapping[str, Any]) -> None:
    """Set attributes of a recording that is complete."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(_SET, _attr_rows(attrs))


def _attr_rows(attrs: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(key, _storable(to_json(value))) for key, value in attrs.items()]


def _read(ask: Callable[..., list[Any]], name: str, file: Path | None = None) -> Recording:
    """The recording whose rows `ask(query, *values)` returns."""

    def rows(query: str, *values: Any) -> list[Any]:
        with _errors_of(name):
            return ask(query, *values)

    def page(kind: str, first: int) -> Any:
        return _only(rows("SELECT data FROM page WHERE kind = ? AND first = ?", kind, first), name)

    decoder = Decoder(page, name, None if file is None else file.stat().st_size)
    for kind in KINDS:
        firsts = rows("SELECT first FROM page WHERE kind = ? ORDER BY first", kind)
        decoder.indexes[kind].firsts = [first for (first,) in firsts]

    def program(content: int) -> Program:
        return decoder.program(_only(rows("SELECT data FROM program WHERE id = ?", content), name))

    def origins(index: int) -> tuple[Origin, ...]:
        data = _only(rows("SELECT origins FROM snapshot WHERE id = ?", index), name)
        with blamed_on_source(DAMAGED, source=name):
            return tuple(_origin(*fields) for fields in unpack_json(data)) if data else ()

    snapshot_rows = rows(
        "SELECT s.id, s.module, s.pipeline, s.name, s.seconds, s.attrs, p.id, p.nodes FROM snapshot s JOIN program p"
        " ON s.program = p.id ORDER BY s.id"
    )
    with blamed_on_source(DAMAGED, source=name):
        snapshots = [
            Snapshot(
                index,
                str(title),
                tuple(map(str, json.loads(pipeline))),
                str(module),
                None if seconds is None else float(seconds),
                int(nodes),
                content,
                dict(from_json(attrs or "{}")),
                program,
                origins,
            )
            for index, module, pipeline, title, seconds, attrs, content, nodes in snapshot_rows
        ]
        if [snapshot.index for snapshot in snapshots] != list(range(len(rows("SELECT id FROM snapshot")))):
            raise SourceError(f"{DAMAGED} (a snapshot is missing)")
        attrs = {str(key): from_json(value) for key, value in rows("SELECT key, value FROM meta")}
        for key in {"remarks", "skipped"} & attrs.keys():
            attrs[key] = [str(sentence) for sentence in attrs[key]]
        if attrs.get("ids") not in (None, *MEANINGS_OF_IDS):
            raise SourceError(f"{DAMAGED} (what its ids mean is unknown)")
        return Recording(name, snapshots, attrs, file)


@contextmanager
def _errors_of(name: str) -> Iterator[None]:
    """Report SQLite's errors as one line about the recording."""
    try:
        yield
    except SourceError as error:
        raise error.at(name) from None
    except sqlite3.DatabaseError as error:
        raise SourceError(f"{DAMAGED} ({' '.join(str(error).split())})", name) from None


def _origin(old: Any, new: Any, evidence: str, rule: str, where: Any) -> Origin:
    frame = None
    if where:
        file, line, function = where
        frame = Frame(str(file), line_number(str(line)), str(function))
    return Origin(_keys(old), _keys(new), str(evidence), str(rule), frame)


def _keys(keys: Any) -> tuple[NodeKey, ...]:
    return tuple((str(graph), str(id)) for graph, id in keys)


def _only(rows: list[Any], name: str) -> Any:
    if not rows:
        raise SourceError(f"{DAMAGED} (a page is missing)", name)
    return rows[0][0]


def check_recordable(path: Path, overwrite: bool) -> None:
    """Refuse a path where no recording can be written, or only in place of a file that is there."""
    check_target(path)
    if not overwrite:
        refuse_to_replace(path, "opscope", ())
    if path.exists() and not path.is_file():
        raise OpscopeError(f"{path}: is not a regular file; name one to record into")


def _clear(path: Path, overwrite: bool) -> None:
    """Delete an existing recording. The new one is written in place, so that a compiler that crashes leaves its snapshots."""
    check_recordable(path, overwrite)
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    path.unlink(missing_ok=True)
    remove_journals(path)
    if mode is not None:
        with suppress(OSError):  # what only its owner could read stays so
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            path.chmod(mode)
