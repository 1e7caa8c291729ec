"""Netron's generic JSON, which Netron opens from `.netron` files: values by index, one module per graph, the entry first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opscope.plugin import Progress
from opscope.program import WHOLE, Graph, Node, Program, TensorType, ValueRef
from opscope.view_options import ViewOptions

_SIGNATURE = "netron:opscope"
_COLOURS = {
    "matmul": "layer",
    "elementwise": "activation",
    "reduce": "normalization",
    "shape": "shape",
    "communication": "control",
    "control": "control",
}
"""Netron's category for each of opscope's."""


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    (program,) = programs
    graphs = [program.main, *(graph for graph in program if graph.name != program.entry)]
    model = {
        "signature": _SIGNATURE,
        "format": "opscope",
        "producer": "opscope",
        "description": program.name,
        "metadata": [{"name": str(key), "value": str(value)} for key, value in program.attrs.items()],
        "modules": [_module(graph) for graph in graphs],
    }
    target.write_text(json.dumps(model, ensure_ascii=False), encoding="utf-8", errors="backslashreplace")


def _module(graph: Graph) -> dict[str, Any]:
    index: dict[ValueRef, int] = {}
    values: list[dict[str, Any]] = []

    def value(ref: ValueRef) -> int:
        number = index.get(ref)
        if number is None:
            node = graph[ref[0]]
            number = index[ref] = len(values)
            described: dict[str, Any] = {"name": ref[0] if ref[1] in (0, WHOLE) else f"{ref[0]}:{ref[1]}"}
            if node.outputs:
                described["type"] = _type(node.outputs[max(ref[1], 0)])
                if node.role == "constant":
                    described["initializer"] = {"type": described["type"]}
            values.append(described)
        return number

    shown = [node for node in graph.nodes if not (node.is_argument or node.role == "constant")]
    return {
        "name": graph.name,
        "inputs": [{"name": node.id, "value": [value((node.id, 0))]} for node in graph.parameters],
        "outputs": [{"name": name, "value": [value((name, output))]} for name, output in graph.outputs],
        "nodes": [_node(node, value) for node in shown],
        "values": values,
    }


def _node(node: Node, value: Any) -> dict[str, Any]:
    called = [("calls", ", ".join(node.calls))] if node.calls else []
    place = [("scope", "/".join(node.scope))] if node.scope else []
    return {
        "name": node.id,
        "type": {"name": node.op, "category": category(node)},
        "inputs": [{"name": str(i), "value": [value(ref)]} for i, ref in enumerate(node.inputs)],
        "outputs": [{"name": str(i), "value": [value((node.id, i))]} for i in range(len(node.outputs))],
        "attributes": [{"name": str(k), "value": text(v), "type": kind(v)} for k, v in (*node.attrs.items(), *called, *place)],
    }


def _type(type_: TensorType) -> dict[str, Any]:
    return {"dataType": type_.dtype, "shape": {"dimensions": list(type_.shape)}}


def category(node: Node) -> str:
    from opscope.ops import CATEGORIES, category_of

    return _COLOURS.get(CATEGORIES[category_of(node.op, node.role)], "")


def kind(value: Any) -> str:
    return type(value).__name__ if isinstance(value, (bool, int, float)) else "string"


def text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)
