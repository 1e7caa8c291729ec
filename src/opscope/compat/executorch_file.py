"""The file that ExecuTorch's `visualize_with_clusters` writes for Model Explorer: one entry per fx node, in order, with the node's name.

It deviates where ExecuTorch is wrong: the output index of an edge is the real one (ExecuTorch writes the position of the user among all
users), values that are not tensors are written instead of refused, and weights are written even if the example inputs are gone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import BuiltinFunctionType
from typing import Any

from opscope.readers.torch.fx import value_of
from opscope.readers.torch.tags import NameOf, tag_groupings
from opscope.readers.torch.values import is_tensor, sizes, tensor_type

LABEL = "Executorch"
_UNUSED = ("groupNodeAttributes", "groupNodeConfigs", "nodeLabelsToHide", "tasksData", "layoutConfigs")
_ELEMENTS = 16
"""How many values of an argument to write: Model Explorer's default."""


def collection(exported: Any, partition: NameOf, cluster: NameOf) -> dict[str, Any]:
    """The graph collection, as JSON data."""
    nodes = list(exported.graph.nodes)
    groupings = tag_groupings(nodes, partition, cluster)
    paths = groupings.get("partition") or groupings.get("qdq cluster") or {}
    arguments = _arguments(exported)
    entries = [
        {
            "id": node.name,
            "label": _label(node),
            "namespace": "/".join(paths.get(node.name, ())),
            "subgraphIds": [],
            "attrs": [{"key": key, "value": value} for key, value in _attributes(node, arguments).items()],
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


def _attributes(node: Any, arguments: Mapping[str, tuple[str, Any]]) -> dict[str, str]:
    schema = getattr(node.target, "_schema", None)
    attributes: dict[str, str] = {}
    for position, argument in enumerate(schema.arguments if schema is not None else ()):
        positional = position < len(node.args)
        attributes[argument.name] = str(node.args[position] if positional else node.kwargs.get(argument.name, argument.default_value))
    if node.op == "placeholder" and node.name in arguments:
        target, value = arguments[node.name]
        attributes["target"] = target
        if value is not None:
            attributes["__value"] = _value_text(value)
    return attributes


def _arguments(exported: Any) -> dict[str, tuple[str, Any]]:
    """Qualified name and value of each placeholder. The values of user inputs are those that the program was exported with."""
    values = {**exported.constants, **exported.state_dict}
    specs = exported.graph_signature.input_specs
    targets = {spec.arg.name: spec.target for spec in specs if spec.kind.name != "USER_INPUT" and hasattr(spec.arg, "name")}
    arguments = {name: (str(target), values.get(target)) for name, target in targets.items()}
    users = [spec for spec in specs if spec.kind.name == "USER_INPUT"]
    named = zip(users, _example_values(exported), strict=False)  # without example inputs, nothing is known about user inputs
    return arguments | {spec.arg.name: (str(spec.target), value) for spec, value in named if hasattr(spec.arg, "name")}


def _example_values(exported: Any) -> list[Any]:
    """The example inputs, in the order of the user inputs."""
    if not exported.example_inputs or exported.call_spec.in_spec is None:
        return []
    values: list[Any] = exported.call_spec.in_spec.flatten_up_to(exported.example_inputs)
    return values


def _value_text(value: Any) -> str:
    if not is_tensor(value):
        return str(value)
    tensor = value.detach().cpu()
    shown = tensor if tensor.numel() <= _ELEMENTS else tensor.flatten()[:_ELEMENTS]
    return json.dumps(shown.float().tolist())


def _outputs(node: Any) -> list[dict[str, Any]]:
    value = value_of(node.meta)
    values = value if isinstance(value, tuple | list) and not is_tensor(value) else [value]
    return [
        {"id": str(i), "attrs": [{"key": "tensor_shape", "value": _type_text(each)}]} for i, each in enumerate(values) if each is not None
    ]


def _type_text(value: Any) -> str:
    if is_tensor(value):
        return f"{value.dtype}{json.dumps(list(sizes(value)))}"
    return "bool[1]" if isinstance(value, bool) else str(tensor_type(value))
