"""The memory of what is shown: which report belongs to it, and how it reaches a page."""

from __future__ import annotations

import gzip
import re
from base64 import b64decode
from math import isnan
from pathlib import Path

import pytest
from support.wire_reader import WireReader

from opscope.loading import load, load_all
from opscope.memory.read_from import remember_source
from opscope.memory.shown import memory_of
from opscope.memory.sources import read_memory
from opscope.program import Program, ProgramBuilder
from opscope.recording.sources import open_recording
from opscope.render.wire.memory import encode_memory
from opscope.render.writers.html import document
from opscope.serve.recordings import ServedRecording


@pytest.fixture(scope="module")
def optimized(gpu_dump: Path) -> Program:
    (program,) = load_all(str(gpu_dump))
    return program


@pytest.mark.slow
def test_columns_are_the_buffers(optimized: Program) -> None:
    memory = memory_of(optimized)
    wire = WireReader(encode_memory(memory, optimized))
    strings = wire.strings("strings")
    ids = [node.id for graph in optimized for node in graph]
    assert [ids[node] for node in wire.column("steps")] == list(memory.steps)
    buffers = sorted(memory.buffers, key=lambda buffer: (buffer.born, buffer.last, buffer.name))
    born = wire.column("born")
    rows = zip(wire.column("node"), wire.column("bytes"), wire.column("kind"), born, wire.column("length"), wire.column("why"), strict=True)
    assert [
        (ids[node], None if isnan(size) else int(size), wire.fields["kinds"][kind], at, at + length, strings[why])
        for node, size, kind, at, length, why in rows
    ] == [(buffer.node, buffer.bytes, buffer.kind, buffer.born, buffer.last, buffer.why) for buffer in buffers]
    assert (wire.fields["peak"], wire.fields["peakBytes"]) == (memory.peak, memory.peak_bytes)
    slots = wire.column("slot")
    shared = {(slots[a], buffer.slot) for a, buffer in enumerate(buffers)}
    assert len(shared) == len({slot for _, slot in shared}) == wire.fields["slots"]


@pytest.mark.slow
def test_a_program_has_the_report_of_its_source(gpu_dump: Path, optimized: Program) -> None:
    assert memory_of(load_all(str(gpu_dump))[0]).origin == "computed"
    (program,) = load_all(str(gpu_dump))
    remember_source(str(gpu_dump), program)
    (reported,) = read_memory(str(gpu_dump))
    assert memory_of(program) == reported
    before = load(f"{gpu_dump}@0")
    remember_source(f"{gpu_dump}@0", before)
    assert memory_of(before).origin == "computed", "the report is about the program after all passes"


def test_a_damaged_report_is_computed_instead_and_said_so(tmp_path: Path) -> None:
    text = tmp_path / "module_0001.m.cpu_after_optimizations.txt"
    text.write_text("HloModule m, is_scheduled=true\nENTRY main {\n  ROOT p = f32[8]{0} parameter(0)\n}\n")
    damaged = tmp_path / "module_0001.m.cpu_after_optimizations-buffer-assignment.txt"
    damaged.write_text("something else")
    (tmp_path / "module_0001.m.cpu_after_optimizations-live-range.txt").write_text("HloLiveRange (max 0):\n")
    program = load(str(text))
    remember_source(str(text), program)
    memory = memory_of(program)
    assert memory.origin == "computed" and memory.peak_bytes == 32
    assert memory.remark.startswith(f"the compiler's report cannot be read: {damaged}:1: is not a buffer assignment")
    assert WireReader(encode_memory(memory, program)).fields["remark"] == memory.remark


@pytest.mark.slow
def test_every_pass_of_a_served_recording_has_its_memory(gpu_dump: Path) -> None:
    recording = open_recording(gpu_dump)
    remember_source(str(gpu_dump), recording)
    served = ServedRecording("dump", lambda: recording, recording)
    last = recording.snapshot(-1)
    for number, origin in ((last.index, "reported"), (0, "computed")):
        body, _ = served.answer("memory", number, {})
        assert WireReader(gzip.decompress(body)).fields["origin"] == origin


@pytest.mark.slow
def test_a_page_has_the_memory_of_what_is_in_the_order_of_a_run(gpu_dump: Path, optimized: Program) -> None:
    recording = open_recording(gpu_dump).only(-1)
    remember_source(str(gpu_dump), recording)
    (block,) = _memory_blocks("".join(document([recording])))
    assert block.fields["origin"] == "reported" and block.fields["peakBytes"] == 3_330_319
    (computed,) = _memory_blocks("".join(document([optimized])))
    assert computed.fields["origin"] == "computed"
    assert _memory_blocks("".join(document([load("demo:train_step")]))) == [], "it is not scheduled"
    large = ProgramBuilder("large", "main")
    large.attrs["is_scheduled"] = "true"
    main = large.graph("main")
    for i in range(10_001):
        main.node(f"n.{i}", "add")
    assert _memory_blocks("".join(document([large.build()]))) == []


def _memory_blocks(page: str) -> list[WireReader]:
    packed = re.findall(r'id="opscope-memory-0-\d+">([^<]*)</script>', page)
    return [WireReader(gzip.decompress(b64decode(text))) for text in packed]
