"""Model Explorer's graph JSON, in both directions.

Its terms map onto ours: a namespace is a scope, a label an op, `outputsMetadata` the types, `subgraphIds` the called graphs. What
has no place in a Program (styles, pins, edge metadata, layout settings) is preserved under the attribute `model_explorer`: each node
is decoded and encoded again, and every field that does not come back the same is preserved verbatim. So reading and writing a file
reproduces it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from opscope.errors import SourceError, blamed_on_source
from opscope.json_text import parsed_json
from opscope.program import (
    UNKNOWN_TYPE,
    Graph,
    GraphBuilder,
    Node,
    Path,
    Program,
    ProgramBuilder,
    Role,
    TensorType,
    ValueRef,
    dimension,
    whole_number,
)
from opscope.readers import Progress, Verdict
from opscope.readers.source import Source

EXTRA_FIELDS = "model_explorer"
TENSOR_NAMES = "tensor_names"
_LOOKS = re.compile(r'"(?:graphs|subgraphs|nodes)"\s*:\s*\[')
_SPLIT = re.compile(r"(?<!\\)/")
_TYPED = re.compile(r"(?:torch\.)?([A-Za-z_]\w*)\s*\[([^\]]*)\]")
_MLIR = re.compile(r"tensor<((?:(?:\d++|\?)x)*+)([a-z]\w*+)(?:,.*)?>")
_Outputs: TypeAlias = tuple[dict[str, int], int]
_FIELDS = ("id", "label", "namespace", "subgraphIds", "attrs", "incomingEdges", "outputsMetadata")


def sniff(source: Source) -> Verdict:
    if source.is_directory:
        return Verdict(0, "a directory")
    head = source.head_text
    if not head.lstrip().startswith(("{", "[")):
        return Verdict(0, "not JSON")
    if _LOOKS.search(head) and '"label"' in head and ('"namespace"' in head or '"incomingEdges"' in head):
        return Verdict(0.8, "JSON with labelled nodes and namespaces")
    return Verdict(0, "JSON, but without Model Explorer's nodes and namespaces")


def read(source: Source, progress: Progress | None = None) -> list[Program]:
    data = parsed_json(source.read_text())
    with blamed_on_source("is not Model Explorer's graph JSON"):
        return decode(data)


def decode(data: Any) -> list[Program]:
    """The graph collections of a file: one collection, a list of them, or a bare list of graphs."""
    if isinstance(data, dict):
        return [_collection(data, "collection", "graphs")]
    if isinstance(data, list) and data and all(isinstance(item, dict) for item in data):
        if all("subgraphs" in item for item in data):
            return [_collection(item, "subgraphs", "subgraphs") for item in data]
        if all("graphs" in item for item in data):
            return [_collection(item, "collections", "graphs") for item in data]
        if all("nodes" in item for item in data):
            return [_collection({"label": "graphs", "graphs": data}, "graphs", "graphs")]
    raise SourceError("not a Model Explorer graph: expected a collection with `graphs`, or a list of graphs with `nodes`")


def _collection(data: dict[str, Any], form: str, key: str) -> Program:
    graphs = data.get(key)
    if not isinstance(graphs, list) or not all(isinstance(graph, dict) for graph in graphs):
        raise SourceError(f"`{key}` must be a list of graphs")
    builder = ProgramBuilder(str(data.get("label", "")) or "graphs")
    ids = {str(graph.get("id", "")) for graph in graphs}
    called: set[str] = set()
    for number, graph in enumerate(graphs):
        _read_graph(builder.graph(str(graph.get("id", number))), graph, ids, called)
    builder.entry = next((str(graph.get("id", i)) for i, graph in enumerate(graphs) if str(graph.get("id", i)) not in called), "")
    rest: dict[str, Any] = {name: value for name, value in data.items() if name not in ("label", key)}
    if rest.get("graphsWithLevel") == [{"graph": graph, "level": 0} for graph in graphs]:
        rest["graphsWithLevel"] = "as graphs"  # ExecuTorch writes every graph twice
    builder.attrs[EXTRA_FIELDS] = {"form": form, **rest}
    return builder.build()


def _read_graph(builder: GraphBuilder, graph: Mapping[str, Any], graph_ids: set[str], called: set[str]) -> None:
    nodes = graph.get("nodes")
    if not isinstance(nodes, list) or not all(isinstance(node, dict) and isinstance(node.get("id"), str) for node in nodes):
        raise SourceError(f"graph {builder.name!r}: `nodes` must be a list of nodes with an `id`")
    outputs = {node["id"]: _positions([str(item.get("id")) for item in _dicts(node.get("outputsMetadata"))]) for node in nodes}
    for raw in nodes:
        node = _node(raw, outputs, graph_ids)
        called.update(node.calls)
        extra = _lost_fields(raw, encode_node(node))
        attrs = dict(node.attrs) | ({EXTRA_FIELDS: extra} if extra else {})
        builder.node(
            node.id, node.op, node.inputs, node.outputs, role=node.role, attrs=attrs, scope=node.scope, calls=node.calls
        )  # fmt: skip
    used = {name for node in builder.nodes for name, _ in node.inputs}
    builder.outputs = [(node.id, 0) for node in builder.nodes if node.id not in used and len(node.outputs) == 1]
    builder.attrs[EXTRA_FIELDS] = {key: value for key, value in graph.items() if key not in ("id", "nodes")}


def _positions(output_ids: list[str]) -> _Outputs:
    """The first position of each id, and how many there are."""
    positions: dict[str, int] = {}
    for position, output_id in enumerate(output_ids):
        positions.setdefault(output_id, position)
    return positions, len(output_ids)


def _node(raw: Mapping[str, Any], outputs: Mapping[str, _Outputs], graph_ids: set[str]) -> Node:
    builder = GraphBuilder("")
    scope = _path(str(raw.get("namespace", "")))
    attrs: dict[str, Any] = {}
    for item in _dicts(raw.get("attrs")):
        attrs.setdefault(str(item.get("key")), item.get("value"))
    inputs = [_reference(edge, outputs) for edge in _dicts(raw.get("incomingEdges"))]
    types = [_type(item) for item in _dicts(raw.get("outputsMetadata"))]
    names = _tensor_names(raw)
    if names:
        attrs.setdefault(TENSOR_NAMES, names)
    called = raw.get("subgraphIds")
    calls = [name for name in called if isinstance(name, str) and name in graph_ids] if isinstance(called, list) else []
    label = str(raw.get("label", ""))
    role: Role = "op"
    if not inputs and attrs.get("target") == "None":
        role = "input"  # ExecuTorch writes which weight a placeholder is for, and None for an input of the model
    elif not inputs and (scope[:1] == ("inputs",) or "__value" in attrs or label == raw["id"]):
        role = "parameter"
    elif label == "output":
        role = "output"
    return builder.node(
        str(raw["id"]), label, [ref for ref in inputs if ref], types, role=role, attrs=attrs, scope=scope, calls=calls
    )  # fmt: skip


def _tensor_names(raw: Mapping[str, Any]) -> list[str]:
    """The names of a node's output tensors: node data may refer to them."""
    attrs = [attr for item in _dicts(raw.get("outputsMetadata")) for attr in _dicts(item.get("attrs"))]
    return [attr["value"] for attr in attrs if attr.get("key") == "tensor_name" and isinstance(attr.get("value"), str)]


def _reference(edge: Mapping[str, Any], outputs: Mapping[str, _Outputs]) -> ValueRef | None:
    source, output = str(edge.get("sourceNodeId")), str(edge.get("sourceNodeOutputId", "0"))
    found = outputs.get(source)
    if found is None:
        return None
    positions, count = found
    index = positions[output] if output in positions else whole_number(output) or 0
    return source, index if index < count else 0 if count else index


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _path(namespace: str) -> Path:
    return tuple(part.replace("\\/", "/") for part in _SPLIT.split(namespace)) if namespace else ()


def _type(item: Mapping[str, Any]) -> TensorType:
    text = next((str(a.get("value")) for a in _dicts(item.get("attrs")) if a.get("key") in ("tensor_shape", "shape")), "")
    match = _TYPED.fullmatch(text.strip())
    if match:
        return TensorType(match[1], _dims(match[2].split(",")))
    match = _MLIR.fullmatch(text.strip())
    return TensorType(match[2], _dims(match[1].split("x"))) if match else UNKNOWN_TYPE


def _dims(parts: list[str]) -> tuple[int | str, ...]:
    return tuple(dimension(part.strip()) for part in parts if part.strip())


def _lost_fields(raw: Mapping[str, Any], encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a node's JSON that our encoding would not reproduce."""
    lost = {key: value for key, value in raw.items() if encoded.get(key, _ABSENT) != value}
    missing = [key for key in encoded if key not in raw]
    return lost | ({"": missing} if missing else {})


_ABSENT = object()


def extra_fields(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """What Model Explorer's file said beyond our model; empty if the program comes from elsewhere."""
    fields = attrs.get(EXTRA_FIELDS)
    return dict(fields) if isinstance(fields, Mapping) else {}


def encode(program: Program, grouping: str | None = None) -> Any:
    """A collection for Model Explorer; `grouping` chooses the hierarchy, because Model Explorer has only one."""
    extra = extra_fields(program.attrs)
    form = extra.pop("form", "collection")
    entry_first = sorted(program.graphs, key=lambda name: EXTRA_FIELDS not in program.attrs and name != program.entry)
    graphs = [_encode_graph(program[name], grouping) for name in entry_first]
    if form == "graphs":
        return graphs
    if extra.get("graphsWithLevel") == "as graphs":
        extra["graphsWithLevel"] = [{"graph": graph, "level": 0} for graph in graphs]
    collection = {"label": program.name, "subgraphs" if form == "subgraphs" else "graphs": graphs, **extra}
    return [collection] if form in ("subgraphs", "collections") else collection


def _encode_graph(graph: Graph, grouping: str | None) -> dict[str, Any]:
    nodes = []
    for node in graph:
        extra = extra_fields(node.attrs)
        missing = extra.pop("", [])
        encoded = {**encode_node(node), **extra}
        if grouping is not None:
            encoded["namespace"] = _namespace(graph.groupings.get(grouping, {}).get(node.id, ()))
        nodes.append({key: value for key, value in encoded.items() if key not in missing})
    return {"id": graph.name, "nodes": nodes, **extra_fields(graph.attrs)}


def encode_node(node: Node) -> dict[str, Any]:
    """One node, with the fields that every version of Model Explorer supports. A whole tuple is output 0 there."""
    attrs = [{"key": key, "value": _text(value)} for key, value in node.attrs.items() if key not in (EXTRA_FIELDS, TENSOR_NAMES)]
    if node.source:
        attrs.append({"key": "source", "value": "\n".join(map(str, node.source))})
    edges = [
        {"sourceNodeId": name, "sourceNodeOutputId": str(max(output, 0)), "targetNodeInputId": str(i)}
        for i, (name, output) in enumerate(node.inputs)
    ]
    outputs = [{"id": str(i), "attrs": [{"key": "tensor_shape", "value": str(t)}]} for i, t in enumerate(node.outputs)]
    values = (node.id, node.op, _namespace(node.scope), list(node.calls), attrs, edges, outputs)
    return dict(zip(_FIELDS, values, strict=True))


def _namespace(path: Path) -> str:
    return "/".join(part.replace("/", "\\/") for part in path)


def _text(value: Any) -> Any:
    """An attribute value as text; Model Explorer's own objects stay as they are."""
    if isinstance(value, str) or (isinstance(value, dict) and "type" in value):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
