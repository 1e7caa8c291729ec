"""hidet's netron JSON: a tensor is repeated wherever it is used, and its name connects the uses."""

from __future__ import annotations

from typing import Any

from opscope.errors import blamed_on_source
from opscope.json_text import parsed_json
from opscope.program import PRINTED, GraphBuilder, Program, ProgramBuilder, TensorType, ValueRef, whole_number
from opscope.readers.hidet.attributes import CATEGORY, FUSED, FUSED_GRAPH, TASK, VERBATIM, value_of, verbatim_of
from opscope.readers.hidet.text import read_flow_text


def read_netron(text: str, name: str = "hidet") -> Program:
    model = parsed_json(text)
    with blamed_on_source("is not hidet's netron JSON"):
        graphs = model["graphs"]
        program = ProgramBuilder(name, "main")
        program.attrs.update({key: value for key, value in model.items() if key != "graphs" and value})
        program.attrs["ids"] = "positions"
        for i, content in enumerate(graphs):
            _graph(program, program.graph("main" if i == 0 else f"graph {i}"), content)
        return program.build()


def _graph(program: ProgramBuilder, graph: GraphBuilder, content: dict[str, Any]) -> None:
    value: dict[str, ValueRef] = {}

    def source(argument: dict[str, Any]) -> ValueRef:
        """The value of an argument. A value without a producer is a constant, added at its first use."""
        name = argument["name"]
        if name not in value:
            initializer = argument.get("initializer") or {}
            held = initializer.get("value", "<>")
            graph.node(name, "const", (), [_type(argument)], role="constant", attrs={"value": held} if held != "<>" else {})
            value[name] = (name, 0)
        return value[name]

    for i, parameter in enumerate(content["inputs"]):
        argument = parameter["arguments"][0]
        graph.node(argument["name"], "input", (), [_type(argument)], role="input", attrs={"parameter_number": i})
        value[argument["name"]] = (argument["name"], 0)
    for node in content["nodes"]:
        inputs = [source(argument) for parameter in node["inputs"] for argument in parameter["arguments"]]
        outputs = [argument for parameter in node["outputs"] for argument in parameter["arguments"]]
        written = {str(each["name"]): (str(each.get("type", "")), str(each["value"])) for each in node.get("attributes") or ()}
        _, fused_text = written.get(FUSED_GRAPH, ("", ""))
        calls = []
        if fused_text.startswith("Graph("):
            calls = [f"{node['name']}.fused"]
            del written[FUSED_GRAPH]
        values = {name: (value_of(form), form) for name, form in written.items()}
        attrs: dict[str, Any] = {name: value for name, (value, _) in values.items()}
        if verbatim := verbatim_of(values):
            graph.attrs.setdefault(VERBATIM, {})[node["name"]] = verbatim
        if calls:
            fused = program.graph(calls[0])
            fused.attrs[PRINTED] = fused_text
            read_flow_text(fused, fused_text)
            attrs[FUSED] = [each.op for each in fused.nodes if each.role == "op"]
        if node.get("description"):
            attrs[TASK] = "\n".join(node["description"]) if isinstance(node["description"], list) else node["description"]
        if node["type"].get("category"):
            attrs[CATEGORY] = node["type"]["category"]
        graph.node(node["name"], node["type"]["name"], inputs, [_type(argument) for argument in outputs], attrs=attrs, calls=calls)
        value.update((argument["name"], (node["name"], i)) for i, argument in enumerate(outputs))
    graph.outputs = [source(parameter["arguments"][0]) for parameter in content["outputs"]]


def _type(argument: dict[str, Any]) -> TensorType:
    described = argument["type"]
    dims = described["shape"]["dimensions"]
    return TensorType(described["dataType"], tuple(str(dim) if (size := whole_number(dim)) is None else size for dim in dims))
