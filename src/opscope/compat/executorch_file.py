"""The file that ExecuTorch's `visualize_with_clusters` writes for Model Explorer: one entry per fx node, in order, with the node's name.

It deviates where ExecuTorch is wrong: the output index of an edge is the real one (ExecuTorch writes the position of the user among all
users), and values that are not tensors are written instead of refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import BuiltinFunctionType
from typing import Any

from opscope.readers.torch.fx import value_of
from opscope.readers.torch.tags import NameOf, tag_groupings
from opscope.readers.torch.values import is_tensor, output_types

LABEL = "Executorch"
_UNUSED = ("groupNodeAttributes", "groupNodeConfigs", "nodeLabelsToHide", "tasksData", "layoutConfigs")
_ELEMENTS = 16
"""How many values of a weight to write: Model Explorer's default."""


def collection(exported: Any, partition: NameOf, cluster: NameOf) -> dict[str, Any]:
    """The graph collection, as JSON data."""
    nodes = list(exported.graph.nodes)
    groupings = tag_groupings(nodes, partition, cluster)
    paths = groupings.get("partition") or groupings.get("qdq cluster") or {}
    weights = _weights(exported)
    entries = [
        {
            "id": node.name,
            "label": _label(node),
            "namespace": "/".join(paths.get(node.name, ())),
            "subgraphIds": [],
            "attrs": [{"key": key, "value": value} for key, value in _attributes(node, weights).items()],
            "incomingEdges": _edges(node),
            "inputsMetadata": [],
            "outputsMetadata": _outputs(node),
            "style": None,
            "config": None,
        }
        for node in nodes
    ]
    graph = {"id": "graph", "nodes": entries, **dict.fromkeys(_UNUSED), "collectionLabel": LABEL}
    return {"label": LABEL, "graphs": [graph], "graphsWithLevel": [{"graph": graph, "level": 0}]}


def _label(node: Any) -> str:
    packet = getattr(node.target, "overloadpacket", None)
    if packet is not None:
        return str(packet)
    return "getitem" if isinstance(node.target, BuiltinFunctionType) else str(node.target)


def _edges(node: Any) -> list[dict[str, str]]:
    """One edge per value, in the order of first use."""
    element = node.args[1] if _label(node) == "getitem" and len(node.args) == 2 and isinstance(node.args[1], int) else 0
    return [
        {"sourceNodeId": source.name, "sourceNodeOutputId": str(_index(source, element)), "targetNodeInputId": str(number)}
        for number, source in enumerate(node.all_input_nodes)
    ]


def _index(source: Any, element: int) -> int:
    value = value_of(source.meta)
    return element % len(value) if isinstance(value, tuple | list) and value and not is_tensor(value) else 0


def _attributes(node: Any, weights: Mapping[str, tuple[str, Any]]) -> dict[str, str]:
    schema = getattr(node.target, "_schema", None)
    attributes: dict[str, str] = {}
    for position, argument in enumerate(schema.arguments if schema is not None else ()):
        positional = position < len(node.args)
        attributes[argument.name] = str(node.args[position] if positional else node.kwargs.get(argument.name, argument.default_value))
    if node.op == "placeholder" and node.name in weights:
        target, tensor = weights[node.name]
        attributes["target"] = target
        if tensor is not None:
            attributes["__value"] = _values(tensor)
    return attributes


def _weights(exported: Any) -> dict[str, tuple[str, Any]]:
    """Qualified name and tensor of each placeholder; user inputs have no tensor."""
    tensors = {**exported.constants, **exported.state_dict}
    specs = exported.graph_signature.input_specs
    return {spec.arg.name: (str(spec.target), tensors.get(spec.target)) for spec in specs if hasattr(spec.arg, "name")}


def _values(tensor: Any) -> str:
    flat = tensor.detach().cpu().flatten()[:_ELEMENTS].float().tolist()
    return f"[{', '.join(map(str, flat))}]"


def _outputs(node: Any) -> list[dict[str, Any]]:
    types = output_types(value_of(node.meta)) if value_of(node.meta) is not None else ()
    return [
        {"id": str(i), "attrs": [{"key": "tensor_shape", "value": f"torch.{t}" if t.dtype[:1].islower() else str(t)}]}
        for i, t in enumerate(types)
    ]
