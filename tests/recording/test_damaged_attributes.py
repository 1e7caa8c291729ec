"""Attributes of a recording or program that are not what opscope writes: one sentence or a true answer, never an internal error."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import opscope
from opscope.analysis.info import info_of
from opscope.cli import main
from opscope.memory.recomputed import with_recomputed
from opscope.memory.schedule import computed_memory
from opscope.program import OPERAND_SHAPES_ATTR, Program, ProgramBuilder, TensorType
from opscope.recording.dumps.autotuning import Autotuning, Candidate
from opscope.recording.dumps.fusion_notes import FusionNote
from opscope.recording.sources import open_recording
from opscope.render.writers.html import packed_wire

WRONG: tuple[Any, ...] = (None, True, 5, 1e308, "x", [1], [["a", "b"]], [[]], {}, {"a": 1}, {"a": [None]})
FUSED = FusionNote("fused", "m", "a", ("b",), "fusion", "why", 1.0, 2.0).to_json()
ESTIMATE = FusionNote("estimate", "m", "a", ("b",), us_fused=1.0, us_unfused=2.0).to_json()
TUNED = Autotuning("m", "a", ("b",), "c", (Candidate("c", 1.0, 4, ""), Candidate("d", 2.0))).to_json()
CODE = {"module": "m", "node": "a", "language": "PTX", "file": "f", "text": "t"}


def program(op: str = "add", **attrs: Any) -> Program:
    builder = ProgramBuilder("p")
    builder.attrs.update(attrs)
    graph = builder.graph("main")
    graph.node("a", "parameter", role="parameter")
    graph.node("b", op, [("a", 0)])
    return builder.build()


def changed(note: dict[str, Any], value: Any) -> Iterator[dict[str, Any]]:
    """The note with the value in the place of each field."""
    for field in note:
        yield {**note, field: value}


def attributes(value: Any) -> Iterator[dict[str, Any]]:
    """Each attribute that commands look into, damaged as a whole, and in every part of it."""
    for name in ("ids", "sources", "codes", "reasons", "autotuned", "estimated_for"):
        yield {name: value}
    candidates = [{**TUNED, "candidates": [each, *TUNED["candidates"]]} for each in changed(TUNED["candidates"][0], value)]
    reasons = [*changed(FUSED, value), *changed({**FUSED, "kind": "not fused"}, value), *changed(ESTIMATE, value)]
    yield {"sources": {"f.py": value}, "codes": list(changed(CODE, value)), "reasons": reasons}
    yield {"autotuned": [*changed(TUNED, value), *candidates]}


@pytest.mark.parametrize("value", WRONG, ids=json.dumps)
def test_damaged_attributes_of_a_recording_are_no_internal_error(value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.opscope"
    for attrs in attributes(value):
        with opscope.record(path, overwrite=True) as recorder:
            recorder.set(**attrs)
            recorder.snapshot(program(), "first", module="m")
            recorder.snapshot(program("multiply"), "second", module="m")
        for command in (["passes"], ["passes", "--code", "a"], ["passes", "--why", "a"], ["passes", "--why", "a,b"]):
            assert main([*command[:1], str(path), *command[1:]]) in (0, 2), (attrs, command, capsys.readouterr().err)
        assert main(["export", str(path), "-o", str(tmp_path / "run.html"), "--force"]) in (0, 2), (attrs, capsys.readouterr().err)


@pytest.mark.parametrize(
    "origin",
    [
        [[["main"]], [["main", "b", "c"]], "rewrite", "rule", None],
        [[[{}, []]], [["main", "b"]], {}, [], None],
        [[["main", "b"]], [["main", "b"]], "rewrite", "rule", [[1], "x", {}]],
        [[["main", "b"]], [["main", "b"]], "rewrite", "rule", [1]],
        [5, 6, 7, 8, 9],
    ],
)
def test_damaged_origins_are_no_internal_error(origin: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.opscope"
    with opscope.record(path) as recorder:
        recorder.snapshot(program(), "first")
        recorder.snapshot(program("multiply"), "second")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE snapshot SET origins = ?", (zlib.compress(json.dumps([origin]).encode()),))
    connection.close()
    for command in (["passes"], ["passes", "--history", "b"], ["passes", "--touching", "b"]):
        assert main([*command[:1], str(path), *command[1:]]) in (0, 2), (command, capsys.readouterr().err)


@pytest.mark.parametrize("shapes", [[[["x"]]], [[{}]], [[None]], [[1.5]], [5], 5])
def test_damaged_shapes_of_views_are_not_used(shapes: Any) -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("main")
    graph.node("a", "parameter", outputs=[TensorType("f32", (8,))], role="parameter")
    graph.node("b", "aten.sum", [("a", 0)], [TensorType("f32", ())], attrs={OPERAND_SHAPES_ATTR: shapes})
    assert info_of(builder.build()).flops == 8


@pytest.mark.parametrize("value", WRONG, ids=json.dumps)
def test_damaged_attributes_of_a_program_are_no_internal_error(value: Any) -> None:
    damaged = program(sources=value, checkpointed=value)
    assert packed_wire(damaged)
    assert with_recomputed(damaged, computed_memory(damaged))


def test_whole_attributes_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.opscope"
    with opscope.record(path) as recorder:
        recorder.set(reasons=[FUSED, ESTIMATE], autotuned=[TUNED])
        recorder.snapshot(program(), "first", module="m")
    recording = open_recording(path)
    assert [FusionNote.of_json(each) for each in recording.attrs["reasons"]] == [
        FusionNote("fused", "m", "a", ("b",), "fusion", "why", 1.0, 2.0),
        FusionNote("estimate", "m", "a", ("b",), us_fused=1.0, us_unfused=2.0),
    ]
    assert Autotuning.of_json(TUNED) == Autotuning("m", "a", ("b",), "c", (Candidate("c", 1.0, 4, ""), Candidate("d", 2.0)))
