"""SQLite acts on the journal next to a recording: a stranger's must do no harm, and a killed writer's must not lose a snapshot."""

from __future__ import annotations

import gc
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run
from test_store import chain

import opscope
from opscope.errors import SourceError
from opscope.recording.sources import open_recording
from opscope.recording.store.comparison_cache import ComparisonWriter, read_comparisons
from opscope.recording.store.database import journal_of
from opscope.recording.store.store import StoreWriter, save_recording
from opscope.render.wire.compare_passes import compared
from opscope.render.wire.diff import FORMAT

MAGIC = bytes.fromhex("d9d505f920a163d7")
SNAPSHOTS = 3


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory for private copies in this test."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def record(path: Path) -> Path:
    writer = StoreWriter(path)
    for i in range(SNAPSHOTS):
        writer.add(chain(50, changed=i), f"pass {i}")
    writer.close()
    return path


def write_journal(recording: Path, super_journal: Path) -> None:
    """A journal that claims a transaction over several databases. The last database to roll back deletes the super-journal."""
    database = recording.read_bytes()
    size = int.from_bytes(database[16:18], "big")
    nonce = 0x1234
    header = MAGIC + struct.pack(">IIIII", 1, nonce, len(database) // size, 512, size)
    page = database[:size]
    checksum = nonce + sum(page[i] for i in range(size - 200, 0, -200))
    name = os.fsencode(super_journal)
    trailer = struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC
    journal_of(recording).write_bytes(header.ljust(512, b"\0") + struct.pack(">I", 1) + page + struct.pack(">I", checksum) + trailer)


class Attack:
    def __init__(self, directory: Path) -> None:
        self.recording = record(directory / "run.opscope")
        self.document = directory / "document.txt"
        self.document.write_text("important")
        write_journal(self.recording, self.document)


@pytest.fixture
def attack(tmp_path: Path) -> Attack:
    return Attack(tmp_path)


def test_sqlite_itself_falls_for_the_attack(attack: Attack) -> None:
    """Otherwise the tests below would protect nothing."""
    with sqlite3.connect(attack.recording) as connection:
        connection.execute("SELECT * FROM meta").fetchall()
    connection.close()
    assert not attack.document.exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["info", "passes", "export"])
def test_reading_a_recording_deletes_nothing(attack: Attack, run: Run, command: str) -> None:
    done = run(command, attack.recording, *(["-o", "copy.opscope"] if command == "export" else []))
    assert attack.document.read_text() == "important"
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert "run.opscope-journal names a super-journal" in done.stderr
    journal_of(attack.recording).unlink()
    assert len(open_recording(attack.recording)) == SNAPSHOTS, "the advice in the message works"


def test_a_link_to_a_recording_is_refused_too(attack: Attack, tmp_path: Path) -> None:
    link = tmp_path / "link.opscope"
    link.symlink_to(attack.recording)
    with pytest.raises(SourceError, match=r"link\.opscope: run\.opscope-journal names a super-journal"):
        open_recording(link)
    assert attack.document.exists()


def overwrite_with_record(path: Path) -> None:
    with opscope.record(path, overwrite=True) as recorder:
        recorder.snapshot(chain(5), "new")


def overwrite_with_save(path: Path) -> None:
    writer = StoreWriter()
    writer.add(chain(5), "new")
    save_recording(writer.recording(), path, overwrite=True)


@pytest.mark.parametrize("overwrite", [overwrite_with_record, overwrite_with_save])
def test_recording_over_another_deletes_only_that(attack: Attack, overwrite: Callable[[Path], None]) -> None:
    overwrite(attack.recording)
    assert attack.document.read_text() == "important"
    assert [snapshot.name for snapshot in open_recording(attack.recording)] == ["new"]


@pytest.mark.slow
def test_export_over_a_recording_deletes_only_that(attack: Attack, run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = record(tmp_path / "other" / "run.opscope")
    assert run("export", other, "-o", attack.recording, "--force").returncode == 0
    assert attack.document.read_text() == "important"
    assert len(open_recording(attack.recording)) == SNAPSHOTS


def test_comparisons_are_not_written_past_a_journal(attack: Attack) -> None:
    before = attack.recording.read_bytes()
    assert read_comparisons(attack.recording, FORMAT) == {}
    ComparisonWriter(attack.recording, FORMAT).close()
    assert attack.document.exists() and attack.recording.read_bytes() == before


class Writer:
    """A process that records, finishes, and then waits in the middle of another transaction until it is killed."""

    SCRIPT = """
import sqlite3, sys
from pathlib import Path
from test_journals import record
path, pages_in_memory = sys.argv[1:]
record(Path(path))
print("recorded", flush=True)
sys.stdin.readline()
connection = sqlite3.connect(path)
connection.execute("PRAGMA cache_size = " + pages_in_memory)
connection.execute("BEGIN IMMEDIATE")
connection.execute("DELETE FROM snapshot")
connection.execute("UPDATE page SET data = zeroblob(20000)")
print("writing", flush=True)
sys.stdin.readline()
"""

    def __init__(self, path: Path, pages_in_memory: int) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", self.SCRIPT, str(path), str(pages_in_memory)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self._expect("recorded")

    def _expect(self, line: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == line + "\n"

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self._expect("writing")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def assert_whole(recording: opscope.Recording) -> None:
    assert [snapshot.program for snapshot in recording] == [chain(50, changed=i) for i in range(SNAPSHOTS)]


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A recording whose writer was killed with half a transaction on disk."""
    path = tmp_path / "cut.opscope"
    writer = Writer(path, pages_in_memory=2)
    whole = path.read_bytes()
    writer.begin()
    writer.kill()
    assert journal_of(path).exists() and path.read_bytes() != whole
    return path


@pytest.mark.slow
def test_the_recording_of_a_killed_writer_is_recovered_in_a_copy(cut: Path, temporary: Path) -> None:
    """Every finished snapshot is there, the files do not change, and the private copy is deleted with the recording."""
    before = {path: path.read_bytes() for path in (cut, journal_of(cut))}
    recording = open_recording(cut)
    assert_whole(recording)
    assert recording.name == str(cut)
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(temporary.iterdir())) == 1
    del recording
    gc.collect()
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_a_recovered_recording_can_be_compared_and_saved_over_itself(cut: Path, tmp_path: Path) -> None:
    recording = open_recording(cut)
    assert list(compared(recording)) == list(compared(open_recording(record(tmp_path / "whole.opscope"))))
    save_recording(recording, cut, overwrite=True)
    assert not journal_of(cut).exists()
    assert_whole(open_recording(cut))
    assert read_comparisons(cut, FORMAT) != {}, "earlier comparisons are saved too"


@pytest.mark.slow
def test_a_failing_copy_is_reported_in_one_line(cut: Path, temporary: Path) -> None:
    temporary.rmdir()
    with pytest.raises(SourceError, match=r"cut\.opscope: .*No such file or directory.*TMPDIR"):
        open_recording(cut)


@pytest.mark.slow
def test_a_recording_can_be_read_while_it_is_written(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "live.opscope"
    writer = Writer(path, pages_in_memory=100_000)
    writer.begin()
    assert journal_of(path).exists()
    recording = open_recording(path)
    assert_whole(recording)
    assert list(temporary.iterdir()) == [], "nothing had to be recovered"
    writer.kill()
    assert_whole(open_recording(path))


@pytest.mark.slow
def test_a_writer_may_be_killed_while_its_recording_is_open(tmp_path: Path) -> None:
    path = tmp_path / "live.opscope"
    writer = Writer(path, pages_in_memory=2)
    recording = open_recording(path)
    writer.begin()
    writer.kill()
    assert_whole(recording)


@pytest.mark.parametrize(
    ("statements", "complaint"),
    [
        ("CREATE TABLE rest (x)", "table 'rest' that opscope did not write"),
        ("CREATE TRIGGER t AFTER INSERT ON compared BEGIN DELETE FROM snapshot; END", "trigger 't' that opscope did not write"),
        (
            "DROP TABLE meta; CREATE VIEW meta AS"
            " WITH RECURSIVE n(key) AS (SELECT 1 UNION ALL SELECT key FROM n) SELECT key, 1 AS value FROM n",
            "view 'meta' that opscope did not write",
        ),
        ("PRAGMA journal_mode = WAL", "write-ahead log"),
    ],
)
def test_only_the_schema_of_opscope_is_opened(tmp_path: Path, statements: str, complaint: str) -> None:
    """Views and triggers run a stranger's queries, which may never end."""
    path = record(tmp_path / "run.opscope")
    list(compared(open_recording(path)))
    connection = sqlite3.connect(path)
    connection.executescript(statements)
    connection.close()
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(SourceError, match=f"is a damaged recording .*{complaint}"):
        open_recording(path)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """SQLite repeats it in its error, which Python cannot decode."""
    path = record(tmp_path / "run.opscope")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"tablesnapshotsnapshot", b"table\x81napshotsnapshot"))
    assert path.read_bytes() != whole
    with pytest.raises(SourceError, match=r"run\.opscope: is a damaged recording \(a name in it is not UTF-8\)"):
        open_recording(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_journal_that_is_a_pipe_is_refused(tmp_path: Path) -> None:
    """SQLite would wait forever for somebody to write into it."""
    path = record(tmp_path / "run.opscope")
    os.mkfifo(journal_of(path))
    with pytest.raises(SourceError, match=r"run\.opscope-journal is not a file"):
        open_recording(path)
