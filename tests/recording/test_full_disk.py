"""A full disk: nothing that was written is lost, the program that is recorded never sees an error, and recording resumes."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import opscope
from opscope import OpscopeError
from opscope.cli.prompt.session import _free_path
from opscope.recording.dumps import cache
from opscope.recording.store.store import StoreError, StoreWriter, open_store, save_recording
from opscope.temporary import temporary_directory
from opscope.whole_file import whole_file


def program(number: int, nodes: int = 40) -> opscope.Program:
    """A program that shares nearly nothing with those of other numbers."""
    builder = opscope.ProgramBuilder("p")
    graph = builder.graph("main")
    for i in range(nodes):
        inputs = [(f"n{number}.{i - 1}", 0)] if i else []
        attrs = {"text": f"{number * 7919 + i * 104729:x}" * 4}
        graph.node(f"n{number}.{i}", f"op{number}", inputs, [opscope.TensorType("f32", (number + 1, i))], attrs=attrs, calls=[])
    return builder.build()


def room(writer: StoreWriter, pages: int | None) -> None:
    """Leave room for so many more pages of SQLite; None means plenty."""
    used = writer._connection.execute("PRAGMA page_count").fetchone()[0]
    writer._connection.execute(f"PRAGMA max_page_count = {used + pages if pages is not None else 1_000_000}")


@pytest.mark.parametrize("pages", range(0, 12, 3))
@pytest.mark.parametrize("first", [0, 2])
def test_a_failed_write_leaves_no_gap_and_the_next_one_succeeds(tmp_path: Path, pages: int, first: int) -> None:
    path = tmp_path / "run.opscope"
    writer = StoreWriter(path)
    for number in range(first):
        writer.add(program(number), f"p{number}")
    room(writer, pages)
    with pytest.raises(StoreError, match=r"run\.opscope: cannot be written: database or disk is full"):
        for number in range(first, first + 9):
            writer.add(program(number, 400), f"p{number}")
    stored = writer._count
    room(writer, None)
    assert writer.add(program(20), "p20") == stored
    writer.close()
    recording = open_store(path)
    assert [snapshot.index for snapshot in recording] == list(range(stored + 1))
    for snapshot in recording:
        number = int(snapshot.name[1:])
        assert snapshot.program == program(number, 40 if number < first or number == 20 else 400)


@pytest.mark.parametrize("name", ["run.opscope", "r\x01n.opscope"])
def test_the_program_that_is_recorded_never_sees_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    path = tmp_path / name
    with opscope.record(path) as recorder:
        assert recorder.snapshot(program(0), "p0") == 0
        room(recorder._writer, 0)
        assert recorder.snapshot(program(1), "p1") == recorder.snapshot(program(2, 400), "p2") == -1
        recorder.set(producer="toy")
        room(recorder._writer, None)
        assert recorder.snapshot(program(3), "p3", provenance={"n3.0": ["n2.0"]}) == 1, "it resumes"
        assert recorder.snapshot(program(4), "p4", provenance={"n4.0": ["n3.0"]}) == 2
    recording = opscope.open_recording(path)
    assert [snapshot.name for snapshot in recording] == ["p0", "p3", "p4"]
    assert recording.attrs["producer"] == "toy" and recording.attrs["finished"]
    assert recording.attrs["remarks"] == ["2 snapshots could not be recorded: cannot be written: database or disk is full"]
    assert recording[1].origins == () and recording[2].origins[0].old == (("main", "n3.0"),), "what it came from was not written"
    assert "2 snapshots could not be recorded" in capsys.readouterr().err


def test_a_disk_that_stays_full_ends_nothing_but_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "run.opscope"
    with opscope.record(path) as recorder:
        recorder.snapshot(program(0), "p0")
        room(recorder._writer, 0)
        recorder._writer._connection.execute("PRAGMA query_only = ON")  # not even an attribute can be written
        recorder.snapshot(program(1), "p1")
    recording = opscope.open_recording(path)
    assert [snapshot.name for snapshot in recording] == ["p0"] and "finished" not in recording.attrs


def overwritten(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not a database" * 100)


def emptied(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM snapshot")


def taken(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO snapshot SELECT id + 1, module, pipeline, name, seconds, program, origins, attrs FROM snapshot")


@pytest.mark.parametrize("damage", [overwritten, emptied, taken, Path.unlink, lambda path: os.truncate(path, 3000)])
def test_a_file_that_is_damaged_meanwhile_fails_nobody(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    path = tmp_path / "run.opscope"
    with opscope.record(path) as recorder:
        unchanged = program(0)
        recorder.snapshot(unchanged, "p0")
        damage(path)
        assert recorder.snapshot(unchanged, "again") == -1
        recorder.snapshot(program(1), "p1")
        recorder.set(producer="toy")


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from test_full_disk import program
import opscope
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
results = []
with opscope.record(sys.argv[1]) as recorder:
    for number in range(12):
        if number == 3:
            resource.setrlimit(resource.RLIMIT_FSIZE, (24_000, hard))
        if number == 9:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        results.append(recorder.snapshot(program(number, 200), f"p{number}"))
print(results)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_real_limit_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.opscope"
    command = [sys.executable, "-c", LIMITED, str(path), str(Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    indexes = [int(word) for word in done.stdout.strip("[]\n").split(",")]
    assert -1 in indexes[3:9] and -1 not in indexes[:3] + indexes[9:], done.stdout + done.stderr
    recording = opscope.open_recording(path)
    assert [int(snapshot.name[1:]) for snapshot in recording] == [number for number, index in enumerate(indexes) if index >= 0]
    assert all(snapshot.program == program(int(snapshot.name[1:]), 200) for snapshot in recording)


NO_ROOM = "PRAGMA max_page_count = 1; BEGIN; CREATE TABLE a (b); CREATE TABLE c (d); COMMIT;"


def test_a_file_that_cannot_be_started_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opscope.recording.store.store.SCHEMA", NO_ROOM)
    with pytest.raises(StoreError, match="cannot be written: database or disk is full"):
        StoreWriter(tmp_path / "run.opscope")


def test_a_disk_that_is_full_from_the_start_fails_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.opscope"
    monkeypatch.setattr("opscope.recording.store.store.SCHEMA", NO_ROOM)
    with opscope.record(path) as recorder:
        recorder.set(producer="toy")
        assert recorder.snapshot(program(0), "p0") == -1
        monkeypatch.undo()
        room(recorder._writer, None)
        assert recorder.snapshot(program(1), "p1") == 0, "there is room now"
    recording = opscope.open_recording(path)
    assert [snapshot.name for snapshot in recording] == ["p1"] and recording[0].program == program(1)
    assert recording.attrs["producer"] == "toy" and recording.attrs["finished"]
    assert "1 snapshot could not be recorded" in capsys.readouterr().err
    with pytest.raises(OpscopeError, match="no such directory"):
        opscope.record(tmp_path / "absent" / "run.opscope")


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreError])
def test_an_export_that_ends_early_leaves_the_old_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    old, new = tmp_path / "run.opscope", StoreWriter()
    writer = StoreWriter(old)
    writer.add(program(0), "old")
    writer.close()
    content = old.read_bytes()
    new.add(program(1), "new")
    add = StoreWriter.add

    def interrupted(self: StoreWriter, *args: object, **options: object) -> int:
        add(self, *args, **options)  # type: ignore[arg-type]
        raise error

    monkeypatch.setattr(StoreWriter, "add", interrupted)
    with pytest.raises(error):
        opscope.save(new.recording(), old, overwrite=True)
    assert old.read_bytes() == content and os.listdir(tmp_path) == ["run.opscope"]
    monkeypatch.undo()
    opscope.save(new.recording(), old, overwrite=True)
    assert [snapshot.name for snapshot in open_store(old)] == ["new"] and os.listdir(tmp_path) == ["run.opscope"]


def test_nobody_can_put_a_link_where_a_file_is_written(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    with whole_file(tmp_path / "x.svg") as part:
        directory = Path(os.path.realpath(part.parent))
        assert directory.parent == tmp_path and directory.stat().st_mode & 0o777 == 0o700
        for name in (".x.svg.part", f".x.svg.{os.getpid()}.part"):
            (tmp_path / name).symlink_to(victim)
        part.write_text("drawing")
    assert victim.read_text() == "mine" and (tmp_path / "x.svg").read_text() == "drawing"
    assert not (tmp_path / "x.svg").is_symlink() and not directory.exists()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs paths through open directories, as Linux has them")
@pytest.mark.parametrize("name", ["x.svg", "x.opscope"])
def test_nobody_can_exchange_the_directory_where_a_file_is_written(tmp_path: Path, name: str) -> None:
    """In a shared directory without the sticky bit, other users can rename what is not theirs, too."""
    shared, victim, results = tmp_path / "shared", tmp_path / "victim", tmp_path / "shared" / "results"
    results.mkdir(parents=True)
    (results / "table").write_text("mine")
    victim.write_text("mine")
    with whole_file(shared / name) as part:
        directory = Path(os.path.realpath(part.parent))
        directory.rename(shared / "aside")
        directory.mkdir()
        (directory / "part").symlink_to(victim)
        content = StoreWriter()
        content.add(program(0), "made")
        part.write_text("drawing") if name == "x.svg" else save_recording(content.recording(), part)
        (directory / "part").unlink()
        directory.rmdir()
        results.rename(directory)
    assert victim.read_text() == "mine" and (directory / "table").read_text() == "mine", "neither written nor removed"
    assert not (shared / name).is_symlink() and list((shared / "aside").iterdir()) == []
    assert (shared / name).read_text() == "drawing" if name == "x.svg" else open_store(shared / name)[0].name == "made"


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
@pytest.mark.parametrize(("mode", "is_removed"), [(0o755, True), (0o1777, True), (0o777, False), (0o775, False)])
def test_where_others_can_rename_only_unfinished_files_are_removed(tmp_path: Path, mode: int, is_removed: bool) -> None:
    """Somebody can give results the name that an abandoned directory has."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    results, left = (tmp_path / f".opscope-part-{dead.pid}-{name}" for name in "ab")
    results.mkdir()
    left.mkdir()
    (results / "table").touch()
    for name in ("part", "part-journal"):
        (left / name).touch()
    for directory in (results, left):
        os.utime(directory, (1e9, 1e9))
    tmp_path.chmod(mode)
    with whole_file(tmp_path / "x.svg") as part:
        part.write_text("drawing")
    assert not left.exists() and results.exists() is not is_removed


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_a_file_that_only_its_owner_can_read_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    opscope.save(program(0), path)
    usual = path.stat().st_mode
    path.chmod(0o600)
    opscope.save(program(1), path, overwrite=True)
    assert path.stat().st_mode & 0o777 == 0o600 and "n1.0" in path.read_text()
    with opscope.record(tmp_path / "run.opscope") as recorder:
        recorder.snapshot(program(0), "a")
    (tmp_path / "run.opscope").chmod(0o600)
    with opscope.record(tmp_path / "run.opscope", overwrite=True) as recorder:
        assert (tmp_path / "run.opscope").stat().st_mode & 0o777 == 0o600, "from the beginning"
        recorder.snapshot(program(1), "b")
    opscope.save(program(0), tmp_path / "new.json")
    assert (tmp_path / "new.json").stat().st_mode == usual


def test_a_directory_without_permission_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(prefix: str, dir: Path) -> str:
        raise PermissionError(13, "Permission denied", f"{dir}/{prefix}x")

    monkeypatch.setattr("opscope.temporary.mkdtemp", refuse)
    with pytest.raises(PermissionError) as refused, whole_file(tmp_path / "x.svg"):
        pass
    assert refused.value.filename == str(tmp_path), "not a temporary directory that nobody knows"


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
def test_a_directory_that_cannot_be_listed_can_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("opscope.temporary.os.scandir", refuse)
    with whole_file(tmp_path / "x.svg") as part:
        part.write_text("drawing")
    assert (tmp_path / "x.svg").read_text() == "drawing"


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    yesterday = time.time() - 2 * 24 * 3600
    old, young, alive = (
        tmp_path / f"opscope-xla-{process}-{name}" for process, name in ((dead.pid, "a"), (dead.pid, "b"), (os.getpid(), "c"))
    )
    for directory in (old, young, alive):
        directory.mkdir()
        (directory / "dump.txt").touch()
    for directory in (old, alive):
        os.utime(directory, (yesterday, yesterday))
    link = tmp_path / f"opscope-xla-{dead.pid}-d"
    link.symlink_to(alive)
    made = temporary_directory("opscope-xla-", tmp_path)
    assert not old.exists() and young.exists() and alive.exists() and link.is_symlink() and made.is_dir()


def test_every_temporary_directory_is_made_in_one_place() -> None:
    source = Path(opscope.__file__).parent
    made = re.compile(r"mkdtemp|mkstemp|TemporaryDirectory|TemporaryFile")
    elsewhere = [str(path.relative_to(source)) for path in sorted(source.rglob("*.py")) if made.search(path.read_text("utf-8"))]
    assert elsewhere == ["temporary.py"], "use opscope.temporary, which removes what killed processes left behind"


def test_a_damaged_cache_entry_is_made_again_and_a_full_cache_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCOPE_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "dump"
    source.mkdir()
    (source / "a.txt").write_text("a")
    content = StoreWriter()
    content.add(program(0), "made")
    calls = []

    def make(part: Path) -> None:
        calls.append(part)
        save_recording(content.recording(), part)

    for _ in range(2):
        recording = cache.cached(source, source.iterdir(), make)
        assert recording is not None and recording[0].name == "made"
    assert len(calls) == 1
    (entry,) = (tmp_path / "cache").iterdir()
    entry.write_bytes(entry.read_bytes()[:2000])
    recording = cache.cached(source, source.iterdir(), make)
    assert recording is not None and recording[0].name == "made" and len(calls) == 2
    entry.unlink()

    def full(part: Path) -> None:
        raise StoreError("database or disk is full")

    assert cache.cached(source, source.iterdir(), full) is None
    assert list((tmp_path / "cache").iterdir()) == [], "no part is left"


def test_a_recording_that_was_killed_before_its_first_snapshot_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.opscope"
    StoreWriter(path)._connection.close()
    assert len(open_store(path)) == 0
    path.write_bytes(b"")
    with pytest.raises(OpscopeError, match="is empty: nothing was recorded yet"):
        open_store(path)


LIMITED_COMMANDS = """
import io, resource, sys
from opscope.cli import main
most, typed, *arguments = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
sys.stdin = io.StringIO(typed)
sys.exit(main(arguments))
"""
DUMPING = """
import os, pathlib, re, sys
directory = pathlib.Path(re.search(r"--xla_dump_to=(\\S+)", os.environ["XLA_FLAGS"])[1])
directory.mkdir()
text = "HloModule f\\n\\nENTRY main {\\n  p = f32[4] parameter(0)\\n  ROOT r = f32[4] negate(p)\\n}\\n"
(directory / "module_0001.f.before_optimizations.txt").write_text(text)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
@pytest.mark.parametrize(
    ("most", "typed", "arguments", "name"),
    [
        (4000, "", ["passes", "-f", "-o", "run.opscope", "--", sys.executable, "-c", DUMPING], "run.opscope"),
        (100, "extract slice.2", ["repl", "demo:train_step"], "slice.2-extracted.hlo"),
    ],
)
def test_what_other_commands_write_is_whole_or_not_there(tmp_path: Path, most: int, typed: str, arguments: list[str], name: str) -> None:
    is_kept = name in arguments
    if is_kept:
        (tmp_path / name).write_bytes(b"SQLite format 3")
    command = [sys.executable, "-c", LIMITED_COMMANDS, str(most), typed, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith(f"{name}: "), done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name] * is_kept
    assert not is_kept or (tmp_path / name).read_bytes() == b"SQLite format 3"


def test_a_link_that_leads_to_no_file_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "negate-extracted.hlo").symlink_to(tmp_path / "elsewhere")
    assert _free_path(Path(), "negate-extracted", ".hlo") == Path("negate-extracted-2.hlo")


LIMITED_EXPORT = """
import resource, sys
from opscope.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
source, *targets = sys.argv[1:]
print([main(["export", source, "-o", target, "--force"]) for target in targets])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_an_export_without_room_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    """And not the part of it that is being written, nor the source."""
    writer = StoreWriter(tmp_path / "run.opscope")
    writer.add(program(0), "a")
    writer.add(program(1, 400), "b")
    writer.close()
    targets = ["x.json", "x.html", "copy.opscope", "one.svg"]
    for name in targets:
        (tmp_path / name).write_bytes(b"old")
    command = [sys.executable, "-c", LIMITED_EXPORT, "run.opscope", *targets]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[2, 2, 2, 2]\n", done.stderr
    lines = done.stderr.splitlines()
    assert [line.partition(":")[0] for line in lines] == targets, done.stderr
    assert all((tmp_path / name).read_bytes() == b"old" for name in targets)
    assert {path.name for path in tmp_path.iterdir()} == {"run.opscope", *targets}, "nothing is left behind"
