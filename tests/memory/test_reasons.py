"""Reasons that a person has checked against the text of the program."""

from __future__ import annotations

import json
import re
import tarfile
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, load_file

import opscope
from opscope.memory.read_from import remember_source
from opscope.memory.shown import memory_of
from opscope.program import BACKWARD, DIRECTION_ATTR, FORWARD, Frame, ProgramBuilder, TensorType
from opscope.readers.hlo import parse_hlo


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
                assert forward != buffer.node and reads(forward, buffer.node), (buffer.node, buffer.why)
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


def test_a_product_is_named_only_if_the_gradient_is_certainly_its_own() -> None:
    """`x` goes into three products with weights of one size, so the gradient of any of them may be meant; `h` goes into one of that size,
    and into one that is larger. Neither a value itself nor what the backward half computes is differentiated."""
    builder = ProgramBuilder("step", "main")
    main = builder.graph("main")
    small, large, rows = TensorType("f32", (4, 4)), TensorType("f32", (4, 9)), TensorType("f32", (8, 4))
    for name, type_ in {"a": rows, "q": small, "k": small, "v": small, "o": small, "p": large}.items():
        main.node(name, "parameter", outputs=[type_], role="parameter")
    line = [Frame("model.py", 3, "attend")]

    def node(name: str, op: str, inputs: list[str], type_: TensorType, direction: str) -> None:
        refs = [(each, 0) for each in inputs]
        main.node(name, op, refs, [type_], source=line, scope=("attend",), attrs={DIRECTION_ATTR: direction})

    node("x", "tanh", ["a"], rows, FORWARD)
    for weight in ("q", "k", "v"):
        node(f"{weight}.dot", "dot", ["x", weight], rows, FORWARD)
    node("h", "add", ["q.dot", "k.dot", "v.dot"], rows, FORWARD)
    node("o.dot", "dot", ["h", "o"], rows, FORWARD)
    node("p.dot", "dot", ["h", "p"], TensorType("f32", (8, 9)), FORWARD)
    node("seed", "multiply", ["o.dot", "o.dot"], rows, BACKWARD)
    node("o.grad", "dot", ["h", "seed"], small, BACKWARD)
    node("q.grad", "dot", ["x", "seed"], small, BACKWARD)
    main.outputs += [("p.dot", 0), ("o.grad", 0), ("q.grad", 0)]
    whys = {buffer.node: buffer.why for buffer in memory_of(builder.build()).buffers if buffer.kind == "saved"}
    assert whys["x"] == "saved for backward: q.grad needs it"
    assert whys["h"] == "saved for backward: o.grad needs it for the gradient of o.dot"


@pytest.mark.parametrize("name", ["blocks", "scan"])
def test_neither_a_value_itself_nor_a_backward_node_is_differentiated(name: str, tmp_path: Path) -> None:
    with tarfile.open(Path(__file__).parent / "gpu_advice" / f"{name}.tar.gz") as tar:
        tar.extractall(tmp_path, filter="data")
    (file,) = tmp_path.glob("*_after_optimizations.txt")
    (program,) = parse_hlo(file.read_text("utf-8"))
    loops = {node.id for node in program.main if node.calls and node.op == "while"}
    remember_source(str(file), program)
    saved = [buffer for buffer in memory_of(program).buffers if buffer.kind == "saved"]
    named = [(each, match) for each in saved if (match := re.search(r"(\S+) needs it for the gradient of (\S+)", each.why))]
    assert named
    for buffer, match in named:
        assert match[2] in loops or match[2] not in (buffer.node, match[1]), f"{buffer.name}: {buffer.why}"
