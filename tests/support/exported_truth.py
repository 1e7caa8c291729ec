"""What an exported program contains according to torch's own walk over it, to compare opscope's reading with."""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

import torch
from torch import nn

from opscope.program import Graph

Edge = tuple[str, int, str]


def drawn_as(program: torch.export.ExportedProgram) -> dict[str, str]:
    """Which placeholder represents each tied one, derived from object identity and not by opscope's code."""
    by_storage: dict[Any, list[str]] = {}
    for spec in program.graph_signature.input_specs:
        if spec.kind.name == "PARAMETER":
            by_storage.setdefault(program.state_dict[spec.target].untyped_storage()._cdata, []).append(spec.arg.name)
    users = {node.name: len(node.users) for node in program.graph.nodes}
    drawn = {}
    for names in by_storage.values():
        representatives = next((name for name in names if users[name]), names[0])
        drawn.update(dict.fromkeys(names, representatives))
    return drawn


def expected_graph(program: torch.export.ExportedProgram, graph: torch.fx.Graph) -> tuple[list[str], Counter[Edge]]:
    """Nodes and edges according to torch's own walk over arguments."""
    drawn = drawn_as(program)
    inner = {n.name for n in graph.nodes if n.op == "get_attr" and isinstance(getattr(graph.owning_module, n.target), nn.Module)}
    nodes = [node.name for node in graph.nodes if drawn.get(node.name, node.name) == node.name and node.name not in inner]
    edges: Counter[Edge] = Counter()
    for node in graph.nodes:
        index = node.args[1] if node.target is operator.getitem else 0

        def take(source: torch.fx.Node, node: torch.fx.Node = node, index: Any = index) -> torch.fx.Node:
            if source.name not in inner:
                edges[drawn.get(source.name, source.name), index, node.name] += 1
            return source

        torch.fx.node.map_arg((node.args, node.kwargs), take)
    return nodes, edges


def edges_of(graph: Graph) -> Counter[Edge]:
    return Counter((source, index, node.id) for node in graph for source, index in node.inputs)


def wrong_types(program: torch.export.ExportedProgram, graph: Graph) -> list[str]:
    """Nodes whose shape or dtype is not what torch says."""
    wrong = []
    for node in program.graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and node.name in graph:
            (kind,) = graph[node.name].outputs
            if [str(size) for size in kind.shape] != [str(size) for size in value.shape] or f"torch.{kind.dtype}" != str(value.dtype):
                wrong.append(node.name)
    return wrong


def wrong_scopes(program: torch.export.ExportedProgram, graph: Graph) -> list[str]:
    """Operations that are not in the group of their module."""
    wrong = []
    for node in program.graph.nodes:
        stack = [(path, cls) for path, cls in (node.meta.get("nn_module_stack") or {}).values() if path]
        if node.op != "call_function" or not stack or stack[0][0].startswith("_empty"):
            continue
        scope = graph[node.name].scope
        path = ".".join(part.partition(": ")[0].partition("@")[0] for part in scope)
        if len(scope) != len(stack) or path != stack[-1][0] or not scope[-1].endswith(f": {stack[-1][1].rpartition('.')[2]}"):
            wrong.append(node.name)
    return wrong
