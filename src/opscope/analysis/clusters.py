"""Clusters of quantized arithmetic: dequantize → one operation with its auxiliary ones → quantize, for any backend.

A quantized program expresses "multiply int8 matrices" in float: the inputs are dequantized, the float operation follows, and its result
is quantized again. A backend treats such a cluster as one integer operation. If a backend has marked its clusters, its marks count;
otherwise clusters are recognized by their shape, in time linear in the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from opscope.ops import Quantization, facts_of
from opscope.program import Graph, Node, Path, Program
from opscope.readers.torch.tags import CLUSTER, PARTITION, cluster_title

Kind = Quantization | Literal["main"]


def kind_of(op: str) -> Kind:
    """The role of an operation in quantization, by its name in any dialect (ATen, torchao, edge, ONNX, StableHLO)."""
    facts = facts_of(op)
    return facts.quantization or ("auxiliary" if facts.category == "shape" else "main")


def find_clusters(graph: Graph) -> dict[str, str]:
    """The cluster of each node that is in one; a cluster is named after its main operation: `conv_cluster`.

    A cluster is closed on both sides: only dequantized values and weights come in, and only values to be quantized go out. If the input
    is quantized on the fly (`choose_qparams`), the float result may go anywhere. Two main operations with no quantization between them
    are float arithmetic, not a cluster.
    """
    if not any(kind_of(op) == "dequantize" for op in set(graph.ops)):
        return {}
    kinds = {node.id: kind_of(node.op) for node in graph if node.role == "op"}
    clusters: dict[str, str] = {}
    for region in _regions(graph, kinds):
        cluster = _cluster(graph, kinds, region)
        if cluster:
            name, members = cluster
            for member in members:
                clusters.setdefault(member, name)
    _add_constants(graph, clusters)
    return clusters


def _regions(graph: Graph, kinds: Mapping[str, Kind]) -> Iterable[list[Node]]:
    """Operations that pass values to each other without quantizing them, in the graph's order."""
    leader: dict[str, str] = {node_id: node_id for node_id, kind in kinds.items() if kind in ("main", "auxiliary")}

    def find(node_id: str) -> str:
        while leader[node_id] != node_id:
            leader[node_id] = node_id = leader[leader[node_id]]
        return node_id

    for node in graph:
        if node.id in leader:
            for source, _ in node.inputs:
                if source in leader:
                    leader[find(node.id)] = find(source)
    regions: dict[str, list[Node]] = {}
    for node in graph:
        if node.id in leader:
            regions.setdefault(find(node.id), []).append(node)
    return regions.values()


def _cluster(graph: Graph, kinds: Mapping[str, Kind], region: list[Node]) -> tuple[str, list[str]] | None:
    """Name and members of the cluster around a region, if it is one."""
    mains = [node for node in region if kinds[node.id] == "main"]
    if len(mains) > 1:
        return None
    inside = {node.id for node in region}
    before: dict[str, None] = {}
    after: dict[str, None] = {}
    open_end = False
    for node in region:
        for source, _ in node.inputs:
            if source in inside:
                continue
            if kinds.get(source) == "dequantize":
                before[source] = None
            elif not _is_weight(graph[source]):
                return None
        for user in graph.users.get(node.id, ()):
            if kinds.get(user) == "quantize":
                after[user] = None
            elif user not in inside:
                open_end = True
    on_the_fly = [name for source in before for name in _quantized_on_the_fly(graph, kinds, source)]
    if not before or ((open_end or not after) and not on_the_fly):
        return None
    return f"{(mains or region)[-1].id}_cluster", [*on_the_fly, *before, *(node.id for node in region), *after]


def _is_weight(node: Node) -> bool:
    """Whether this is part of the model (a bias) rather than data that flows through it."""
    return node.role in ("constant", "parameter", "buffer")


def _quantized_on_the_fly(graph: Graph, kinds: Mapping[str, Kind], dequantize: str) -> list[str]:
    """The nodes that quantize the input of a dynamically quantized operation, whose scale is computed just before."""
    nodes: dict[str, None] = {}
    for source, _ in graph[dequantize].inputs:
        if kinds.get(source) != "quantize":
            continue
        for scale, _ in graph[source].inputs:
            origins = [scale, *(name for name, _ in graph[scale].inputs)] if kinds.get(scale) == "auxiliary" else [scale]
            if any(kinds.get(origin) == "parameters" for origin in origins):
                nodes.update(dict.fromkeys([*reversed(origins), source]))
    return list(nodes)


def _add_constants(graph: Graph, clusters: dict[str, str]) -> None:
    """Add weights, scales and zero points to the only cluster that uses them."""
    for node in graph:
        if node.id not in clusters and _is_weight(node):
            homes = {clusters.get(user) for user in graph.users.get(node.id, ())}
            if len(homes) == 1 and (home := homes.pop()) is not None:
                clusters[node.id] = home


def with_clusters(program: Program) -> Program:
    """The program with the grouping "qdq cluster" if it has unmarked quantized clusters, also inside its partitions."""
    graphs = {name: _grouped(graph) for name, graph in program.graphs.items()}
    same = all(graphs[name] is graph for name, graph in program.graphs.items())
    return program if same else replace(program, graphs=MappingProxyType(graphs))


def _grouped(graph: Graph) -> Graph:
    if CLUSTER in graph.groupings:
        return graph
    clusters = find_clusters(graph)
    if not clusters:
        return graph
    paths: dict[str, Path] = {node_id: (cluster_title(name),) for node_id, name in clusters.items()}
    groupings: dict[str, Mapping[str, Path]] = {**graph.groupings, CLUSTER: paths}
    partitions = graph.groupings.get(PARTITION)
    if partitions:
        groupings[PARTITION] = {**paths, **{node_id: (*path, *paths.get(node_id, ())) for node_id, path in partitions.items()}}
    return replace(graph, groupings=groupings)
