"""The model: immutable, checked when built, readable when printed, for any size and with cycles."""

from __future__ import annotations

import pytest
from programs import F32, everything

from opscope.ellipsis import ellipsize
from opscope.errors import SourceError
from opscope.program import Graph, Node, Program, ProgramBuilder, TensorType, dtype_bits


def test_print_has_one_line_per_node_with_types_operands_and_attributes() -> None:
    builder = ProgramBuilder("softmax")
    graph = builder.graph("main")
    scores = TensorType("float32", (12, 128, 128))
    graph.node("x_1", "Input", outputs=[scores], role="parameter")
    graph.node("x_12", "Mul", [("x_1", 0), ("x_1", 0)], [scores])
    graph.node("x_13", "Add", [("x_12", 0), ("x_1", 0)], [scores])
    graph.node("x_14", "Softmax", [("x_13", 0)], [scores], attrs={"axis": 2})
    graph.outputs.append(("x_14", 0))
    assert str(builder.build().main).splitlines() == [
        "main(x_1: float32[12, 128, 128]):",
        "    x_12: float32[12, 128, 128] = Mul(x_1, x_1)",
        "    x_13: float32[12, 128, 128] = Add(x_12, x_1)",
        "    x_14: float32[12, 128, 128] = Softmax(x_13, axis=2)",
        "    return x_14",
    ]


def test_print_has_one_line_per_node_whatever_an_attribute_contains() -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("main")
    task = "Task(\n  name: fused\n\n  parameters:\r\n    x: tensor\u2028)"
    names = [f"Operator{i}" for i in range(40)]
    attrs = {"task": task, "fused": names, "text": "x" * 300, "one": (1,), "big": [3.5] * 100_000}
    graph.node("a", "Fused", outputs=[F32], attrs=attrs)
    graph.node("b", "const", outputs=[F32], role="constant", attrs={"value": "1\n2"})
    program = builder.build()
    header, cut, constant = str(program.main).splitlines()[:3]
    assert (header, constant) == ("main():", f"    b: {F32} = const(value=1 2)")
    assert repr(program.main["b"]) == f"<Node b: {F32} = const(1 2)>"
    assert len(str(program.main).splitlines()) == 4
    assert "task=Task( name: fused parameters: x: tensor )" in cut and "one=(1,)" in cut
    assert "'Operator6', … 40 in total]" in cut and f"text={'x' * 96}…," in cut and "… 100,000 in total]" in cut
    whole = program.text(whole=True).splitlines()[1]
    assert f"fused={names}" in whole and "x" * 300 in whole and "…" not in whole


def test_repr_says_what_and_how_much() -> None:
    program = everything()
    assert repr(program) == "<Program jit_step: 6 nodes in 2 graphs, entry main.7>"
    assert repr(program.main) == "<Graph main.7: 4 nodes, 1 parameters, 1 outputs>"
    assert repr(program.main["add.3"]) == "<Node add.3: f32[2, 3] = fusion(Arg_0.1, pair#1)>"


def test_a_built_program_cannot_be_changed() -> None:
    program = everything()
    with pytest.raises(AttributeError):
        program.name = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        program.graphs["x"] = program.main  # type: ignore[index]
    with pytest.raises(AttributeError):
        program.main.nodes[0].id = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        program.main["add.3"].attrs["x"] = 1  # type: ignore[index]


def test_builder_errors_name_the_line() -> None:
    for wrong, message in (
        (Node("a", "add"), "duplicate id 'a'"),
        (Node("b", "add", (("c", 0),)), "input 'c' of 'b' is not a node"),
        (Node("b", "add", (("a", 1),)), "'b' uses output 1 of 'a', which has 1"),
        (Node("b", "call", calls=("nowhere",)), "calls 'nowhere', which is not a graph"),
        (Node("b", "add", control=("c",)), "control predecessor 'c' of 'b' is not a node"),
    ):
        builder = ProgramBuilder("p")
        graph = builder.graph("g")
        graph.add(Node("a", "parameter", outputs=(F32,)), 10)
        graph.add(wrong, 11)
        with pytest.raises(SourceError, match=message) as caught:
            builder.build()
        assert caught.value.line == 11
    with pytest.raises(SourceError, match="entry 'h' is not a graph of the program; there are: g"):
        builder = ProgramBuilder("p", "h")
        builder.graph("g")
        builder.build()


def test_cycles_forward_references_and_empty_graphs_are_programs_too() -> None:
    builder = ProgramBuilder("p", "cycle")
    builder.graph("empty")
    graph = builder.graph("cycle")
    graph.node("a", "add", [("b", 0)], [F32])
    graph.node("b", "add", [("a", 0)], [F32], calls=["cycle"])
    program = builder.build()
    assert program.main.users == {"b": ("a",), "a": ("b",)}
    assert program.callers == {"cycle": (("cycle", "b"),)}
    assert str(program["empty"]) == "empty():\n    return "


@pytest.mark.slow
def test_a_chain_of_many_nodes_needs_no_recursion() -> None:
    builder = ProgramBuilder("p")
    graph = builder.graph("g")
    graph.node("0", "parameter", outputs=[F32], role="parameter")
    for i in range(1, 50_000):
        graph.add(Node(str(i), "add", ((str(i - 1), 0),), (F32,)))
    graph.outputs.append(("49999", 0))
    built = builder.build().main
    assert len(built) == 50_000 and built.users["49998"] == ("49999",) and sum(1 for _ in built.lines()) == 50_001


def test_sizes_of_types() -> None:
    assert TensorType("f32", (2, 3)).bytes == 24
    assert TensorType("s4", (3,)).bytes == 2
    assert TensorType("f32", ("s0", 3)).bytes is None and TensorType("f32", ("<=10",)).elements is None
    assert TensorType("opaque").bytes is None
    sizes = {"pred": 8, "bool": 8, "bf16": 16, "bfloat16": 16, "f8e4m3fn": 8, "float8_e5m2": 8, "c64": 64, "uint8": 8, "token": 0}
    sizes |= {"x": None}  # type: ignore[dict-item]
    assert {dtype: dtype_bits(dtype) for dtype in sizes} == sizes


def test_a_graph_behaves_like_a_list_of_nodes_with_lookup_by_id() -> None:
    graph = everything().main
    assert list(graph) == [graph[i] for i in range(len(graph))] == list(graph[:]) and list(reversed(graph)) == list(graph[::-1])
    assert graph[1] is graph[graph[1].id] and graph[-1] is graph.nodes[-1] and graph[1:3] == graph.nodes[1:3]
    assert all(node in graph and node.id in graph for node in graph)
    assert graph[0]._replace(op="other") not in graph and "nowhere" not in graph and 0 not in graph
    with pytest.raises(KeyError):
        graph["nowhere"]
    with pytest.raises(IndexError):
        graph[len(graph)]


def test_a_program_behaves_like_a_list_of_graphs_with_lookup_by_name() -> None:
    program = everything()
    assert list(program) == [program[i] for i in range(len(program))] == list(program.graphs.values())
    assert len(program) == 2 and program.node_count == sum(len(graph) for graph in program) == 6
    assert program[0] is program[program[0].name] and program[:1] == (program[0],)
    assert all(graph in program and graph.name in program for graph in program)
    assert Graph("main.7", ()) not in program and "nowhere" not in program
    assert bool(program) and not Graph("empty", ())
    with pytest.raises(KeyError):
        program["nowhere"]


def test_long_texts_are_cut_to_the_requested_length() -> None:
    assert ellipsize("abcdefgh", 8) == "abcdefgh" == ellipsize("abcdefgh", 8, middle=True)
    assert ellipsize("abcdefgh", 5) == "abcd…" and ellipsize("abcdefgh", 5, middle=True) == "ab…gh"
    assert ellipsize("abcdefgh", 4, middle=True) == "ab…h" and ellipsize("abcdefgh", 1, middle=True) == "…"


def test_equality_compares_content_not_how_details_are_stored() -> None:
    assert everything() == everything()
    graph = everything().main
    assert Graph(graph.name, graph.nodes[:-1]) != graph


def calling(calls: dict[str, list[str]], entry: str) -> Program:
    """A program of graphs that only call each other."""
    builder = ProgramBuilder("calls", entry)
    for name, called in calls.items():
        builder.graph(name).node("call", "call", calls=called)
    return builder.build()


def names(graphs: list[Graph]) -> list[str]:
    return [graph.name for graph in graphs]


def test_callees_come_first_and_the_entry_last() -> None:
    program = calling({"main": ["left", "right"], "unused": ["leaf"], "left": ["leaf"], "right": ["left", "leaf"], "leaf": []}, "main")
    assert names(program.callees_first()) == ["leaf", "unused", "left", "right", "main"]
    assert names(program.callees_first(["right"])) == ["leaf", "left", "right"]


def test_cycles_of_calls_and_chains_of_any_depth_have_an_order() -> None:
    assert names(calling({"b": ["a", "b"], "a": ["b"]}, "a").callees_first()) == ["b", "a"]
    deep = calling({str(i): [str(i + 1)] if i < 5000 else [] for i in range(5001)}, "0")
    assert names(deep.callees_first()) == [str(i) for i in range(5000, -1, -1)]
