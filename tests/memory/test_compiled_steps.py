"""Steps that torch.compile generated for an H200, computed from their code, and what the allocator measured there
(`benchmarks/torch_memory_models.py`)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from opscope.loading import load_all
from opscope.memory.model import Memory
from opscope.memory.schedule import computed_memory
from opscope.memory.suggest import answer as answer_to
from opscope.memory.what_if import Planner
from opscope.program import Program

STEPS = Path(__file__).parent / "compiled_steps"
MEASURED: dict[str, dict[str, int]] = json.loads((STEPS / "measured.json").read_text("utf-8"))


def step(name: str, directory: Path) -> tuple[Program, Memory]:
    log = directory / f"{name}.log"
    log.write_bytes(gzip.decompress((STEPS / f"{name}.log.gz").read_bytes()))
    (program,) = load_all(log)
    return program, computed_memory(program)


@pytest.mark.parametrize("name", MEASURED)
def test_the_peak_is_within_ten_percent_of_what_was_measured(name: str, tmp_path: Path) -> None:
    program, memory = step(name, tmp_path)
    inputs = sum(node.outputs[0].bytes or 0 for node in program.main.parameters)
    measured = inputs + MEASURED[name]["compiled"]
    assert abs(memory.peak_bytes / measured - 1) < 0.1
    assert memory.unknown == 0


def test_values_of_both_halves_have_their_kinds_and_reasons(tmp_path: Path) -> None:
    program, memory = step("conv", tmp_path)
    rows = {(buffer.graph, buffer.name, buffer.kind): buffer for buffer, _ in memory.live(memory.peak)}
    relu = rows["forward", "buf9", "saved"]
    assert (relu.bytes, relu.why) == (32 * 32 * 64 * 64 * 4, "saved for backward: buf16 needs it")
    assert memory.graphs[relu.born] == "forward" and memory.graphs[relu.last] == "backward"
    operands = 4 * (32 * 64 * 64 * 64 + 32 * 32 * 64 * 64 + 64 * 32 * 3 * 3)
    assert rows["backward", "buf9", "workspace"].bytes == operands, "cuDNN copies channels-first operands"
    assert rows["backward", "buf9{1}", "gradient"].type == program["backward"]["buf9"].outputs[1]


def test_what_is_written_over_a_value_is_in_its_memory(tmp_path: Path) -> None:
    _, memory = step("linear", tmp_path)
    buffers = {(buffer.graph, buffer.name): buffer for buffer in memory.buffers}
    saved, over = buffers["forward", "buf0"], buffers["backward", "buf0"]
    assert saved.slot == over.slot and saved.last == over.born, "buf0 = addmm; del addmm  # reuse"


def test_what_if_distinguishes_the_values_of_both_halves(tmp_path: Path) -> None:
    program, memory = step("transformer", tmp_path)
    answer = answer_to(Planner(program, memory), [], suggests=True)
    assert answer.result.memory.live_peak < 0.8 * memory.live_peak
    assert {buffer.graph for each in answer.suggestions for buffer in each.buffers} == {"forward"}
