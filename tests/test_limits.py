"""Small files that would take all memory or all time are refused in a sentence (docs/limits.md)."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import threading
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope import OpscopeError, limits
from opscope.cli import main
from opscope.readers.source import Source
from opscope.recording.dumps.numbered_files import numbered_files
from opscope.recording.dumps.xla import find_steps
from opscope.recording.store import database
from opscope.recording.store.pages import RECORDS_PER_PAGE, pack_json, unpack_json
from opscope.recording.store.store import StoreWriter, open_store

SAMPLES = Path(__file__).resolve().parent / "samples"
HLO = (SAMPLES / "hlo" / "several.hlo").read_bytes()
LIMIT = 1_000_000
TOO_LARGE = r"unpacks to more than 1\.00 MB, which is opscope's limit for it; set OPSCOPE_MAX_BYTES if you trust the source"


@pytest.fixture(autouse=True)
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_ALWAYS", LIMIT)


def test_a_compressed_file_unpacks_within_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.hlo.gz"
    path.write_bytes(gzip.compress(HLO + b" " * 3 * LIMIT))
    assert path.stat().st_size * 100 < LIMIT
    with pytest.raises(OpscopeError, match=TOO_LARGE):
        opscope.load_all(path)
    monkeypatch.setenv("OPSCOPE_MAX_BYTES", str(5 * LIMIT))
    assert len(opscope.load_all(path)) > 1
    monkeypatch.setenv("OPSCOPE_MAX_BYTES", "much")
    with pytest.raises(OpscopeError, match="OPSCOPE_MAX_BYTES must be a number of bytes, such as 8000000000, not 'much'"):
        opscope.load_all(path)


def test_what_shrinks_as_text_does_is_not_limited(tmp_path: Path) -> None:
    content = HLO + b"\n".join(b"// %d" % (i * 7919) for i in range(300_000))
    assert len(content) > 2 * LIMIT
    path = tmp_path / "large.hlo.gz"
    path.write_bytes(gzip.compress(content, 1))
    assert len(opscope.load_all(path)) > 1


def packed(tmp_path: Path, models: dict[str, bytes]) -> Path:
    path = tmp_path / "bomb.pt2"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in models.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("models", [1, 5], ids=["one large entry", "many entries"])
def test_an_archive_unpacks_within_its_limit(tmp_path: Path, models: int) -> None:
    size = 3 * LIMIT // models
    path = packed(tmp_path, {f"x/models/m{i}.json": b"{" + b" " * size + b"}" for i in range(models)})
    with pytest.raises(OpscopeError, match=TOO_LARGE if models == 1 else "does not have the layout|unpacks to more"):
        opscope.load_all(path)


def test_an_entry_that_states_a_smaller_size_is_not_unpacked(tmp_path: Path) -> None:
    path = packed(tmp_path, {"x/models/m.json": b"{" + b" " * 20 * LIMIT + b"}"})
    content = bytearray(path.read_bytes())
    at = content.rfind(b"PK\x01\x02") + 24
    content[at : at + 4] = (10).to_bytes(4, "little")
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(OpscopeError, match="is a damaged archive"):
            opscope.load_all(path)
        assert tracemalloc.get_traced_memory()[1] < LIMIT
    finally:
        tracemalloc.stop()


def test_a_compressed_archive_opens(tmp_path: Path) -> None:
    sample = SAMPLES / "torch" / "block.pt2"
    path = tmp_path / "block.pt2.gz"
    path.write_bytes(gzip.compress(sample.read_bytes()))
    assert opscope.load(path).graphs == opscope.load(sample).graphs


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_STREAM", 1000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        try:
            pipe.write_bytes(b"x" * 2000)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(OpscopeError, match=r"pipe: sends more than 1\.00 kB"):
        Source(pipe)
    writer.join()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_only_regular_files_of_a_dump_are_opened(tmp_path: Path) -> None:
    names = [f"module_0001.f.{number:04}.p.after_{number}.before_x.txt" for number in range(3)]
    os.mkfifo(tmp_path / names[0])
    (tmp_path / names[1]).symlink_to("/dev/zero")
    (tmp_path / names[2]).write_bytes((SAMPLES / "hlo" / "step_short.hlo").read_bytes())
    steps, skipped = find_steps(tmp_path)
    assert [step.path.name for step in steps] == names[2:]
    assert skipped == [f"{names[0]}: not a regular file", f"{names[1]}: not a regular file"]
    assert len(opscope.open_recording(tmp_path)) == 1
    import re

    for number, name in enumerate(("0_a.json", "1_b.json")):
        (tmp_path / name).symlink_to("/dev/zero" if number else "/dev/null")
    (tmp_path / "10_c.json").touch()
    (tmp_path / ("9" * 5000)[:200]).touch()
    assert [file.name for file in numbered_files(tmp_path, re.compile(r"(\d+)_(\w+)\.json"))] == ["c"]


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "run.opscope"
    writer = StoreWriter(path)
    programs = opscope.load_all(SAMPLES / "hlo" / "several.hlo")
    for number, program in enumerate(programs * 4):
        writer.add(program, f"p{number}")
    writer.close()
    return path


def changed(path: Path, statement: str, *values: Any) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)
    return path


BOMB = zlib.compress(b'["' + b"a" * 3 * LIMIT + b'"]', 9)


def read_all(path: Path) -> None:
    recording = open_store(path)
    for snapshot in recording:
        _ = [(node.attrs, node.scope) for graph in snapshot.program for node in graph]
        _ = snapshot.origins


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("UPDATE program SET data = ?", BOMB),
        ("UPDATE page SET data = ? WHERE kind = 'name'", BOMB),
        ("UPDATE page SET data = ? WHERE kind = 'graph'", BOMB),
        ("UPDATE snapshot SET origins = ?", BOMB),
    ],
)
def test_a_part_of_a_recording_unpacks_within_its_limit(recording: Path, statement: str, value: bytes) -> None:
    with pytest.raises(OpscopeError, match=r"run\.opscope: has a part that unpacks to more than 1\.00 MB"):
        read_all(changed(recording, statement, value))


def test_all_parts_of_a_recording_together_have_a_limit(recording: Path) -> None:
    part = zlib.compress(json.dumps(["a" * (LIMIT * 9 // 10)]).encode(), 9)
    for kind in ("name", "text", "detail"):
        changed(recording, "UPDATE page SET data = ? WHERE kind = ?", part, kind)
    with pytest.raises(OpscopeError, match=r"unpacks to more than .* MB|is a damaged recording"):
        read_all(recording)


@pytest.mark.parametrize("runs", [[0, RECORDS_PER_PAGE + 1], [0, 2, -2, 2] * 9000, [0, 10**12], [-3, 5, -10, 3]])
def test_a_program_cannot_refer_to_more_records_than_there_are(recording: Path, runs: list[int]) -> None:
    changed(recording, "UPDATE program SET data = ?", pack_json(["p", "main", "", runs]))
    with pytest.raises(OpscopeError, match="is a damaged recording"):
        read_all(recording)


@pytest.mark.parametrize(
    "value",
    [b"\xff\xff\xff\x7f" + bytes(40), (8).to_bytes(4, "little") + (10**9).to_bytes(4, "little") * 8 + zlib.compress(bytes(400)), b""],
)
def test_damaged_columns_are_refused(recording: Path, value: bytes) -> None:
    with pytest.raises(OpscopeError, match="is a damaged recording"):
        read_all(changed(recording, "UPDATE page SET data = ? WHERE kind = 'node'", value))


@pytest.mark.parametrize(
    "statement",
    ["UPDATE snapshot SET name = CAST(x'0aff' AS TEXT)", "UPDATE meta SET value = CAST(x'ff' AS TEXT)", "UPDATE program SET data = ?"],
)
def test_names_that_are_not_text_are_refused(recording: Path, statement: str) -> None:
    """The fuzzer found both: Python's error for such a text has no SQLite name, and nobody looked at a program's own name."""
    with closing(sqlite3.connect(recording)) as connection:
        _, entry, attrs, runs = unpack_json(connection.execute("SELECT data FROM program").fetchone()[0])
    values = [pack_json([{"a": 1}, entry, attrs, runs])] if "?" in statement else []
    with pytest.raises(OpscopeError, match="is a damaged recording") as caught:
        read_all(changed(recording, statement, *values))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [("remarks", "5"), ("skipped", "null"), ("remarks", '{"a": 1}'), ("ids", "[1]"), ("finished", "{}"), ("x", "nonsense")],
)
def test_facts_about_a_recording_may_be_anything(recording: Path, key: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    changed(recording, "INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)
    assert main(["passes", str(recording)]) in (0, 2)
    assert "internal error" not in capsys.readouterr().err


def test_a_query_ends(recording: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree of pages with cycles is endless in the same way as a join of many tables."""
    monkeypatch.setattr(database, "_STEPS", 100_000)
    with closing(database.open_to_read(recording)) as connection:
        tables = ", ".join(f"snapshot s{i}" for i in range(12))
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.rows(f"SELECT s0.id FROM {tables} WHERE s0.name || s11.name = ''")
        assert len(connection.rows("SELECT id FROM snapshot")) > 4


@pytest.mark.parametrize(
    "statement",
    ["ATTACH 'other.db' AS other", "PRAGMA user_version", "DELETE FROM meta", "SELECT load_extension('x')", "CREATE TEMP TABLE a (b)",
     "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"],
)  # fmt: skip
def test_a_connection_can_only_read(recording: Path, statement: str) -> None:
    with closing(database.open_to_read(recording)) as connection, pytest.raises(sqlite3.DatabaseError, match=r"not authorized|prohibited"):
        connection.rows(statement)


@pytest.mark.parametrize("command", ["info", "passes"])
def test_a_recording_with_an_endless_view_is_refused(recording: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    changed(recording, "ALTER TABLE meta RENAME TO m2")
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT 'k' || x AS key, '1' AS value FROM c"
    changed(recording, f"CREATE VIEW meta AS {endless}")
    assert main([command, str(recording)]) == 2
    assert "that opscope did not write" in capsys.readouterr().err


def test_styles_that_never_end_elsewhere_are_matched_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    graph = {"name": "m", "nodes": [{"id": "a", "op": "a" * 60}, {"id": "b", "op": "a" * 60 + "b"}]}
    Path("a.json").write_text(json.dumps({"format": "opscope", "version": 1, "name": "x", "entry": "m", "graphs": [graph]}))

    def export(pattern: str) -> int:
        query = {"type": "regex", "queryRegex": pattern, "matchTypes": ["title"]}
        Path("style.json").write_text(json.dumps([{"queries": [query], "styles": {"node_bg_color": "#010203"}, "version": "v2"}]))
        return main(["export", "a.json", "-o", "a.svg", "--style", "style.json", "--force"])

    for pattern in ("(a+)+b", ".*a.*a.*a.*a.*a.*b"):
        assert export(pattern) == 0 and Path("a.svg").read_text().count("#010203") == 1, "one of the two nodes"
    assert export("(?=.*a)(a+)+b") == 2
    assert "style rule 1: the regular expression looks around" in capsys.readouterr().err
    config = {"namespaceRegex": "(a+)+b", "backgroundColor": "red"}
    node = {"id": "a", "label": "a", "namespace": "a" * 60}
    Path("me.json").write_text(json.dumps({"label": "x", "graphs": [{"id": "m", "nodes": [node], "groupNodeConfigs": [config]}]}))
    assert main(["export", "me.json", "-o", "me.svg"]) == 0


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "text",
    ["module {\n" + '"a.b"() ({\n' * 20_000 + "}) : () -> ()\n" * 20_000 + "}\n",
     "module { func.func @main(%a: " + "tuple<" * 50_000 + "f32" + ">" * 50_000 + ") { return } }"],
    ids=["regions", "types"],
)  # fmt: skip
def test_deeply_nested_mlir_is_one_sentence(tmp_path: Path, text: str) -> None:
    pytest.importorskip("jaxlib")
    path = tmp_path / "deep.mlir"
    path.write_text(text)
    with pytest.raises(OpscopeError, match=r"deep\.mlir: jaxlib's parser crashed on it; it is damaged or nested too deeply"):
        opscope.load(path)


@pytest.mark.frameworks
def test_small_onnx_files_take_little_memory(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    make: Callable[..., Any] = onnx.helper.make_node
    empty = onnx.TensorProto(name="zero", data_type=1, dims=[2**40, 0])
    constant = make("Constant", [], ["c"], name="c", value=empty)
    nodes = [constant, *(make("Relu", ["c"], [f"y{i}"], name=f"r{i}") for i in range(4))]
    for node, scopes in zip(nodes[1:], ("-" * 50_000, "[" * 5000, "5", str(["a"] * 5000)), strict=True):
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=scopes)
        node.metadata_props.add(key="stack_trace", value='File "a", line ' + "9" * 6000)
    graph = onnx.helper.make_graph(nodes, "g", [], [])
    path = tmp_path / "small.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    program = opscope.load(path)
    assert program.main["c"].attrs["value"] == "float32[1099511627776, 0] []"
    assert all(node.scope == () for node in program.main) and program.main["r0"].source[0].line == 0
