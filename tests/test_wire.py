"""The wire format has everything of a program that the viewer needs, is small, and can be sent in pieces."""

from __future__ import annotations

import math
import zlib
from typing import Any

import pytest
from hypothesis import given
from programs import everything, programs
from support.wire_reader import WireReader, read_details, read_program

from opscope.analysis.node_text import node_text
from opscope.ops import FORWARDS
from opscope.program import DIRECTION_ATTR, DTYPE_KINDS, Frame, Node, Program, ProgramBuilder, TensorType
from opscope.render.wire.details import encode_details
from opscope.render.wire.program import encode_wire

_COMPARED = ("id", "op", "role", "outputs", "inputs", "calls", "control", "links")


def _check(program: Program) -> None:
    """Every node, edge, type and call is on the wire as it is in the program."""
    wire = read_program(encode_wire(program))
    assert (wire.name, wire.entry) == (program.name, program.entry)
    assert list(wire.graphs) == list(program.graphs)
    assert wire.outputs == {graph.name: list(graph.outputs) for graph in program}
    for graph in program:
        assert [_row(node) for node in graph.nodes] == [{name: row[name] for name in _COMPARED} for row in wire.graphs[graph.name]]
    nodes = [node for graph in program for node in graph.nodes]
    assert [row["source"] for row in wire.nodes] == [[tuple(frame) for frame in node.source] for node in nodes]
    assert [list(row["attrs"]) for row in wire.nodes] == [list(node.attrs) for node in nodes]
    assert wire.groupings["module"] == [node.scope for node in nodes]


def _row(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "op": node.op,
        "role": node.role,
        "outputs": [(str(kind), kind.layout) for kind in node.outputs],
        "inputs": list(node.inputs),
        "calls": list(node.calls),
        "control": list(node.control),
        "links": [(link.kind, link.graph, link.node) for link in node.links],
    }


def test_one_of_everything_arrives() -> None:
    _check(everything())


@pytest.mark.slow
@given(programs())
def test_any_program_arrives(program: Program) -> None:
    _check(program)


def test_details_can_be_left_out_and_sent_in_pieces() -> None:
    program = everything()
    assert "details" not in WireReader(encode_wire(program, details=False))
    whole = read_program(encode_wire(program)).nodes
    pieces = [read_details(encode_details(program, start, start + 2)) for start in range(0, program.node_count, 2)]
    assert [entry for piece in pieces for entry in piece] == [{"attrs": node["attrs"], "source": node["source"]} for node in whole]
    assert WireReader(encode_details(program, 2, 4)).fields["start"] == 2


def test_values_that_json_lacks_become_text() -> None:
    builder = ProgramBuilder("odd")
    graph = builder.graph("main")
    graph.node("x", "op", attrs={"nan": math.nan, "list": [math.inf], "set": {1}, "object": TensorType("f32", (2,)), "none": None})
    attrs = read_program(encode_wire(builder.build())).nodes[0]["attrs"]
    assert attrs == {"nan": "nan", "list": "[inf]", "set": [1], "object": ["f32", [2], ""], "none": None}


def test_groupings_follow_from_source_op_and_direction() -> None:
    builder = ProgramBuilder("train")
    graph = builder.graph("main")
    frame = Frame("/home/me/project/model.py", 12, "attention")
    graph.node("a", "dot", scope=("step", "layer_0"), attrs={DIRECTION_ATTR: "forward"}, source=[frame])
    graph.node("b", "dot", [("a", 0)], scope=("step", "layer_0"), attrs={DIRECTION_ATTR: "backward"})
    graph.node("c", "add", [("b", 0)], scope=("step", "adam"))
    graph.group("partition", "c", ("p0",))
    groupings = read_program(encode_wire(builder.build())).groupings
    assert list(groupings) == ["direction", "module", "partition", "source line", "op"], "the default comes first"
    assert groupings["direction"] == [("step", "forward", "layer_0"), ("step", "backward", "layer_0"), ("step", "update", "adam")]
    assert groupings["module"] == [("step", "layer_0"), ("step", "layer_0"), ("step", "adam")]
    assert groupings["partition"] == [(), (), ("p0",)]
    assert groupings["source line"] == [("project/model.py", "attention:12"), (), ()]
    assert groupings["op"] == [("dot",), ("dot",), ("add",)]


def test_facts_of_operations_arrive_once_for_each_name() -> None:
    builder = ProgramBuilder("ops")
    graph = builder.graph("main")
    graph.node("a", "aten.add.Tensor")
    graph.node("t", "tuple", [("a", 0)])
    graph.node("b", "aten.add.Tensor")
    wire = WireReader(encode_wire(builder.build()))
    strings = wire.strings("strings")
    assert wire.column("nodeOp") == [0, 1, 0]
    assert [[strings[text] for text in wire.column(f"ops.{name}")] for name in ("name", "title", "sign")] == [
        ["aten.add.Tensor", "tuple"], ["add", "tuple"], ["+", ""],
    ]  # fmt: skip
    assert wire.column("ops.forwards") == [FORWARDS.index(""), FORWARDS.index("tuple")]


def test_what_a_type_is_arrives_as_numbers() -> None:
    kinds = {
        "f32": "float",
        "bf16": "float",
        "f8e4m3fn": "float",
        "float64": "float",
        "c64": "complex",
        "s32": "integer",
        "u8": "integer",
        "int64": "integer",
        "pred": "boolean",
        "bool": "boolean",
        "key<fry>": "key",
        "token": "other",
        "(f32[2], s32[])": "other",
    }
    builder = ProgramBuilder("types")
    for dtype in kinds:
        builder.graph(dtype).node("x", "op", outputs=[TensorType(dtype, (2, "s0"))])
    wire = WireReader(encode_wire(builder.build()))
    assert [DTYPE_KINDS[kind] for kind in wire.column("types.kind")] == list(kinds.values())
    assert wire.column("types.rank") == [2] * len(kinds)


def test_without_a_backward_half_modules_are_the_default() -> None:
    assert next(iter(read_program(encode_wire(everything())).groupings)) == "module"


def test_groups_within_groups_take_time_by_their_number_not_their_depth() -> None:
    """Names of ONNX nodes are paths, and may have thousands of slashes. Groups found by their whole path take minutes here."""
    builder = ProgramBuilder("deep")
    graph = builder.graph("main")
    deep = ("a",) * 10_000
    for number in range(100):
        graph.node(f"n{number}", "relu", outputs=[TensorType("f32")], scope=(*deep, str(number)))
    wire = read_program(encode_wire(builder.build()))
    assert wire.groupings["module"] == [(*deep, str(number)) for number in range(100)]


def test_short_texts_are_values_labels_and_routines() -> None:
    builder = ProgramBuilder("texts")
    graph = builder.graph("main")
    nodes = [
        graph.node("c", "constant", role="constant", attrs={"value": "0.125"}),
        graph.node("p", "parameter", role="parameter", attrs={"metadata.op_name": "params['w']"}),
        graph.node("k", "custom-call", attrs={"custom_call_target": '"__cublas$gemm"'}),
        graph.node("long", "constant", role="constant", attrs={"value": "1, " * 100}),
        graph.node("o", "add", attrs={"value": "not shown"}),
    ]
    texts = [node_text(node, node.attrs) for node in nodes]
    assert texts[:3] == ["0.125", "params['w']", "__cublas$gemm"]
    assert len(texts[3]) == 80 and texts[3].endswith("…")
    assert texts[4] == ""


def test_repetition_costs_almost_nothing() -> None:
    """A thousand layers that differ only in their numbers: a few bytes per node after compression."""
    builder = ProgramBuilder("big")
    graph = builder.graph("main")
    kind = TensorType("f32", (8, 512), "{1,0}")
    previous = graph.node("x", "parameter", outputs=[kind], role="parameter").id
    for layer in range(1000):
        for op in ("multiply", "add", "tanh"):
            attrs = {"metadata.op_name": f"jit(step)/layer_{layer}/{op}", "backend_config": '{"outer_dimension_partitions":["8"]}'}
            previous = graph.node(f"{op}.{layer}", op, [(previous, 0)], [kind], attrs=attrs, scope=("step", f"layer_{layer}")).id
    graph.outputs.append((previous, 0))
    assert len(zlib.compress(encode_wire(builder.build()), 9)) < 20 * 3000
