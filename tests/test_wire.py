"""The wire format holds all of a program that the viewer needs, small, and in pieces where asked."""

from __future__ import annotations

import math
import zlib

import pytest
from hypothesis import given
from programs import everything, programs
from support.wire_reader import WireReader, read_details

from opscope.program import DIRECTION_ATTR, ROLES, Frame, Program, ProgramBuilder, TensorType
from opscope.render.wire.program import encode_details, encode_wire, node_text


def _check(program: Program) -> None:
    """Every node, edge, type and call stands in the columns as it stands in the program."""
    wire = WireReader(encode_wire(program))
    strings = wire.strings("strings")
    graphs = list(program)
    nodes = [(g, node) for g, graph in enumerate(graphs) for node in graph]
    starts = [sum(len(graph) for graph in graphs[:g]) for g in range(len(graphs))]

    assert wire.fields["name"] == program.name
    assert graphs[wire.fields["entry"]].name == program.entry
    assert wire.column("graph.rows") == [len(graph) for graph in graphs]
    assert [strings[i] for i in wire.column("graphName")] == [graph.name for graph in graphs]
    assert [strings[i] for i in wire.column("nodeId")] == [node.id for _, node in nodes]
    assert [strings[i] for i in wire.column("nodeOp")] == [node.op for _, node in nodes]
    assert [ROLES[i] for i in wire.column("nodeRole")] == [node.role for _, node in nodes]
    assert wire.rows("inputs") == [[starts[g] + graphs[g].position[name] for name, _ in node.inputs] for g, node in nodes]
    assert [i for row in wire.extras("inputs") for i in row] == [index for _, node in nodes for _, index in node.inputs]
    assert wire.rows("control") == [[starts[g] + graphs[g].position[name] for name in node.control] for g, node in nodes]
    assert [[graphs[g].name for g in row] for row in wire.rows("calls")] == [list(node.calls) for _, node in nodes]
    texts, layouts = wire.column("types.text"), wire.column("types.layout")
    types = [[(strings[texts[t]], strings[layouts[t]]) for t in row] for row in wire.rows("outputs")]
    assert types == [[(str(t), t.layout) for t in node.outputs] for _, node in nodes]
    assert wire.rows("graphOutputs") == [[graph.position[name] for name, _ in graph.outputs] for graph in graphs]
    kinds = [[strings[kind] for kind in row] for row in wire.rows("links")]
    assert kinds == [[link.kind for link in node.links] for _, node in nodes]

    details = read_details(wire.block("details"))
    assert [entry["source"] for entry in details] == [[tuple(frame) for frame in node.source] for _, node in nodes]
    assert [list(entry["attrs"]) for entry in details] == [list(node.attrs) for _, node in nodes]

    module = wire.fields["groupings"].index("module")
    paths = _group_paths(wire, module, strings)
    assert [paths[g] for g in wire.column(f"grouping{module}.node")] == [node.scope for _, node in nodes]


def _group_paths(wire: WireReader, number: int, strings: list[str]) -> dict[int, tuple[str, ...]]:
    paths: dict[int, tuple[str, ...]] = {-1: ()}
    columns = zip(wire.column(f"grouping{number}.name"), wire.column(f"grouping{number}.parent"), strict=True)
    for group, (name, parent) in enumerate(columns):
        assert parent < group, "a parent comes before its children"
        paths[group] = (*paths[parent], strings[name])
    return paths


def test_one_of_everything_arrives() -> None:
    _check(everything())


@pytest.mark.slow
@given(programs())
def test_any_program_arrives(program: Program) -> None:
    _check(program)


def test_details_can_be_left_out_and_sent_in_pieces() -> None:
    program = everything()
    assert "details" not in WireReader(encode_wire(program, details=False))
    whole = read_details(WireReader(encode_wire(program)).block("details"))
    pieces = [read_details(encode_details(program, start, start + 2)) for start in range(0, program.node_count, 2)]
    assert [entry for piece in pieces for entry in piece] == whole
    assert WireReader(encode_details(program, 2, 4)).fields["start"] == 2


def test_values_that_json_lacks_become_text() -> None:
    builder = ProgramBuilder("odd")
    graph = builder.graph("main")
    graph.node("x", "op", attrs={"nan": math.nan, "list": [math.inf], "set": {1}, "object": TensorType("f32", (2,)), "none": None})
    attrs = read_details(WireReader(encode_wire(builder.build())).block("details"))[0]["attrs"]
    assert attrs == {"nan": "nan", "list": "[inf]", "set": [1], "object": ["f32", [2], ""], "none": None}


def test_groupings_follow_from_source_op_and_direction() -> None:
    builder = ProgramBuilder("train")
    graph = builder.graph("main")
    frame = Frame("/home/me/project/model.py", 12, "attention")
    graph.node("a", "dot", scope=("step", "layer_0"), attrs={DIRECTION_ATTR: "forward"}, source=[frame])
    graph.node("b", "dot", [("a", 0)], scope=("step", "layer_0"), attrs={DIRECTION_ATTR: "backward"})
    graph.node("c", "add", [("b", 0)], scope=("step", "adam"))
    graph.group("partition", "c", ("p0",))
    wire = WireReader(encode_wire(builder.build()))
    strings = wire.strings("strings")
    found = {
        name: [_group_paths(wire, i, strings)[g] for g in wire.column(f"grouping{i}.node")]
        for i, name in enumerate(wire.fields["groupings"])
    }
    assert list(found) == ["direction", "module", "partition", "source line", "op"], "the default comes first"
    assert found["direction"] == [("step", "forward", "layer_0"), ("step", "backward", "layer_0"), ("step", "update", "adam")]
    assert found["module"] == [("step", "layer_0"), ("step", "layer_0"), ("step", "adam")]
    assert found["partition"] == [(), (), ("p0",)]
    assert found["source line"] == [("project/model.py", "attention:12"), (), ()]
    assert found["op"] == [("dot",), ("dot",), ("add",)]


def test_without_a_backward_half_modules_are_the_default() -> None:
    assert WireReader(encode_wire(everything())).fields["groupings"][0] == "module"


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


def test_repetition_costs_next_to_nothing() -> None:
    """A thousand layers that differ in nothing but their numbers: a few bytes a node after compression."""
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
