"""The code of kernels, and every line of the user's program that they compute: in dumps of XLA, logs of torch.compile, and recordings."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import opscope
from opscope.analysis.contributing import contributing_lines
from opscope.cli import main
from opscope.errors import OpscopeError
from opscope.program import Frame, Program
from opscope.recording.kernel_code import kernel_code
from opscope.recording.sources import open_recording

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
XLA_FOR_GPUS = """; ModuleID = 'jit_step'
define void @fusion_12(ptr %0) {
entry:
  ret void
}

define void @"other"(ptr %0) {
  ret void
}
"""
PTX = """.version 8.7
.visible .entry fusion_12(
	.param .u64 fusion_12_param_0
)
{
	ret;
}
.visible .entry other()
{
	ret;
}
"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a real compilation for a GPU."""
    path = tmp_path_factory.mktemp("log") / "dedicated_log_torch_trace.log"
    path.write_bytes(gzip.decompress((SAMPLES / "kineto" / "compiled.log.gz").read_bytes()))
    return path


def test_kernels_of_a_torch_log_have_their_triton_code_and_all_lines(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recording = open_recording(log)
    launches = [node for graph in recording[-1].program for node in graph if node.op.startswith("triton_")]
    assert launches and all(f"def {node.op}(" in node.attrs["code"] for node in launches)
    fused = next(node for node in launches if "norm" in node.op)
    found = next(code for code in kernel_code(recording, fused.id) if code.language == fused.op)
    assert found.text == fused.attrs["code"] and [line.frame for line in found.lines] == list(fused.source[:1])
    assert main(["passes", str(log), "--code", fused.op]) == 0
    shown = capsys.readouterr().out
    assert f"def {fused.op}(" in shown and str(found.lines[0].frame) in shown
    library = [node for graph in recording[-1].program for node in graph if node.op.startswith("extern_kernels")]
    assert library and not any("opscope.lines" in node.attrs for node in library), "operands are not computed by the call"


def test_other_nodes_have_no_code_and_the_error_says_where_it_comes_from(log: Path) -> None:
    recording = open_recording(log)
    with pytest.raises(OpscopeError, match=r"no code for 'output'; XLA writes it .* codegen=True or TORCH_TRACE"):
        kernel_code(recording, "output")
    with pytest.raises(OpscopeError, match="no pass has a node 'absent'"):
        kernel_code(recording, "absent")


def test_files_of_a_gpu_module_have_a_function_for_each_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """XLA for GPUs writes one file for a module. A kernel has the name of its instruction, without dots."""
    from support.hlo_texts import write_dump

    dump = write_dump(tmp_path / "dump")
    (dump / "module_0007.jit_step.ptx").write_text(PTX)
    (dump / "module_0007.jit_step.ir-with-opt.ll").write_text(XLA_FOR_GPUS)
    codes = kernel_code(open_recording(dump), "fusion.12")
    assert [code.language for code in codes] == ["PTX", "LLVM, optimized"]
    assert codes[0].text.startswith(".visible .entry fusion_12(") and codes[0].text.endswith("\tret;\n}")
    assert codes[1].text == "define void @fusion_12(ptr %0) {\nentry:\n  ret void\n}"
    assert main(["passes", str(dump), "--code", "fusion.12"]) == 0
    assert "\n        ret;\n" in capsys.readouterr().out, "a tab is not a control character to be escaped"
    for name in ("fusion.12.before_validation.ttir.txt", "fusion.12.ttir.txt", "fusion.13.ttir.txt"):
        (dump / f"module_0007.jit_step.{name}").write_text(f"module {{ // {name}\n}}")
    triton = kernel_code(open_recording(dump), "fusion.12")[0]
    assert triton.language == "Triton IR" and triton.text == "module { // fusion.12.ttir.txt\n}"


@pytest.mark.frameworks
def test_kernels_of_xla_have_their_llvm_code_and_the_lines_of_what_is_fused(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")

    def step(x):
        y = jax.numpy.sin(x) * 2
        y = y + x
        return jax.numpy.exp(y)

    x = jax.numpy.ones((8, 16))
    first = step.__code__.co_firstlineno
    with opscope.record(tmp_path / "run.opscope") as recorder:
        recorder.jax(step, x)
    jax.jit(step).lower(x).compile({"xla_dump_to": str(tmp_path / "dump"), "xla_dump_hlo_pass_re": ".*"})
    for source in ("run.opscope", "dump"):
        recording = open_recording(tmp_path / source)
        (fusion,) = [node for node in recording[-1].program.main if node.op == "fusion"]
        codes = kernel_code(recording, fusion.id)
        assert [code.language for code in codes] == ["LLVM, optimized", "LLVM"]
        assert f"@{fusion.id}(" in codes[0].text
        assert [line.frame.line - first for line in codes[0].lines if line.frame.file == __file__] == [1, 2, 3]
    opscope.save(open_recording(tmp_path / "dump"), tmp_path / "copy.opscope")
    assert [code.text for code in kernel_code(open_recording(tmp_path / "copy.opscope"), fusion.id)] == [code.text for code in codes]


def test_a_loop_over_the_whole_model_has_only_its_own_line() -> None:
    builder = opscope.ProgramBuilder("big", "main")
    body = builder.graph("body")
    for i in range(10_001):
        body.node(f"x{i}", "add", (), source=[Frame("model.py", i + 1)])
    builder.graph("main").node("loop", "while", (), calls=["body"], source=[Frame("train.py", 7)])
    program: Program = builder.build()
    assert [(line.frame.file, line.frame.line) for line in contributing_lines(program, "main", "loop")] == [("train.py", 7)]
