"""The recording file: it loses nothing, stores nothing twice, and checks everything it reads."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from programs import everything, programs

import opscope
from opscope.errors import OpscopeError, SourceError
from opscope.program import Frame, Program, ProgramBuilder, TensorType
from opscope.recording.match.node_numbers import Vocabulary
from opscope.recording.model import Origin
from opscope.recording.sources import open_recording
from opscope.recording.store.database import APPLICATION_ID, FORMAT_VERSION
from opscope.recording.store.pages import PageIndex
from opscope.recording.store.store import StoreWriter, save_recording


def chain(length: int, changed: int = -1) -> Program:
    """A long chain of adds; the node `changed` has another op."""
    builder = ProgramBuilder("chain")
    graph = builder.graph("main")
    graph.node("x", "parameter", outputs=[TensorType("f32", (8,))], role="parameter")
    last = "x"
    for i in range(length):
        op = "multiply" if i == changed else "add"
        attrs = {"metadata.op_name": f"jit(step)/layer_{i % 7}/{op}"}
        last = graph.node(f"{op}.{i}", op, [(last, 0), ("x", 0)], [TensorType("f32", (8,))], attrs=attrs).id
    graph.outputs.append((last, 0))
    return builder.build()


def test_a_program_reads_back_equal_in_every_field(tmp_path: Path) -> None:
    path = tmp_path / "run.opscope"
    writer = StoreWriter(path)
    origin = Origin((("main.7", "pair"),), (("main.7", "add.3"), ("main.7", "pair")), "rewrite", "fold", Frame("rules.py", 7, "fold"))
    writer.add(everything(), "one", pipeline=("outer", "inner"), module="m", seconds=0.25, origins=[origin], attrs={"file": "a.txt"})
    writer.close()
    recording = open_recording(path)
    assert recording[0].program == everything()
    assert recording[0].origins == (origin,)
    assert (recording[0].pipeline, recording[0].module, recording[0].seconds) == (("outer", "inner"), "m", 0.25)
    assert recording[0].attrs == {"file": "a.txt"}


def test_a_call_of_a_graph_that_is_not_there_is_damage() -> None:
    """The fuzzer found it: comparing such a recording ended in an internal error."""
    builder = ProgramBuilder("p", "main")
    builder.graph("body").node("x", "add")
    builder.graph("main").node("call", "call", calls=["body"])
    program = builder.build()
    writer = StoreWriter()
    writer.add(Program("p", {"main": program["main"]}, "main"), "pass")
    with pytest.raises(SourceError, match="graph 'main' calls 'body', which it does not contain"):
        len(writer.recording()[0].program.main)


def test_tuples_in_attributes_stay_tuples() -> None:
    builder = ProgramBuilder("p")
    builder.graph("g").node("n", "op", attrs={"shape": (1, (2, [3, (4,)])), "text": "\x00tuple"})
    writer = StoreWriter()
    writer.add(builder.build(), "one")
    assert dict(writer.recording()[0].program["g"]["n"].attrs) == {"shape": (1, (2, [3, (4,)])), "text": "\x00tuple"}


@pytest.mark.slow
@given(programs(), programs())
@hypothesis_settings(max_examples=60)
def test_any_programs_read_back_equal(first: Program, second: Program) -> None:
    writer = StoreWriter()
    for program in (first, second, first):
        writer.add(program, "pass")
    recording = writer.recording()
    assert [recording[i].program for i in range(3)] == [first, second, first]
    assert recording[0].content == recording[2].content


def test_threads_do_not_number_nodes_together(tmp_path: Path) -> None:
    """Two comparisons at once could give one number to nodes that differ, and so link them."""
    writer = StoreWriter(tmp_path / "run.opscope")
    writer.add(chain(5), "one")
    writer.add(chain(5, changed=2), "two")
    writer.close()
    first, second = (snapshot.program for snapshot in open_recording(tmp_path / "run.opscope"))
    here = Vocabulary.of(first, second)
    assert Vocabulary.of(first, second) is here, "what one comparison found out, the next one knows"
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(Vocabulary.of, first, second).result() is not here


@pytest.mark.slow
def test_unchanged_parts_are_stored_once(tmp_path: Path) -> None:
    """100 passes that change one node each cost little more than the first."""
    one, many = tmp_path / "one.opscope", tmp_path / "many.opscope"
    writer = StoreWriter(one)
    writer.add(chain(3000), "first")
    writer.close()
    writer = StoreWriter(many)
    for i in range(100):
        writer.add(chain(3000, changed=29 * i), f"pass {i}")
    writer.close()
    assert many.stat().st_size < 4 * one.stat().st_size
    assert open_recording(many)[57].program == chain(3000, changed=29 * 57)


def test_opening_a_snapshot_reads_only_its_own_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.opscope"
    writer = StoreWriter(path)
    for i in range(20):
        builder = ProgramBuilder("p")
        for j in range(50):
            builder.graph("g" if j == 0 else f"g{j}").node(f"n{i}.{j}", "op", attrs={"literal": f"{i} {j}"})
        writer.add(builder.build(), f"pass {i}")
    writer.close()
    with sqlite3.connect(path) as connection:
        (total,) = connection.execute("SELECT count(*) FROM page").fetchone()
    pages: set[tuple[int, int]] = set()
    original = PageIndex.page

    def record_page(self: PageIndex[object], at: int) -> list[object]:
        pages.add((id(self), at))
        return original(self, at)

    monkeypatch.setattr(PageIndex, "page", record_page)
    recording = open_recording(path)
    assert recording[3].program["g"]["n3.0"].attrs["literal"] == "3 0"
    assert total >= 80 and len(pages) < total / 2


@pytest.mark.slow
def test_a_killed_compiler_leaves_every_finished_snapshot(tmp_path: Path) -> None:
    """kill -9 in the middle of a pass, several times, at different moments."""
    script = """
import sys
sys.path[:0] = [sys.argv[2] + "/tests", sys.argv[2] + "/tests/recording"]
from test_store import chain
import opscope
with opscope.record(sys.argv[1]) as rec:
    for i in range(10_000):
        rec.snapshot(chain(400, changed=i % 400), f"pass {i}")
        print(i, flush=True)
"""
    root = str(Path(__file__).resolve().parents[2])
    for attempt in range(4):
        path = tmp_path / f"run{attempt}.opscope"
        child = subprocess.Popen([sys.executable, "-c", script, str(path), root], stdout=subprocess.PIPE, cwd=root)
        assert child.stdout is not None
        for _ in range(3 + 4 * attempt):
            child.stdout.readline()
        time.sleep(0.003 * attempt)
        os.kill(child.pid, signal.SIGKILL)
        printed = [int(line) for line in child.stdout.read().split()]
        child.wait()
        recording = open_recording(path)
        assert len(recording) >= (printed[-1] + 1 if printed else 3 + 4 * attempt)
        assert recording[len(recording) - 1].program == chain(400, changed=(len(recording) - 1) % 400)
        assert "finished" not in recording.attrs


def test_a_recording_is_never_overwritten_silently(tmp_path: Path) -> None:
    path = tmp_path / "run.opscope"
    path.write_text("my notes")
    with pytest.raises(OpscopeError, match="already exists"):
        StoreWriter(path)
    assert path.read_text() == "my notes"
    writer = StoreWriter(path, overwrite=True)
    writer.add(chain(3), "one")
    writer.close()
    assert len(open_recording(path)) == 1


def test_foreign_truncated_and_newer_files_are_refused_in_one_line(tmp_path: Path) -> None:
    good = tmp_path / "good.opscope"
    writer = StoreWriter(good)
    writer.add(chain(2000), "one")
    writer.close()
    bad = tmp_path / "bad.opscope"

    def refusal(data: bytes) -> str:
        bad.write_bytes(data)
        with pytest.raises(SourceError) as error:
            open_recording(bad)[0].program  # noqa: B018
        assert bad.read_bytes() == data
        return str(error.value)

    whole = good.read_bytes()
    assert "is truncated" in refusal(whole[: len(whole) // 2])
    assert "is empty" in refusal(b"")
    assert "is not an opscope recording" in refusal(b"HloModule jit_step")
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert "of another program" in refusal(other.read_bytes())
    newer = bytearray(whole)
    newer[60:64] = (FORMAT_VERSION + 1).to_bytes(4, "big")
    assert "pip install -U opscope" in refusal(bytes(newer))
    broken = bytearray(whole)
    broken[2048:6000] = b"\xff" * (6000 - 2048)
    assert "damaged" in refusal(bytes(broken))
    assert whole[68:72] == APPLICATION_ID.to_bytes(4, "big")


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE page SET data = x'00' WHERE kind = 'node'",
        "UPDATE page SET data = 7 WHERE kind = 'graph'",
        "UPDATE page SET data = (SELECT data FROM page WHERE kind = 'text') WHERE kind = 'name'",
        "UPDATE page SET first = first + 1 WHERE kind = 'node'",
        "UPDATE page SET data = (SELECT data FROM page WHERE kind = 'graph') WHERE kind = 'detail'",
        "DELETE FROM page WHERE kind = 'text'",
        "UPDATE program SET data = (SELECT data FROM page WHERE kind = 'graph')",
        "DELETE FROM program",
        "UPDATE snapshot SET id = 5",
        "UPDATE snapshot SET pipeline = '3'",
        "UPDATE snapshot SET seconds = 'soon'",
        "UPDATE snapshot SET attrs = '[1]'",
        "UPDATE snapshot SET origins = x'789c'",
        "UPDATE meta SET value = '{'",
    ],
)
def test_damage_is_reported_as_an_error_about_the_recording(tmp_path: Path, damage: str) -> None:
    """Recordings are shared: inconsistent data is refused with one line, not noticed later."""
    path = tmp_path / "run.opscope"
    writer = StoreWriter(path)
    writer.add(chain(20), "one", seconds=1.0, origins=[Origin((("main", "x"),), (("main", "x"),))], attrs={"a": 1})
    writer.close()
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(damage).rowcount
    connection.close()
    with pytest.raises(SourceError, match=r"run\.opscope: .*(is a damaged recording|is not a|names no)"):
        for snapshot in open_recording(path):
            assert str(snapshot.program) and snapshot.origins


def test_a_recording_in_memory_can_be_saved(tmp_path: Path) -> None:
    writer = StoreWriter(attrs={"producer": "toy"})
    writer.add(chain(5), "one", pipeline=("p",), seconds=1.0)
    writer.add(chain(5, changed=2), "two", pipeline=("p",))
    save_recording(writer.recording(), tmp_path / "saved.opscope")
    saved = open_recording(tmp_path / "saved.opscope")
    assert [(s.name, s.pipeline, s.seconds) for s in saved] == [("one", ("p",), 1.0), ("two", ("p",), None)]
    assert saved[1].program == chain(5, changed=2) and saved.attrs["producer"] == "toy"


def test_record_refuses_and_replaces_by_the_rule_of_export(tmp_path: Path) -> None:
    path = tmp_path / "run.opscope"
    path.write_text("my notes")
    with pytest.raises(OpscopeError, match=r"run\.opscope: already exists; .* \(in Python overwrite=True\)"):
        StoreWriter(path)
    with pytest.raises(OpscopeError, match="is a directory; name a file in it"):
        StoreWriter(tmp_path, overwrite=True)
    with pytest.raises(OpscopeError, match="no such directory; create it first"):
        StoreWriter(tmp_path / "no" / "run.opscope")
    os.mkfifo(tmp_path / "pipe.opscope")
    with pytest.raises(OpscopeError, match="is not a regular file"):
        StoreWriter(tmp_path / "pipe.opscope", overwrite=True)


def test_a_journal_without_its_recording_is_not_rolled_back_into_a_new_one(tmp_path: Path) -> None:
    with opscope.record(tmp_path / "run.opscope") as rec:
        rec.snapshot(everything(), "only")
    recording = opscope.open_recording(tmp_path / "run.opscope")
    journal, other = tmp_path / "copy.opscope-journal", tmp_path / "copy.json-journal"
    for orphan in (journal, other):
        orphan.write_bytes(b"left behind")
    opscope.save(recording, tmp_path / "copy.opscope")
    opscope.save(everything(), tmp_path / "copy.json")
    assert not journal.exists() and other.exists()
