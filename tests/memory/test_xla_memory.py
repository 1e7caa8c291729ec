"""Memory as XLA reports it: to the byte what `memory_analysis()` and XLA's report say, for programs that XLA compiles here."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, load_file
from support.memory_reports import check_reported, live_ranges, only, xla_total

import opscope
from opscope.errors import OpscopeError
from opscope.loading import load_all, only_program
from opscope.memory.read_from import remember_source
from opscope.memory.shown import memory_of
from opscope.memory.sources import read_memory

pytest.importorskip("jax")
pytestmark = pytest.mark.frameworks

PROGRAMS = load_file(ROOT / "benchmarks" / "memory_programs.py")


@pytest.mark.parametrize("name", PROGRAMS.CASES)
def test_bytes_are_those_of_memory_analysis_and_of_the_report(name: str, tmp_path: Path) -> None:
    compiled = PROGRAMS.compile_to(PROGRAMS.CASES[name], tmp_path)
    check_reported(tmp_path, PROGRAMS.analysis_of(compiled))
    captured, dumped = memory_of(opscope.capture(compiled)), only(read_memory(str(tmp_path)))
    assert (captured.origin, captured.peak_bytes, captured.split) == (dumped.origin, dumped.peak_bytes, dumped.split)
    assert captured.curve == dumped.curve and captured.alive(dumped.peak) == dumped.alive(dumped.peak)


def test_a_gpu_dump_is_read_the_same_way(gpu_dump: Path) -> None:
    memory = only(read_memory(str(gpu_dump)))
    live = live_ranges(gpu_dump)
    assert memory.peak_bytes == xla_total(gpu_dump) == 3_330_319
    assert live.peak == 54
    assert {(buffer.node, buffer.output or "{}"): buffer.bytes for buffer in memory.alive(54)} == live.at_peak
    reasons = {row.buffer.name: row.buffer.why for row in memory.live(memory.peak)}
    assert reasons["while.15{3}"] == "saved for backward: while.22 needs it for the gradient of while.15"
    assert reasons["img.1"] == "parameter 5"
    assert reasons["arg_tuple.13{1}"] == "carried by while.22"
    assert reasons["cond.20{0}"] == "output"


def test_a_donated_argument_and_the_output_in_it_are_one_buffer(tmp_path: Path) -> None:
    PROGRAMS.compile_to(PROGRAMS.CASES["cache_update_donated"], tmp_path)
    memory = only(read_memory(str(tmp_path)))
    cache = next(buffer for buffer in memory.buffers if buffer.why == "parameter 0, donated")
    update = next(buffer for buffer in memory.buffers if buffer.why == "output, aliases parameter 0")
    assert cache.slot == update.slot and cache.bytes == update.bytes == 8 * 128 * 64 * 4
    written = memory.position_of(update.node)
    assert [row for row in memory.live(written) if cache in row.shares or update in row.shares or row.buffer in (cache, update)] == [
        next(row for row in memory.live(written) if row.buffer == update)
    ]


def test_what_is_in_the_memory_of_a_donated_argument_says_what_it_is_for(tmp_path: Path) -> None:
    """XLA copies a weight into another layout, and then uses its memory for values that are saved for backward, and for a gradient."""
    PROGRAMS.compile_to(PROGRAMS.CASES["train_step_donated"], tmp_path)
    kinds = {each.kind: each.why for each in only(read_memory(str(tmp_path))).buffers if each.why.endswith("; aliases parameter 1")}
    assert kinds["saved"].startswith("saved for backward: ") and kinds["gradient"].startswith("gradient: the update in ")
    assert "parameter" not in kinds and any(each.why == "parameter 1, donated" for each in only(read_memory(str(tmp_path))).buffers)


def test_modules_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Their instructions have the same names; the sizes of their arguments differ."""
    for size in (64, 128):
        PROGRAMS.compile_to(PROGRAMS.Case(PROGRAMS.mlp, ((size, size),) * 3), tmp_path)
    memories = read_memory(str(tmp_path))
    for memory in memories:
        (program,) = load_all(str(tmp_path), module=memory.name)
        remember_source(str(tmp_path), program)
        assert memory_of(program).peak_bytes == memory.peak_bytes
    names = [memory.name for memory in memories]
    assert names[0] != names[1]
    with pytest.raises(OpscopeError, match=f"{names[0]}, {names[1]}"):
        only_program(str(tmp_path), load_all(str(tmp_path)))


def test_the_text_alone_leads_to_the_reports_next_to_it(tmp_path: Path) -> None:
    PROGRAMS.compile_to(PROGRAMS.CASES["mlp"], tmp_path)
    (text,) = tmp_path.glob("*cpu_after_optimizations.txt")
    by_directory = only(read_memory(str(tmp_path)))
    assert only(read_memory(str(text))).buffers == by_directory.buffers
    elsewhere = text.rename(tmp_path / "after.hlo")
    assert only(read_memory(str(elsewhere))).buffers == by_directory.buffers
    assert only(read_memory(str(tmp_path))).buffers == by_directory.buffers
    elsewhere.unlink()
    without_text = only(read_memory(str(tmp_path)))
    assert without_text.peak_bytes == by_directory.peak_bytes and without_text.curve == by_directory.curve


def test_a_proto_with_a_buffer_assignment_says_the_same_as_the_texts(tmp_path: Path) -> None:
    for name in ("train_step_donated", "scan_grad"):
        PROGRAMS.compile_to(PROGRAMS.CASES[name], tmp_path / name, xla_dump_hlo_as_proto=True)
        (file,) = (tmp_path / name).glob("*after_optimizations.hlo.pb")
        texts, proto = only(read_memory(str(tmp_path / name))), only(read_memory(str(file)))
        assert (proto.origin, proto.peak_bytes, proto.split) == (texts.origin, texts.peak_bytes, texts.split)
        assert proto.live_peak == texts.live_peak and proto.step_at(proto.peak) == texts.step_at(texts.peak)
        alive = {buffer.name: buffer.bytes for buffer in proto.alive(proto.peak) if buffer.type is not None}
        assert alive.items() <= {buffer.name: buffer.bytes for buffer in texts.alive(texts.peak)}.items()
