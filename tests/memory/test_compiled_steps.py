"""Steps that torch.compile generated for an H200, computed from their code, and what the allocator measured there
(`benchmarks/torch_memory_models.py`)."""

from __future__ import annotations

import gzip
import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from opscope.errors import OpscopeError
from opscope.loading import load_all
from opscope.memory.model import Memory
from opscope.memory.report import equal_lines
from opscope.memory.schedule import computed_memory
from opscope.memory.suggest import answer as answer_to
from opscope.memory.what_if import Change, Planner
from opscope.program import Program

STEPS = Path(__file__).parent / "compiled_steps"
PROVENANCE = Path(__file__).parents[1] / "samples" / "kineto" / "compiled.log.gz"
"""A step of which Inductor logged all graphs, and which nodes became which launch."""
MEASURED: dict[str, dict[str, int]] = json.loads((STEPS / "measured.json").read_text("utf-8"))


def step(name: str) -> tuple[Program, Memory]:
    return read(STEPS / f"{name}.log.gz")


@cache
def read(path: Path) -> tuple[Program, Memory]:
    with TemporaryDirectory() as directory:
        log = Path(directory) / "step.log"
        log.write_bytes(gzip.decompress(path.read_bytes()))
        (program,) = load_all(log)
        return program, computed_memory(program)


@pytest.mark.parametrize("name", MEASURED)
def test_the_peak_is_within_ten_percent_of_what_was_measured(name: str) -> None:
    program, memory = step(name)
    inputs = sum(node.outputs[0].bytes or 0 for node in program.main.parameters)
    measured = inputs + MEASURED[name]["compiled"]
    assert abs(memory.peak_bytes / measured - 1) < 0.1
    assert memory.unknown == 0


def test_values_of_both_halves_have_their_kinds_and_reasons() -> None:
    program, memory = step("conv")
    rows = {(buffer.graph, buffer.name, buffer.kind): buffer for buffer, _ in memory.live(memory.peak)}
    relu = rows["forward", "buf9", "saved"]
    assert (relu.bytes, relu.why) == (
        32 * 32 * 64 * 64 * 4,
        "saved for backward: buf16 (threshold_backward, native_batch_norm_backward) needs relu",
    )
    assert memory.graphs[relu.born] == "forward" and memory.graphs[relu.last] == "backward"
    operands = 4 * (32 * 64 * 64 * 64 + 32 * 32 * 64 * 64 + 64 * 32 * 3 * 3)
    assert rows["backward", "buf9", "workspace"].bytes == operands, "cuDNN copies channels-first operands"
    assert rows["backward", "buf9{1}", "gradient"].type == program["backward"]["buf9"].outputs[1]


def test_what_is_written_over_a_value_is_in_its_memory() -> None:
    _, memory = step("linear")
    buffers = {(buffer.graph, buffer.name): buffer for buffer in memory.buffers}
    saved, over = buffers["forward", "buf0"], buffers["backward", "buf0"]
    assert saved.slot == over.slot and saved.last == over.born, "buf0 = addmm; del addmm  # reuse"


def test_what_if_distinguishes_the_values_of_both_halves() -> None:
    program, memory = step("transformer")
    answer = answer_to(Planner(program, memory), [], suggests=True)
    assert answer.result.memory.live_peak < 0.8 * memory.live_peak
    assert {buffer.graph for each in answer.suggestions for buffer in each.buffers} == {"forward"}
    planner = Planner(*step("mlp_gelu"))  # without names of modules
    with pytest.raises(OpscopeError, match="buf1 is in backward, forward; say which, as in forward/buf1"):
        planner.what_if([Change("recompute", "buf1")])
    once = set(planner.what_if([Change("offload", "forward/buf1")]).memory.buffers) - set(planner.memory.buffers)
    assert {(buffer.graph, buffer.node) for buffer in once} == {("forward", "buf1")}
    suggested = answer_to(planner, [], suggests=True)
    assert all(change.node.startswith("forward/") for change in suggested.changes) and "torch.utils.checkpoint" in suggested.advice[0]


def launch_of(code: str, name: str) -> str:
    """The line of generated code that launches what first writes a buffer."""
    lines = [line for line in code.splitlines() if re.search(rf"(run|extern_kernels|torch\.ops)\S*\(.*\b{name}\b", line)]
    return lines[0] if lines else ""


@pytest.mark.parametrize("path", [PROVENANCE, *(STEPS / f"{name}.log.gz" for name in MEASURED)], ids=lambda path: path.name)
def test_the_launch_in_a_reason_reads_the_value(path: Path) -> None:
    """Against the text of the generated code: a value has a name in what the forward returns, and the launch reads that name."""
    log = gzip.decompress(path.read_bytes()).decode().replace("\n\t", "\n")
    backward = log[log.rindex("    def call(self, args):") :]
    reused = dict(_reuses(backward))
    program, memory = read(path)
    saved = [buffer for buffer in memory.buffers if buffer.kind == "saved"]
    assert saved
    for buffer in saved:
        reason = re.match(r"saved for backward: (?:a copy of \S+, which )?(\w+) \([\w, ]+\) needs\b", buffer.why)
        assert reason, buffer.why
        output = int(buffer.output.strip("{}") or 0)
        names = {name for number, name, _ in program["forward"][buffer.node].attrs["values"] if number == output}
        for name in list(names):
            while name in reused:
                name = reused[name]
                names.add(name)
        call = launch_of(backward, reason[1])
        assert any(re.search(rf"\b{name}\b", call) for name in names), (buffer.name, buffer.why, call)


def _reuses(code: str) -> list[tuple[str, str]]:
    """(old, new) names of buffers in the same memory."""
    return [(old, new) for new, old in re.findall(r"^ *(\w+) = (?:reinterpret_tensor\()?(\w+)\b.*# reuse", code, re.M)]


def test_reasons_name_nodes_and_parameters_of_the_model() -> None:
    _, memory = read(PROVENANCE)
    rows = {(buffer.graph, buffer.name): buffer for buffer in memory.buffers}
    assert rows["forward", "buf5"].why == "saved for backward: buf24 (gelu_backward) needs linear for the gradient of gelu"
    assert rows["forward", "buf6"].why == "saved for backward: buf21 (mm) needs gelu for the gradient of blocks.0.down.weight"
    assert (
        rows["forward", "buf7"].why
        == "saved for backward: buf15 (native_layer_norm_backward) needs linear_1 for the gradient of layer_norm_1"
    )
    weight = next(buffer for buffer in memory.buffers if buffer.why == "parameter blocks.1.up.weight")
    assert (weight.kind, weight.scope, weight.bytes) == ("parameter", ("blocks", "1", "up"), 256 * 64 * 4)
    gradients = sorted(buffer.why for buffer in memory.buffers if buffer.kind == "gradient")
    parameters = sorted(f"gradient of {buffer.why.removeprefix('parameter ')}" for buffer in memory.buffers if buffer.kind == "parameter")
    assert gradients == parameters, "each parameter has its gradient"
    layers = equal_lines(buffer for buffer in memory.alive(memory.peak) if buffer.kind == "saved")
    assert [buffer.name for buffer in layers[0]] == ["buf5", "buf13"], "the same line in both layers"
