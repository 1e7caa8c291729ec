"""The graphs of one compilation as Programs: inputs with their names in the model, forward and backward side by side."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opscope.program import EMPTY, WHOLE, Graph, GraphBuilder, KnownDetails, Node, NodeKey, Program, ProgramBuilder, TensorType, ValueRef
from opscope.program.own_text import TextOfParts
from opscope.readers.torch.export import ENTRY, program_of_graph_module
from opscope.readers.torch.fx import INPUT, Placeholder, Signature, attribute
from opscope.readers.torch.names import attribute_path

FORWARD, BACKWARD = "forward", "backward"

_REGISTERED = re.compile(r"\._(?:parameters|buffers)\['([^']+)'\]")


def inputs_of_dynamo(module: Any) -> list[Placeholder]:
    """The inputs of Dynamo's graph, in order; parameters and buffers have their names in the model."""
    return [_input(node) for node in module.graph.nodes if node.op == "placeholder"]


def _input(node: Any) -> Placeholder:
    source = getattr(node.meta.get("grapharg"), "source", None)
    source_name = getattr(source, "name", "")
    text = str(source_name() if callable(source_name) else source_name)
    name = attribute_path(_REGISTERED.sub(r".\1", text))
    if "._buffers[" in text:
        return Placeholder("buffer", name)
    value = node.meta.get("example_value")
    if "._parameters[" in text or type(value).__name__ == "Parameter":
        return Placeholder("parameter", name, trainable=bool(getattr(value, "requires_grad", True)))
    match = re.fullmatch(r"L\['(\w+)'\]", text)
    return Placeholder("input", match[1] if match else name)


def program_of(module: Any, title: str, inputs: list[Placeholder]) -> Program:
    """The Program of a graph module of any stage. AOTAutograd numbers its inputs as Dynamo does."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    described = any("desc" in node.meta for node in placeholders)
    named = {
        node.name: _described(node.meta.get("desc"), inputs) if described else inputs[i] if i < len(inputs) else INPUT
        for i, node in enumerate(placeholders)
    }
    return program_of_graph_module(module, title, Signature(named))


def _described(description: Any, inputs: list[Placeholder]) -> Placeholder:
    kind, index = type(description).__name__, input_number(description)
    if index is not None and index < len(inputs):
        return inputs[index]
    if kind == "TangentAOTInput":
        return Placeholder("gradient", f"gradient of output {getattr(description.output, 'idx', 0)}")
    return Placeholder("saved") if "Saved" in kind or description is None else INPUT


def input_number(description: Any) -> int | None:
    """The number of the Dynamo input that an input of AOTAutograd's graph stands for; None if there is none."""
    return int(description.idx) if type(description).__name__ == "PlainAOTInput" else None


def keys_of(module: Any, program: Program) -> dict[Any, NodeKey]:
    """The key of each fx node in the program of its module, including nodes of called graphs."""
    keys: dict[Any, NodeKey] = {}
    waiting: deque[tuple[str, Any]] = deque([(ENTRY, module)])
    visited = {ENTRY}
    while waiting:
        name, inner = waiting.popleft()
        graph = program.graphs[name]
        for node in inner.graph.nodes:
            if node.name in graph:
                keys[node] = (name, node.name)
            if node.op in ("get_attr", "call_module"):
                called = node.target if name == ENTRY else f"{name}.{node.target}"
                if called in program.graphs and called not in visited:
                    visited.add(called)
                    waiting.append((called, attribute(inner, node.target)))
    return keys


def part_graph(part: str, name: str) -> str:
    """The name of a part's graph in the joined program: the entry of the forward is the graph "forward"."""
    return name if not part else part if name == ENTRY else f"{part}.{name}"


def result_names(program: Program) -> list[str]:
    return [name for name, _ in program.main.outputs]


def joined(title: str, parts: Mapping[str, Program], results_of: Mapping[str, Sequence[str]] = EMPTY) -> Program:
    """A program whose entry calls forward and backward, connected by the values that are saved for backward.

    `results_of` has the names that the other half uses for a half's results, if they differ from those of the nodes.
    """
    builder = ProgramBuilder(title, ENTRY)
    main = builder.graph(ENTRY)
    arguments: set[str] = set()
    saved: dict[str, ValueRef] = {}
    results: list[ValueRef] = []
    for part, program in parts.items():
        inner = program.main
        inputs = [saved.get(node.id, (node.id, 0)) for node in inner.parameters + _gradients(inner)]
        for node in inner.parameters + _gradients(inner):
            if node.id not in saved and node.id not in arguments:
                arguments.add(node.id)
                main.add(node._replace(links=(), details=_names_only(node)))
        positions = {node.id: node for node in inner.nodes}
        types = [_type(positions[name], index) for name, index in inner.outputs]
        main.node(part, part, inputs, types, calls=[part])
        saved = {name: (part, i) for i, name in enumerate(results_of.get(part) or result_names(program))}
        results += saved.values()
    operands = {name for node in main.nodes if node.role == "op" for name in node.inputs}
    main.outputs = [value for value in results if value not in operands]
    main.node("output", "output", main.outputs, role="output")
    for part, program in parts.items():
        builder.attrs.update(program.attrs)
        for graph in program:
            _copy_graph(builder.graph(part_graph(part, graph.name)), graph, part)
    texts = {
        part_graph(part, graph.name): (program.own_text, graph.name)
        for part, program in parts.items()
        for graph in program
        if program.own_text is not None
    }
    return replace(builder.build(), own_text=TextOfParts(texts) if texts else None)


def _gradients(graph: Graph) -> tuple[Node, ...]:
    return tuple(node for node in graph.nodes if node.role == "gradient" and not node.inputs)


def _names_only(node: Node) -> KnownDetails:
    """The details of an input without its module, which it has inside the halves."""
    return KnownDetails({name: value for name, value in node.attrs.items() if name in ("name", "label", "trainable", "registered")})


def _type(node: Node, index: int) -> TensorType:
    return node.outputs[0 if index == WHOLE else index] if node.outputs else TensorType("(None)")


def _copy_graph(builder: GraphBuilder, graph: Graph, part: str) -> None:
    for node in graph.nodes:
        builder.add(node._replace(calls=tuple([part_graph(part, called) for called in node.calls])) if node.calls else node)
    builder.outputs = list(graph.outputs)
    builder.groupings = {name: dict(paths) for name, paths in graph.groupings.items()}
    builder.attrs = dict(graph.attrs)
