"""What the values of a loop are, from what JAX says about a scan, and from the body of a while."""

from __future__ import annotations

from pathlib import Path

import pytest

import opscope
from opscope.analysis.info import info_of
from opscope.analysis.loop_slots import loops_of
from opscope.analysis.loops import times_text
from opscope.program import Program, ProgramBuilder, TensorType

SAMPLES = Path(__file__).parent / "samples"


@pytest.mark.parametrize("name", ["step_lowered", "step_compiled"])
def test_the_slots_of_a_while(name: str) -> None:
    """The forward loop reads the weights of a layer and stacks what backward needs; the backward loop reads that, and stacks gradients."""
    program = opscope.load(SAMPLES / "hlo" / f"{name}.hlo")
    counts = [{slot: len(types) for slot, types in loop.types.items() if types} for loop in loops_of(program)]
    assert counts == [
        {"carried value": 2, "stacked output": 3, "stacked input": 1},
        {"carried value": 2, "stacked output": 1, "stacked input": 4},
    ]
    assert [loop.trips for loop in loops_of(program)] == [3, 3]
    (forward, _) = info_of(program).loops
    assert forward.bytes == {"carried value": 36, "stacked output": 288, "stacked input": 192}


def scanned() -> Program:
    f32, stack = TensorType("f32", (4,)), TensorType("f32", (24, 4))
    program = ProgramBuilder("scanned", "main")
    main = program.graph("main")
    for name, kind in (("table", f32), ("x", f32), ("weights", stack)):
        main.node(name, "input", (), [kind], role="input")
    attrs = {"num_consts": 1, "num_carry": 1, "length": 24}
    main.node("scan.1", "scan", [("table", 0), ("x", 0), ("weights", 0)], [f32, stack], calls=["body"], attrs=attrs)
    body = program.graph("body")
    for name in ("table", "x", "weight"):
        body.node(name, "parameter", (), [f32], role="parameter")
    body.outputs = [("x", 0), ("weight", 0)]
    return program.build()


def test_the_slots_of_a_scan() -> None:
    program = scanned()
    (loop,) = loops_of(program)
    assert {slot: [str(kind) for kind in types] for slot, types in loop.types.items()} == {
        "constant": ["f32[4]"], "carried value": ["f32[4]"], "stacked input": ["f32[24, 4]"], "stacked output": ["f32[24, 4]"],
    }  # fmt: skip
    assert times_text(program, program.main, program.main["scan.1"]) == "×24"
    assert times_text(program, program.main, program.main["x"]) == ""
