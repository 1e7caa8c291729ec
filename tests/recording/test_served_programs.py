"""A search in all passes fetches every program: each is packed once, and never taken for that of another recording."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.recording.sources import open_recording
from opscope.render.wire.program import encode_wire
from opscope.render.wire.recording import shown_program
from opscope.serve import packed_programs
from opscope.serve.recordings import ServedRecording


def write(path: Path, *ops: str) -> None:
    with opscope.record(path, overwrite=True) as rec:
        for op in ops:
            builder = opscope.ProgramBuilder("model")
            builder.graph("main").node("x", op)
            rec.snapshot(builder.build(), f"to {op}")


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations of the programs that were packed."""
    ops: list[str] = []

    def encode(program: opscope.Program, **options: Any) -> bytes:
        ops.append(program.main["x"].op)
        return encode_wire(program, **options)

    monkeypatch.setattr(packed_programs, "encode_wire", encode)
    return ops


def wire(served: ServedRecording, position: int) -> bytes:
    return gzip.decompress(served.answer("wire", position, {})[0])


def alone(served: ServedRecording, position: int) -> bytes:
    recording = served.recording
    return encode_wire(shown_program(recording, recording[position].program), details=False)


def test_each_program_is_packed_once(tmp_path: Path, packed: list[str]) -> None:
    path = tmp_path / "run.opscope"
    write(path, "add", "multiply", "multiply")
    served = ServedRecording("run", lambda: open_recording(path), open_recording(path), path)
    for position in (0, 1, 2, 1, 0):
        assert wire(served, position) == alone(served, position)
    assert packed == ["add", "multiply"]
    write(path, "negate", "divide")
    served.refresh()
    assert wire(served, 0) == alone(served, 0)
    assert packed == ["add", "multiply", "negate"]


def test_only_so_many_are_kept(tmp_path: Path, packed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_programs, "MOST_CACHED_BYTES", 1)
    path = tmp_path / "run.opscope"
    write(path, "add", "multiply")
    served = ServedRecording("run", lambda: open_recording(path), open_recording(path), path)
    for position in (0, 0, 1, 0):
        wire(served, position)
    assert packed == ["add", "multiply", "add"], "the latest is kept whatever its size"
