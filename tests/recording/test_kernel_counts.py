"""How many kernels became of how many operations, from the stages of a recording."""

from __future__ import annotations

from pathlib import Path

import opscope
from opscope.program import Program, ProgramBuilder
from opscope.recording.kernel_counts import kernel_counts


def of_operations(count: int) -> Program:
    program = ProgramBuilder("module", "main")
    main = program.graph("main")
    main.node("x", "input", role="input")
    for number in range(count):
        main.node(f"op.{number}", "relu", [("x", 0)])
    return program.build()


def test_operations_are_counted_before_the_compiler_lowers_them(tmp_path: Path) -> None:
    with opscope.record(tmp_path / "run.opscope") as recorder:
        for stage, count in (("joint", 9), ("post-grad", 7), ("scheduler", 5), ("code generation", 1)):
            with recorder.pipeline(stage):
                recorder.snapshot(of_operations(count), "after")
    assert [str(each) for each in kernel_counts(opscope.open_recording(tmp_path / "run.opscope"))] == ["7 operations → 1 kernel"]


def test_without_generated_code_there_is_nothing_to_count(tmp_path: Path) -> None:
    with opscope.record(tmp_path / "run.opscope") as recorder, recorder.pipeline("post-grad"):
        recorder.snapshot(of_operations(2), "after")
    assert kernel_counts(opscope.open_recording(tmp_path / "run.opscope")) == []
