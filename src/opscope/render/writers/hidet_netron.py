"""hidet's netron JSON, for its own viewer and for tools that read hidet's dumps: each argument is written out where it is used.

Of a program from hidet, live or from a file, it is what `hidet.utils.netron.dump` writes, byte for byte. A file contains one graph. A
called graph becomes text in the attribute `fused_graph`, as in hidet's own files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opscope.plugin import Progress
from opscope.program import PRINTED, UNKNOWN_TYPE, Graph, Node, Program, TensorType, ValueRef
from opscope.readers.hidet.attributes import CATEGORY, FUSED_GRAPH, NOT_HIDETS, SOURCE, TASK, VERBATIM, NetronForm, netron_form
from opscope.render.writers.netron import category
from opscope.view_options import ViewOptions

_COLOURS = {
    "Conv2d": "layer", "Matmul": "layer", "Relu": "activation", "MaxPool2d": "pool", "AvgPool2d": "pool", "Squeeze": "transform",
    "Unsqueeze": "transform", "Add": "transform", "Sub": "transform", "Multiply": "transform", "Rsqrt": "transform",
}  # fmt: skip
"""The category that hidet gives an operator for its viewer. Other operators have one by the beginning of their name, or none."""


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    (program,) = programs
    target.write_text(json.dumps(_Model(program).encoded(), indent=2), encoding="utf-8")


class _Model:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.graph = program.main
        self.is_hidets = program.attrs.get("source") == SOURCE
        self.held = {node.id for node in self.graph if node.role == "constant" or (self.is_hidets and node.role == "parameter")}
        """Constants; the weights of a captured module are constants in hidet's own graph."""
        self.inputs = [node for node in self.graph.parameters if node.id not in self.held]
        self.operators = [node for node in self.graph if not (node.is_argument or node.role == "constant")]
        self.names = self._hidets_names() if self.is_hidets else {node.id: node.id for node in self.graph}

    def _hidets_names(self) -> dict[str, str]:
        """hidet numbers operators and inputs in order, and constants in the order in which operators use them."""
        names = {node.id: f"input:{i}" for i, node in enumerate(self.inputs)}
        names |= {node.id: f"{i}_{node.op}" for i, node in enumerate(self.operators)}
        used = dict.fromkeys(name for node in self.operators for name, _ in node.inputs if name in self.held)
        return names | {name: f"const:{i}" for i, name in enumerate(used)}

    def encoded(self) -> dict[str, Any]:
        attrs = self.program.attrs
        description = "Converted from FlowGraph" if self.is_hidets else f"Converted from {self.program.name}"
        graph = {
            "name": "",
            "inputs": [self._parameter(f"input:{i}", (node.id, 0)) for i, node in enumerate(self.inputs)],
            "outputs": [self._parameter(f"output:{i}", ref) for i, ref in enumerate(self.graph.outputs)],
            "nodes": [self._node(node) for node in self.operators],
        }
        texts = {key: attrs.get(key, "") for key in ("author", "company", "license", "domain")}
        return {"graphs": [graph], "description": attrs.get("description", description), **texts, "source": SOURCE, "format": "netron"}

    def _node(self, node: Node) -> dict[str, Any]:
        forms = [(FUSED_GRAPH, ("FlowGraph", _flow_text(self.program[name]))) for name in node.calls[:1]]
        forms += _forms(node, self.graph.attrs.get(VERBATIM, {}).get(node.id, {}))
        return {
            "name": self.names[node.id],
            "type": {"name": node.op, "category": self._category(node)},
            "inputs": [self._parameter(str(i), ref) for i, ref in enumerate(node.inputs)],
            "outputs": [self._parameter(str(i), (node.id, i)) for i in range(len(node.outputs))],
            "attributes": [{"name": k, "type": type_, "value": text, "visible": True, "description": ""} for k, (type_, text) in forms],
            "description": str(node.attrs.get(TASK, "")).split("\n"),
        }

    def _category(self, node: Node) -> str | None:
        if node.attrs.get(CATEGORY) or not self.is_hidets:
            return node.attrs.get(CATEGORY) or category(node)
        if node.op.startswith("Fused") or " " in node.op:
            return "dropout"
        return "custom" if node.op.startswith(("Conv2dGemm", "Conv2dWinograd")) else _COLOURS.get(node.op)

    def _parameter(self, name: str, ref: ValueRef) -> dict[str, Any]:
        node = self.graph[ref[0]]
        has_name = node.id in self.names  # a constant that no operator uses is named after the output
        value_name = self.names.get(node.id, name)
        is_operator = not (node.is_argument or node.role == "constant")
        argument: dict[str, Any] = {"name": f"{value_name}:{max(ref[1], 0)}" if is_operator else value_name}
        type_ = node.outputs[max(ref[1], 0)] if node.outputs else UNKNOWN_TYPE
        dims = [str(dim) for dim in type_.shape]
        argument["type"] = {"string": f"{type_.dtype}{dims}", "shape": {"dimensions": dims}, "dataType": type_.dtype}
        if node.id in self.held and has_name:
            argument["initializer"] = {"kind": "Initializer", "value": str(node.attrs.get("value", "<>"))}
        return {"name": name, "arguments": [argument], "visible": True}


def _forms(node: Node, verbatim: Mapping[str, Mapping[str, str]]) -> list[tuple[str, NetronForm]]:
    forms = []
    for key, value in node.attrs.items():
        if key in verbatim:
            forms.append((str(key), (verbatim[key]["type"], verbatim[key]["value"])))
        elif key not in NOT_HIDETS:
            forms.append((str(key), netron_form(value)))
    return forms


def _flow_text(graph: Graph) -> str:
    """A called graph, as hidet prints it."""
    if PRINTED in graph.attrs:
        return str(graph.attrs[PRINTED])

    def typed(node: Node) -> str:
        return ", ".join(f"{node.id if i == 0 else f'{node.id}_{i}'}: {t.dtype}[{_dims(t)}][cpu]" for i, t in enumerate(node.outputs))

    header = ", ".join(typed(node) for node in graph.parameters)
    lines = [f"Graph({header}){{"]
    for node in graph:
        operands = [name if index <= 0 else f"{name}_{index}" for name, index in node.inputs]
        attrs = [f"{key}={value}" for key, value in node.attrs.items() if key not in (*NOT_HIDETS, "note", "device")]
        if node.role == "constant":
            lines.append(f"  {node.id} = Constant({node.outputs[0].dtype}[{_dims(node.outputs[0])}][cpu])")
        elif not node.is_argument:
            note = f"  # {node.attrs['note']}" if "note" in node.attrs else ""
            lines.append(f"  {typed(node)} = {node.op}({', '.join(operands + attrs)}){note}")
    lines.append("  return " + ", ".join(name if index <= 0 else f"{name}_{index}" for name, index in graph.outputs))
    return "\n".join([*lines, "}"])


def _dims(type_: TensorType) -> str:
    return ", ".join(map(str, type_.shape))
