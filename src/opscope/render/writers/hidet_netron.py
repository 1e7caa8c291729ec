"""hidet's netron JSON, for its own viewer and for tools that read hidet's dumps: each argument is written out where it is used.

A file contains one graph. A called graph becomes text in the attribute `fused_graph`, as in hidet's own files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opscope.plugin import Progress
from opscope.program import UNKNOWN_TYPE, Graph, Node, Program, TensorType, ValueRef
from opscope.render.writers.netron import category, kind, text
from opscope.view_options import ViewOptions


def write(programs: list[Program], target: Path, options: ViewOptions, progress: Progress | None = None) -> None:
    (program,) = programs
    graph = program.main
    model = {
        "graphs": [
            {
                "name": "",
                "inputs": [_parameter(f"input:{i}", graph, (node.id, 0)) for i, node in enumerate(graph.parameters)],
                "outputs": [_parameter(f"output:{i}", graph, ref) for i, ref in enumerate(graph.outputs)],
                "nodes": [_node(program, graph, node) for node in graph if not (node.is_argument or node.role == "constant")],
            }
        ],
        "description": f"Converted from {program.name}",
        "author": "",
        "company": "",
        "license": "",
        "domain": "",
        "source": "Hidet",
        "format": "netron",
    }
    target.write_text(json.dumps(model, ensure_ascii=False, indent=1), encoding="utf-8")


def _node(program: Program, graph: Graph, node: Node) -> dict[str, Any]:
    attrs = [(str(key), value) for key, value in node.attrs.items() if key not in ("task", "category")]
    attrs += [("fused_graph", _flow_text(program[name])) for name in node.calls[:1]]
    return {
        "name": node.id,
        "type": {"name": node.op, "category": node.attrs.get("category") or (category(node) if "task" not in node.attrs else None)},
        "inputs": [_parameter(str(i), graph, ref) for i, ref in enumerate(node.inputs)],
        "outputs": [_parameter(str(i), graph, (node.id, i)) for i in range(len(node.outputs))],
        "attributes": [{"name": k, "type": kind(v), "value": text(v), "visible": True, "description": ""} for k, v in attrs],
        "description": str(node.attrs.get("task", "")).splitlines(),
    }


def _parameter(name: str, graph: Graph, ref: ValueRef) -> dict[str, Any]:
    node = graph[ref[0]]
    value_name = ref[0] if node.is_argument or node.role == "constant" else f"{ref[0]}:{max(ref[1], 0)}"
    argument: dict[str, Any] = {"name": value_name}
    type_ = node.outputs[max(ref[1], 0)] if node.outputs else UNKNOWN_TYPE
    dims = [str(dim) for dim in type_.shape]
    argument["type"] = {"string": f"{type_.dtype}{dims}", "shape": {"dimensions": dims}, "dataType": type_.dtype}
    if node.role == "constant":
        argument["initializer"] = {"kind": "Initializer", "value": str(node.attrs.get("value", "<>"))}
    return {"name": name, "arguments": [argument], "visible": True}


def _flow_text(graph: Graph) -> str:
    """A called graph, as hidet prints it."""

    def typed(node: Node) -> str:
        return ", ".join(f"{node.id if i == 0 else f'{node.id}_{i}'}: {t.dtype}[{_dims(t)}][cpu]" for i, t in enumerate(node.outputs))

    header = ", ".join(typed(node) for node in graph.parameters)
    lines = [f"Graph({header}){{"]
    for node in graph:
        operands = [name if index <= 0 else f"{name}_{index}" for name, index in node.inputs]
        attrs = [f"{key}={text(value)}" for key, value in node.attrs.items() if key not in ("task", "category", "note", "device")]
        if node.role == "constant":
            lines.append(f"  {node.id} = Constant({node.outputs[0].dtype}[{_dims(node.outputs[0])}][cpu])")
        elif not node.is_argument:
            note = f"  # {node.attrs['note']}" if "note" in node.attrs else ""
            lines.append(f"  {typed(node)} = {node.op}({', '.join(operands + attrs)}){note}")
    lines.append("  return " + ", ".join(name if index <= 0 else f"{name}_{index}" for name, index in graph.outputs))
    return "\n".join([*lines, "}"])


def _dims(type_: TensorType) -> str:
    return ", ".join(map(str, type_.shape))
