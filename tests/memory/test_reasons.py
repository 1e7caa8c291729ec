"""Reasons that a person has checked against the text of the program."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import ROOT, load_file

import opscope
from opscope.memory.shown import memory_of


def test_reasons_are_those_that_a_person_found_right() -> None:
    """Drawn again, the sample has the reasons that were read, and none of them was left wrong."""
    kept = [json.loads(line) for line in (ROOT / "benchmarks" / "memory_reasons.jsonl").read_text("utf-8").splitlines()]
    drawn = list(load_file(ROOT / "benchmarks" / "memory_reasons.py").rows())
    assert len(kept) == 40 and all(row["right"] for row in kept)
    assert drawn == [{name: row[name] for name in row if name not in ("right", "note", "was_wrong")} for row in kept]


@pytest.mark.frameworks
def test_a_reason_names_the_layer_that_has_the_value() -> None:
    """Layers of a Python loop have the same names and lines. Each forward instruction that a reason names has the value as its result or as
    an operand in the compiler's own text, and the backward instruction reads it."""
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def loss(weights: list[tuple[Any, Any]], x: Any) -> Any:
        for up, down in weights:
            x = x + jax.nn.gelu(x @ up) @ down
        return (x * x).sum()

    weights = [(jnp.ones((16, 64)), jnp.ones((64, 16)))] * 3
    compiled = jax.jit(jax.grad(loss)).lower(weights, jnp.ones((32, 16))).compile()
    entry = compiled.as_text().partition("\nENTRY")[2]
    operands = {name: re.findall(r"%([\w.-]+)", rest.partition("), ")[0]) for name, rest in re.findall(r"%([\w.-]+) = (.*)", entry)}

    def reads(node: str, value: str) -> bool:
        return any(name == value or (re.match("bitcast|copy", name) and reads(name, value)) for name in operands[node])

    named = 0
    for buffer in memory_of(opscope.capture(compiled)).buffers:
        reason = re.fullmatch(r"saved for backward: (\S+) needs it for the gradient of (.*)", buffer.why)
        if reason:
            assert reads(reason[1], buffer.node), buffer.why
            for forward in reason[2].split(" and "):
                named += 1
                assert forward == buffer.node or reads(forward, buffer.node), (buffer.node, buffer.why)
    assert named >= 3


@pytest.mark.frameworks
def test_the_reader_of_a_saved_value_is_named_and_not_the_end_of_its_derivative() -> None:
    """PyTorch frees what is saved when the derivative returns: the last node of a linear layer's is the sum for its bias."""
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    program = opscope.capture(model, torch.ones(2, 4), stage="joint")
    reasons = {buffer.node: buffer.why for buffer in memory_of(program).buffers if buffer.kind == "saved"}
    reader = re.fullmatch(r"saved for backward: (mm\w*) needs it for the gradient of addmm_1", reasons["gelu"])
    assert reader and program.main[reader[1]].op == "aten.mm.default", reasons
    assert re.fullmatch(r"saved for backward: gelu_backward\w* needs it for the gradient of gelu", reasons["addmm"]), reasons
    graph, kept = program.main, 0
    for buffer in memory_of(program).buffers:
        if last := re.match(r"used last by (\w+)(;?)", buffer.why):
            kept += bool(last[2])
            read = {name for name, _ in graph[last[1]].inputs}
            views = {node.id for node in graph if any(name == buffer.node for name, _ in node.inputs)}
            assert read & {buffer.node, *views}, f"{buffer.node}: {buffer.why}"
    assert kept, "what a derivative makes is there until it returns"
