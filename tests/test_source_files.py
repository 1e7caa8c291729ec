"""The user's own files beside the graph: recorded, asked for, or at hand; never in a page by themselves, and never other files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import opscope
from opscope.analysis.source_files import read_source
from opscope.errors import OpscopeError
from opscope.program import Frame, Program
from opscope.recording.sources import open_recording
from opscope.render.writers.html import packed_wire
from opscope.serve.recordings import ServedRecording
from opscope.serve.sources import Served

SECRET = "x = secret_formula(1)"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(f"import math\n{SECRET}\n")
    return path


def program(*files: Path | str) -> Program:
    builder = opscope.ProgramBuilder("p")
    main = builder.graph("main")
    for i, file in enumerate(files):
        main.node(f"n{i}", "op", source=[Frame(str(file), 2, "f")])
    return builder.build()


def sources(wire: bytes) -> dict[str, str]:
    import gzip

    head = gzip.decompress(wire)
    start = head.index(b"{")
    fields, _ = json.JSONDecoder().raw_decode(head[start:].decode("utf-8", "ignore"))
    found: dict[str, str] = fields.get("fields", fields).get("sources", {})
    return found


def test_a_recording_keeps_the_files_if_asked_and_pages_of_it_have_them(file: Path, tmp_path: Path) -> None:
    for asked in (True, False):
        path = tmp_path / f"{asked}.opscope"
        with opscope.record(path, sources=asked) as recorder:
            recorder.snapshot(program(file), "first")
            recorder.snapshot(program(file, file), "second")
        recording = open_recording(path)
        assert recording.attrs.get("sources") == ({str(file): file.read_text()} if asked else None)
        assert (SECRET in sources(packed_wire(recording)).get(str(file), "")) is asked
        served = ServedRecording("run", lambda: recording, recording)  # noqa: B023
        answer = json.loads(served.answer("source", 1, {"node": "1", "file": str(file)})[0])
        assert (answer["text"], answer["note"]) == (file.read_text(), "as recorded" if asked else "")


def test_a_page_of_a_program_has_files_only_if_asked(file: Path) -> None:
    assert sources(packed_wire(program(file))) == {}
    assert sources(packed_wire(program(file), sources=True)) == {str(file): file.read_text()}


def test_the_server_shows_only_python_files_that_the_node_comes_from(file: Path, tmp_path: Path) -> None:
    """A program can name any file, so a page that somebody sent must not be a way to read all of them."""
    private = tmp_path / "id_rsa"
    private.write_text("key")
    served = Served.of(program(file, private, "model.py"))
    assert json.loads(served.source_file({"node": "0", "file": str(file)}))["text"] == file.read_text()
    assert "is not a Python file on this machine" in json.loads(served.source_file({"node": "1", "file": str(private)}))["problem"]
    with pytest.raises(OpscopeError, match="the node does not come from"):
        served.source_file({"node": "1", "file": str(file)})
    with pytest.raises(KeyError):
        served.source_file({"node": "7", "file": str(file)})
    assert read_source("model.py") is None and read_source(f"{file}\0") is None, "a relative name could be any file"
    (tmp_path / "link.py").symlink_to(private)
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    assert read_source(str(tmp_path / "link.py")) is None is read_source(str(tmp_path / "loop.py")), "a link can lead to any file"


def test_a_file_that_changed_later_says_so(file: Path, tmp_path: Path) -> None:
    import os

    with opscope.record(tmp_path / "run.opscope") as recorder:
        recorder.snapshot(program(file), "first")
    recording = open_recording(tmp_path / "run.opscope")
    os.utime(file, (2**31, 2**31))
    served = ServedRecording("run", lambda: recording, recording)
    answer = json.loads(served.answer("source", 0, {"node": "0", "file": str(file)})[0])
    assert answer["note"] == "changed after this program was written"
